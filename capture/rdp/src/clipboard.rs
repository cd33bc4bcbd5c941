//! The clipboard's channel (MS-RDPECLIP): what each side offers, and what goes over when the other
//! asks for it.
//!
//! Both sides speak alike. Whoever has new content says in which forms; whoever wants it asks for
//! one of them. So a copy is an offer first, and content goes over when it is pasted.

mod chunks;
mod client;
mod message;
mod tap;

use capture::input::Format;

pub(crate) use self::client::{Client, Joined};
pub use self::tap::Tap;
use crate::limits;

/// Why what comes over the channel cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what it is")]
pub enum ClipboardError {
    #[error("clipboard's channel is compressed, which was not agreed on")]
    Compressed,
    #[error("clipboard's message lacks its beginning, or is not as long as it says")]
    Chunks,
    #[error(
        "clipboard's message of {len_bytes} bytes is longer than {}",
        limits::CLIPBOARD_BYTES
    )]
    TooLong { len_bytes: u32 },
    #[error("clipboard's message ends before what it announces")]
    Short,
    #[error(
        "clipboard is offered in more than {} bytes",
        limits::CLIPBOARD_KEPT_BYTES
    )]
    Offer,
}

/// What one side offers: its forms by the numbers that they are asked for by. Only those that have
/// a name here, each kind of text by its own number.
#[derive(Default)]
pub(crate) struct Offer(Vec<(u32, Format)>);

/// Text, by number (Windows' standard clipboard formats).
const CF_TEXT: u32 = 1;
const CF_OEMTEXT: u32 = 7;
const CF_UNICODETEXT: u32 = 13;

impl Offer {
    /// Adds a form, unless it is none that has a name here.
    fn add(&mut self, number: u32, name: &str) {
        if self.0.len() < limits::CLIPBOARD_FORMS {
            self.0.extend(form(number, name).map(|form| (number, form)));
        }
    }

    /// The forms, each once.
    fn formats(&self) -> Vec<Format> {
        let mut formats = Vec::new();
        for (_, format) in &self.0 {
            if !formats.contains(format) {
                formats.push(*format);
            }
        }
        formats
    }

    /// The number of its text, if it has any: in Unicode if that is offered.
    fn text(&self) -> Option<u32> {
        let offered = |number: &u32| self.0.contains(&(*number, Format::Text));
        [CF_UNICODETEXT, CF_TEXT, CF_OEMTEXT]
            .into_iter()
            .find(offered)
    }

    /// What was asked for by this number.
    fn format(&self, number: u32) -> Option<Format> {
        let found = self.0.iter().find(|(offered, _)| *offered == number);
        found.map(|(_, format)| *format)
    }
}

/// What a form is, by its number where it has a fixed one, else by its name.
fn form(number: u32, name: &str) -> Option<Format> {
    /// Bitmaps, metafiles and TIFF.
    const PICTURES: [u32; 6] = [2, 3, 6, 8, 14, 17];
    const CF_HDROP: u32 = 15;
    Some(match number {
        CF_TEXT | CF_OEMTEXT | CF_UNICODETEXT => Format::Text,
        CF_HDROP => Format::Files,
        number if PICTURES.contains(&number) => Format::Image,
        _ => match name {
            "Rich Text Format" | "text/rtf" => Format::Rtf,
            "HTML Format" | "text/html" => Format::Html,
            "PNG" | "JFIF" | "GIF" | "image/png" | "image/jpeg" | "image/gif" | "image/bmp" => {
                Format::Image
            }
            "FileGroupDescriptorW" | "FileGroupDescriptor" | "text/uri-list" => Format::Files,
            _ => return None,
        },
    })
}

/// Text as it goes over in the form `number`, which is one of text.
fn decode(number: u32, bytes: &[u8]) -> String {
    let text = if number == CF_UNICODETEXT {
        let (units, _) = bytes.as_chunks();
        let units = units.iter().map(|&unit| u16::from_le_bytes(unit));
        let ended = units.take_while(|unit| *unit != 0);
        let typed = char::decode_utf16(ended);
        typed
            .map(|typed| typed.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    } else {
        let ended = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        // In which of Windows' encodings is not said; what reads as UTF-8 is that.
        match str::from_utf8(ended) {
            Ok(text) => text.to_owned(),
            Err(_) => ended.iter().map(|&byte| char::from(byte)).collect(),
        }
    };
    text.replace("\r\n", "\n")
}

/// Text as it goes over in Unicode, with both ends of lines and a zero.
fn encode(text: &str) -> Vec<u8> {
    // Lines that end with both already keep their ends.
    let lines = text.replace("\r\n", "\n").replace('\n', "\r\n");
    let units = lines.encode_utf16().chain([0]);
    units.flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_over_with_both_ends_of_its_lines() {
        for text in ["", "a\nb\n", "Grüße, жизнь 😀"] {
            assert_eq!(decode(CF_UNICODETEXT, &encode(text)), text);
        }
        assert_eq!(encode("\n"), [13, 0, 10, 0, 0, 0]);
        assert_eq!(encode("\r\n"), encode("\n"));
    }

    #[test]
    fn text_ends_with_a_zero_or_with_its_bytes() {
        assert_eq!(decode(CF_UNICODETEXT, &[97, 0, 0, 0, 98, 0]), "a");
        assert_eq!(decode(CF_UNICODETEXT, &[97, 0, 98, 0, 1]), "ab");
        assert_eq!(decode(CF_TEXT, b"a\r\nb\0c"), "a\nb");
    }

    #[test]
    fn text_that_is_broken_is_kept_as_far_as_it_is_not() {
        assert_eq!(
            decode(CF_UNICODETEXT, &[97, 0, 0, 0xd8, 98, 0]),
            "a\u{fffd}b"
        );
        assert_eq!(decode(CF_TEXT, &[0xe4, b'!']), "ä!");
        assert_eq!(decode(CF_TEXT, "ä!".as_bytes()), "ä!");
    }

    #[test]
    fn forms_are_known_by_number_or_name() {
        let mut offer = Offer::default();
        for (number, name) in [
            (CF_TEXT, ""),
            (49_161, "HTML Format"),
            (CF_UNICODETEXT, ""),
            (8, ""),
            (49_200, "Ole Private Data"),
        ] {
            offer.add(number, name);
        }
        assert_eq!(offer.formats(), [Format::Text, Format::Html, Format::Image]);
        assert_eq!(offer.text(), Some(CF_UNICODETEXT));
        assert_eq!(offer.format(49_161), Some(Format::Html));
        assert_eq!(offer.format(49_200), None);
    }
}
