//! The messages of the clipboard's channel (MS-RDPECLIP section 2.2), as far as they are about
//! text or say what else there is.

use super::{ClipboardError, Offer, chunks::Whole};
use crate::limits;

const MONITOR_READY: u16 = 1;
const FORMAT_LIST: u16 = 2;
const FORMAT_LIST_RESPONSE: u16 = 3;
const FORMAT_DATA_REQUEST: u16 = 4;
const FORMAT_DATA_RESPONSE: u16 = 5;
const CAPABILITIES: u16 = 7;

const RESPONSE_OK: u16 = 1;
const RESPONSE_FAIL: u16 = 2;
const ASCII_NAMES: u16 = 4;

/// The one set of capabilities that there is, its version, and the flag for names of any length.
const GENERAL: u16 = 1;
const GENERAL_BYTES: u16 = 12;
const VERSION: u32 = 2;
const LONG_NAMES: u32 = 2;

/// A message's kind, its flags, and how long its body is.
const HEAD_BYTES: usize = 8;
/// The room for a short name.
const SHORT_NAME_BYTES: usize = 32;

/// What one side says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// What it can do.
    Capabilities { long_names: bool },
    /// The server is there: it is the client's turn.
    Ready,
    /// There is new content.
    Offer(Listed<'a>),
    /// It wants the content in the form with this number.
    Request(u32),
    /// The content, as much of it as is kept, and its size; none where it cannot be had.
    Content(Option<(&'a [u8], u32)>),
    /// About files, or about what was said before.
    Other,
}

/// Forms as they are listed: how they are named was agreed on before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed<'a> {
    body: &'a [u8],
    ascii: bool,
}

impl Whole {
    /// What it says.
    pub(super) fn read(&self) -> Result<Said<'_>, ClipboardError> {
        let (&[kind, kind2, flags, flags2, length @ ..], rest) = self
            .kept
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(ClipboardError::Short)?;
        let flags = u16::from_le_bytes([flags, flags2]);
        let body_bytes = u32::from_le_bytes(length);
        let is_whole = self.kept.len() == self.len_bytes as usize;
        // Behind the body there may be padding.
        let body = match rest.get(..body_bytes as usize) {
            Some(body) => body,
            None if is_whole => return Err(ClipboardError::Short),
            None => rest,
        };
        let number = || match body.first_chunk() {
            Some(&number) => Ok(u32::from_le_bytes(number)),
            None => Err(ClipboardError::Short),
        };
        Ok(match u16::from_le_bytes([kind, kind2]) {
            CAPABILITIES => Said::Capabilities {
                long_names: general_flags(body) & LONG_NAMES != 0,
            },
            MONITOR_READY => Said::Ready,
            FORMAT_LIST if !is_whole => return Err(ClipboardError::Offer),
            FORMAT_LIST => Said::Offer(Listed {
                body,
                ascii: flags & ASCII_NAMES != 0,
            }),
            FORMAT_DATA_REQUEST => Said::Request(number()?),
            FORMAT_DATA_RESPONSE => {
                let given = flags & RESPONSE_FAIL == 0;
                Said::Content(given.then_some((body, body_bytes)))
            }
            _ => Said::Other,
        })
    }
}

/// The flags of the general set, wherever it stands; none without it.
fn general_flags(body: &[u8]) -> u32 {
    // The number of sets, and padding.
    let mut sets = body.get(4..).unwrap_or_default();
    while let Some((&[kind, kind2, len, len2], _)) = sets.split_first_chunk() {
        let len = usize::from(u16::from_le_bytes([len, len2]));
        let Some((set, rest)) = sets
            .split_at_checked(len)
            .filter(|(set, _)| !set.is_empty())
        else {
            break;
        };
        if u16::from_le_bytes([kind, kind2]) == GENERAL
            && let Some(&flags) = set.get(8..).and_then(<[u8]>::first_chunk)
        {
            return u32::from_le_bytes(flags);
        }
        sets = rest;
    }
    0
}

impl Listed<'_> {
    /// What is offered, the names being of any length or `short`ened.
    pub(super) fn read(&self, short: bool) -> Offer {
        let mut offer = Offer::default();
        let mut rest = self.body;
        while let Some((&number, named)) = rest.split_first_chunk() {
            let number = u32::from_le_bytes(number);
            let (name, next) = match short {
                true => {
                    let at = SHORT_NAME_BYTES.min(named.len());
                    let (name, next) = named.split_at(at);
                    let name = match self.ascii {
                        true => name.iter().map(|&byte| u16::from(byte)).collect(),
                        false => units(name).collect::<Vec<u16>>(),
                    };
                    (name, next)
                }
                false => {
                    let name: Vec<u16> = units(named).take_while(|unit| *unit != 0).collect();
                    // Its units, and the zero behind them.
                    let len = name.len().saturating_add(1).saturating_mul(2);
                    (name, named.get(len..).unwrap_or_default())
                }
            };
            let ended = name.split(|unit| *unit == 0).next().unwrap_or_default();
            offer.add(number, &String::from_utf16_lossy(ended));
            rest = next;
        }
        offer
    }
}

fn units(bytes: &[u8]) -> impl Iterator<Item = u16> {
    let (units, _) = bytes.as_chunks();
    units.iter().map(|&unit| u16::from_le_bytes(unit))
}

fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let mut message = [kind.to_le_bytes(), flags.to_le_bytes()].concat();
    message.extend(len.to_le_bytes());
    message.extend(body);
    message
}

