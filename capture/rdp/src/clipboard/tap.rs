//! What goes over the clipboard between a driver and its machine, as one who stands between them
//! hears it.

use capture::input::{Clipboard, Direction, Format};

use super::{ClipboardError, Offer, chunks::Chunks, decode, message::Said};

/// Hears both ends of one channel. What it holds of each is bounded by
/// [`limits::CLIPBOARD_KEPT_BYTES`](crate::limits::CLIPBOARD_KEPT_BYTES).
#[derive(Default)]
pub struct Tap {
    driver: Side,
    machine: Side,
}

#[derive(Default)]
struct Side {
    chunks: Chunks,
    long_names: bool,
    offer: Offer,
    /// The form that it asked the other for, and was not answered.
    asked: Option<u32>,
}

impl Tap {
    /// Takes a chunk of the channel with its header, which goes `way`, and tells what that comes to:
    /// that new content is offered, by its forms alone; and later, each time it goes over, what it
    /// is. What is copied and pasted nowhere is an offer only.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn hear(
        &mut self,
        way: Direction,
        chunk: &[u8],
    ) -> Result<Option<Clipboard>, ClipboardError> {
        let (from, to) = match way {
            Direction::ToMachine => (&mut self.driver, &mut self.machine),
            Direction::FromMachine => (&mut self.machine, &mut self.driver),
        };
        let Some(whole) = from.chunks.add(chunk)? else {
            return Ok(None);
        };
        Ok(match whole.read()? {
            Said::Capabilities { long_names } => {
                from.long_names = long_names;
                None
            }
            Said::Offer(listed) => {
                let short = !(from.long_names && to.long_names);
                let before = std::mem::replace(&mut from.offer, listed.read(short));
                let formats = from.offer.formats();
                // One that was empty and stays so is no news.
                let news = !formats.is_empty() || !before.formats().is_empty();
                news.then_some(Clipboard {
                    direction: way,
                    formats,
                    text: None,
                    len_bytes: 0,
                })
            }
            Said::Request(number) => {
                from.asked = Some(number);
                None
            }
            Said::Content(content) => {
                let asked = to.asked.take();
                let known = asked.and_then(|number| Some((number, from.offer.format(number)?)));
                known
                    .zip(content)
                    .map(|((number, format), (bytes, len_bytes))| {
                        content_of(way, (number, format), bytes, len_bytes)
                    })
            }
            Said::Ready | Said::Other => None,
        })
    }
}

/// What it means that `bytes` of `len_bytes` go over. Of text that is not all there, only its size
/// is told.
pub(super) fn content_of(
    direction: Direction,
    (number, format): (u32, Format),
    bytes: &[u8],
    len_bytes: u32,
) -> Clipboard {
    let all = format == Format::Text && bytes.len() == len_bytes as usize;
    let text = all.then(|| decode(number, bytes));
    Clipboard {
        direction,
        formats: vec![format],
        len_bytes: text
            .as_ref()
            .map_or(len_bytes.into(), |text| text.len() as u64),
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{CF_TEXT, CF_UNICODETEXT, chunks::tests::cut, encode, message},
        *,
    };

    use Direction::{FromMachine, ToMachine};

    /// Both ends have said what they can do.
    fn tap() -> Tap {
        let mut tap = Tap::default();
        for way in [FromMachine, ToMachine] {
            assert_eq!(hear(&mut tap, way, &message::capabilities()), []);
        }
        tap
    }

    fn hear(tap: &mut Tap, way: Direction, message: &[u8]) -> Vec<Clipboard> {
        let chunks = cut(message, 1600).into_iter();
        let heard = chunks.filter_map(|chunk| tap.hear(way, &chunk).unwrap());
        heard.collect()
    }

    fn told(direction: Direction, text: Option<&str>, len_bytes: u64) -> Vec<Clipboard> {
        vec![Clipboard {
            direction,
            formats: vec![Format::Text],
            text: text.map(str::to_owned),
            len_bytes,
        }]
    }

    #[test]
    fn text_is_heard_both_ways() {
        for (way, back) in [(ToMachine, FromMachine), (FromMachine, ToMachine)] {
            let mut tap = tap();
            let offer = message::offer(Some(CF_UNICODETEXT), false);
            assert_eq!(hear(&mut tap, way, &offer), told(way, None, 0));
            assert_eq!(hear(&mut tap, back, &message::heard()), []);
            let request = message::request(CF_UNICODETEXT);
            assert_eq!(hear(&mut tap, back, &request), []);
            let text = "zwei\nZeilen 😀".repeat(1000);
            let content = message::content(Some(&encode(&text)));
            let len_bytes = text.len() as u64;
            assert_eq!(
                hear(&mut tap, way, &content),
                told(way, Some(&text), len_bytes)
            );
        }
    }

    #[test]
    fn short_names_are_read_until_both_have_agreed_on_long_ones() {
        let mut tap = Tap::default();
        hear(&mut tap, FromMachine, &message::capabilities());
        let offer = message::offer(Some(CF_TEXT), true);
        assert_eq!(hear(&mut tap, ToMachine, &offer), told(ToMachine, None, 0));
    }

    #[test]
    fn content_that_was_not_asked_for_is_not_told() {
        let mut tap = tap();
        let content = message::content(Some(&encode("x")));
        assert_eq!(hear(&mut tap, ToMachine, &content), []);
        hear(&mut tap, ToMachine, &message::offer(Some(CF_TEXT), false));
        hear(&mut tap, FromMachine, &message::request(CF_UNICODETEXT));
        assert_eq!(hear(&mut tap, ToMachine, &content), []);
    }

    #[test]
    fn content_that_cannot_be_had_is_not_told() {
        let mut tap = tap();
        hear(&mut tap, ToMachine, &message::offer(Some(CF_TEXT), false));
        hear(&mut tap, FromMachine, &message::request(CF_TEXT));
        assert_eq!(hear(&mut tap, ToMachine, &message::content(None)), []);
        let late = message::content(Some(b"x"));
        assert_eq!(hear(&mut tap, ToMachine, &late), []);
    }

    #[test]
    fn a_picture_is_told_by_its_size() {
        let mut tap = tap();
        hear(&mut tap, FromMachine, &message::offer(Some(8), false));
        hear(&mut tap, ToMachine, &message::request(8));
        let picture = hear(
            &mut tap,
            FromMachine,
            &message::content(Some(&[0; 9 << 20])),
        );
        let expected = Clipboard {
            direction: FromMachine,
            formats: vec![Format::Image],
            text: None,
            len_bytes: 9 << 20,
        };
        assert_eq!(picture, [expected]);
    }

    #[test]
    fn of_text_that_is_too_long_the_size_is_told() {
        let mut tap = tap();
        hear(&mut tap, ToMachine, &message::offer(Some(CF_TEXT), false));
        hear(&mut tap, FromMachine, &message::request(CF_TEXT));
        let text = vec![b'x'; 9 << 20];
        let heard = hear(&mut tap, ToMachine, &message::content(Some(&text)));
        assert_eq!(heard, told(ToMachine, None, 9 << 20));
    }

    #[test]
    fn an_emptied_clipboard_is_told_once() {
        let mut tap = tap();
        let empty = message::offer(None, false);
        assert_eq!(hear(&mut tap, ToMachine, &empty), []);
        hear(&mut tap, ToMachine, &message::offer(Some(CF_TEXT), false));
        let heard = hear(&mut tap, ToMachine, &empty);
        assert_eq!(heard.len(), 1);
        assert!(heard[0].formats.is_empty());
        assert_eq!(hear(&mut tap, ToMachine, &empty), []);
    }
}