/// What this side can do: name forms by names of any length.
pub(super) fn capabilities() -> Vec<u8> {
    let mut body = Vec::new();
    for field in [1, 0, GENERAL, GENERAL_BYTES] {
        body.extend(field.to_le_bytes());
    }
    body.extend(VERSION.to_le_bytes());
    body.extend(LONG_NAMES.to_le_bytes());
    message(CAPABILITIES, 0, &body)
}

/// New content in a form that has no name, or in none.
pub(super) fn offer(form: Option<u32>, short: bool) -> Vec<u8> {
    let mut body = Vec::new();
    if let Some(form) = form {
        body.extend(form.to_le_bytes());
        let name = if short { SHORT_NAME_BYTES } else { 2 };
        body.resize(body.len().saturating_add(name), 0);
    }
    message(FORMAT_LIST, 0, &body)
}

/// The other side's offer was heard.
pub(super) fn heard() -> Vec<u8> {
    message(FORMAT_LIST_RESPONSE, RESPONSE_OK, &[])
}

/// Asks for the content in a form.
pub(super) fn request(form: u32) -> Vec<u8> {
    message(FORMAT_DATA_REQUEST, 0, &form.to_le_bytes())
}

/// The content, if it can be had.
pub(super) fn content(content: Option<&[u8]>) -> Vec<u8> {
    match content {
        Some(content) => message(FORMAT_DATA_RESPONSE, RESPONSE_OK, content),
        None => message(FORMAT_DATA_RESPONSE, RESPONSE_FAIL, &[]),
    }
}

const _: () = assert!(HEAD_BYTES < limits::CLIPBOARD_KEPT_BYTES);

#[cfg(test)]
mod tests {
    use capture::input::Format;
    use proptest::prelude::*;

    use super::{
        super::{CF_UNICODETEXT, chunks::Chunks, chunks::tests::cut},
        *,
    };

    fn whole(message: &[u8]) -> Whole {
        let mut chunks = Chunks::default();
        let mut cut = cut(message, 1600).into_iter();
        cut.find_map(|chunk| chunks.add(&chunk).unwrap()).unwrap()
    }

    fn check(message: &[u8], expected: &Said<'_>) {
        assert_eq!(whole(message).read().as_ref(), Ok(expected));
    }

    #[test]
    fn what_is_said_is_read_again() {
        check(&capabilities(), &Said::Capabilities { long_names: true });
        check(&request(13), &Said::Request(13));
        check(&content(Some(b"abc")), &Said::Content(Some((b"abc", 3))));
        check(&content(None), &Said::Content(None));
        check(&heard(), &Said::Other);
        for short in [false, true] {
            let said = whole(&offer(Some(CF_UNICODETEXT), short));
            let Ok(Said::Offer(listed)) = said.read() else {
                panic!("no offer");
            };
            assert_eq!(listed.read(short).text(), Some(CF_UNICODETEXT));
        }
    }

    fn utf16(name: &str) -> Vec<u8> {
        name.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn check_names(body: &[u8], flags: u16, short: bool, expected: &[Format]) {
        let said = whole(&message(FORMAT_LIST, flags, body));
        let Ok(Said::Offer(listed)) = said.read() else {
            panic!("no offer");
        };
        assert_eq!(listed.read(short).formats(), expected);
    }

    #[test]
    fn names_are_long_or_short_and_of_either_kind() {
        let html = |name: &[u8]| [&49_161_u32.to_le_bytes()[..], name].concat();
        let text = |name: &[u8]| [&13_u32.to_le_bytes()[..], name].concat();
        let both = [Format::Html, Format::Text];
        let long = [html(&utf16("HTML Format\0")), text(&[0, 0])].concat();
        check_names(&long, 0, false, &both);
        let mut name = utf16("HTML Format");
        name.resize(SHORT_NAME_BYTES, 0);
        let short = [html(&name), text(&[0; SHORT_NAME_BYTES])].concat();
        check_names(&short, 0, true, &both);
        let mut name = b"HTML Format".to_vec();
        name.resize(SHORT_NAME_BYTES, 0);
        let ascii = [html(&name), text(&[0; SHORT_NAME_BYTES])].concat();
        check_names(&ascii, ASCII_NAMES, true, &both);
    }

    #[test]
    fn a_message_that_ends_early_is_refused() {
        let early = Err(ClipboardError::Short);
        assert_eq!(whole(&[1, 0, 0]).read(), early);
        assert_eq!(whole(&[5, 0, 1, 0, 9, 0, 0, 0, 1]).read(), early);
        assert_eq!(whole(&message(FORMAT_DATA_REQUEST, 0, &[1])).read(), early);
    }

    #[test]
    fn capabilities_of_another_kind_are_passed_over() {
        let body = [
            2, 0, 0, 0, 9, 0, 6, 0, 7, 7, 1, 0, 12, 0, 2, 0, 0, 0, 2, 0, 0, 0,
        ];
        let long_names = true;
        check(
            &message(CAPABILITIES, 0, &body),
            &Said::Capabilities { long_names },
        );
        let endless = [1, 0, 0, 0, 9, 0, 0, 0];
        let long_names = false;
        check(
            &message(CAPABILITIES, 0, &endless),
            &Said::Capabilities { long_names },
        );
    }

    proptest! {
        #[test]
        fn no_list_offers_more_than_is_held(
            body in prop::collection::vec(0_u8..16, 0..3000),
            short in any::<bool>(),
        ) {
            let listed = Listed { body: &body, ascii: short };
            prop_assert!(listed.read(short).0.len() <= limits::CLIPBOARD_FORMS);
        }
    }
}
