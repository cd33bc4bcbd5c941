//! The extended clipboard (rfbproto, "Extended Clipboard Pseudo-Encoding"): Unicode text and
//! other forms inside `CutText` messages, which a negative length marks.
//!
//! Both sides speak it alike; only the message's number differs. Content is sent once it is asked
//! for, or at once when it is no larger than the other side said it takes.

mod talk;

use capture::input::{Clipboard, Direction, Format};
use miniz_oxide::{
    DataFormat, MZError, MZFlush,
    deflate::compress_to_vec_zlib,
    inflate::stream::{InflateState, inflate},
};

pub(crate) use self::talk::{Side, Talk};
use crate::limits;

/// The number of a `ClientCutText`, and of a `ServerCutText`.
pub(crate) const CLIENT_CUT_TEXT: u8 = 6;
pub(crate) const SERVER_CUT_TEXT: u8 = 3;

/// What comes before a `CutText`'s body: its number, three spare bytes, a length.
pub(crate) const HEAD_BYTES: usize = 8;

/// What every body begins with.
pub(crate) const FLAGS_BYTES: usize = 4;

const CAPS: u32 = 1 << 24;
const REQUEST: u32 = 1 << 25;
const PEEK: u32 = 1 << 26;
const NOTIFY: u32 = 1 << 27;
const PROVIDE: u32 = 1 << 28;
const ACTIONS: u32 = CAPS | REQUEST | PEEK | NOTIFY | PROVIDE;

/// Text is inflated in steps of this: an announced length takes no memory before its bytes come.
const STEP_BYTES: usize = 64 * 1024;

/// Like most: half as large as the fastest level makes it, and far from the slowest.
const COMPRESSION_LEVEL: u8 = 6;

/// Forms of content, a bit each in the protocol's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forms(u16);

impl Forms {
    pub(crate) const TEXT: Self = Self(1);

    const ALL: [Format; 5] = [
        Format::Text,
        Format::Rtf,
        Format::Html,
        Format::Image,
        Format::Files,
    ];

    const fn of_flags(flags: u32) -> Self {
        let [_, _, high, low] = flags.to_be_bytes();
        Self(u16::from_be_bytes([high, low]))
    }

    pub(crate) const fn has_text(self) -> bool {
        self.0 & Self::TEXT.0 != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The forms that have a name; others may come and are none of ours.
    pub(crate) fn formats(self) -> Vec<Format> {
        let named = Self::ALL.into_iter().enumerate();
        let set = named.filter(|(bit, _)| self.0 >> bit & 1 == 1);
        set.map(|(_, format)| format).collect()
    }
}

/// What one side says.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Extended {
    /// What the sender takes: text of so many bytes without being asked.
    Caps { forms: Forms, text_bytes: u32 },
    /// The sender wants the content in these forms.
    Request(Forms),
    /// The sender wants to know which forms there are.
    Peek,
    /// There is new content in these forms; in none when the clipboard was emptied.
    Notify(Forms),
    /// The content.
    Provide(Content),
}

/// Content that came over.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) forms: Forms,
    /// Its text with `\n` between lines, unless it is longer than was to be read.
    pub(crate) text: Option<String>,
    /// Bytes of the text in UTF-8, or as announced.
    pub(crate) len_bytes: u64,
}

impl Content {
    /// Content that is `text` alone.
    pub(crate) fn of_text(text: String) -> Self {
        Self {
            forms: Forms::TEXT,
            len_bytes: text.len() as u64,
            text: Some(text),
        }
    }

    /// What this means when it goes in `direction`.
    pub(crate) fn clipboard(self, direction: Direction) -> Clipboard {
        Clipboard {
            direction,
            formats: self.forms.formats(),
            text: self.text,
            len_bytes: self.len_bytes,
        }
    }
}

/// Why a clipboard message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what it is")]
pub enum ClipboardError {
    #[error(
        "clipboard of {len_bytes} bytes is longer than {}",
        limits::CLIPBOARD_SKIPPED_BYTES
    )]
    TooLong { len_bytes: u32 },
    #[error("clipboard message ends before what its flags announce")]
    Short,
    #[error("clipboard message has flags {flags:#010x}, which name no single action")]
    Action { flags: u32 },
    #[error("clipboard's compressed content is corrupt")]
    Zlib,
}

/// The forms that a message's flags name.
pub(crate) const fn forms([a, b, c, d]: [u8; FLAGS_BYTES]) -> Forms {
    Forms::of_flags(u32::from_be_bytes([a, b, c, d]))
}

/// Reads a message's body, what follows its negative length. Of text longer than `text_limit_bytes`
/// only the length is told.
///
/// # Errors
/// When it ends early, names no single action, or its content does not inflate.
pub(crate) fn parse(body: &[u8], text_limit_bytes: u32) -> Result<Extended, ClipboardError> {
    let (flags, rest) = body.split_first_chunk().ok_or(ClipboardError::Short)?;
    let flags = u32::from_be_bytes(*flags);
    let forms = Forms::of_flags(flags);
    // With `CAPS`, the other actions are those that the sender understands.
    if flags & CAPS != 0 {
        let (sizes, _) = rest.as_chunks::<4>();
        if sizes.len() < forms.0.count_ones() as usize {
            return Err(ClipboardError::Short);
        }
        let text = sizes.first().filter(|_| forms.has_text());
        let text_bytes = text.map_or(0, |&size| u32::from_be_bytes(size));
        return Ok(Extended::Caps { forms, text_bytes });
    }
    match flags & ACTIONS {
        REQUEST => Ok(Extended::Request(forms)),
        PEEK => Ok(Extended::Peek),
        NOTIFY => Ok(Extended::Notify(forms)),
        PROVIDE => content(forms, rest, text_limit_bytes).map(Extended::Provide),
        _ => Err(ClipboardError::Action { flags }),
    }
}

/// Each form is a length and so many bytes, text the first of them: what follows it is not read.
fn content(
    forms: Forms,
    compressed: &[u8],
    text_limit_bytes: u32,
) -> Result<Content, ClipboardError> {
    let mut content = Content {
        forms,
        ..Content::default()
    };
    if forms.is_empty() {
        return Ok(content);
    }
    let mut inflate = Inflate::new(compressed);
    let len_bytes = inflate.length()?;
    content.len_bytes = len_bytes.into();
    if forms.has_text() && len_bytes <= text_limit_bytes {
        let text = text(&inflate.take(len_bytes as usize)?);
        content.len_bytes = text.len() as u64;
        content.text = Some(text);
    }
    Ok(content)
}

/// Text ends with a zero, and its lines with `\r\n`.
fn text(bytes: &[u8]) -> String {
    let ended = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    String::from_utf8_lossy(ended).replace("\r\n", "\n")
}

/// The content of one message being inflated.
struct Inflate<'a> {
    state: Box<InflateState>,
    rest: &'a [u8],
}

impl<'a> Inflate<'a> {
    fn new(compressed: &'a [u8]) -> Self {
        Self {
            state: InflateState::new_boxed(DataFormat::Zlib),
            rest: compressed,
        }
    }

    fn length(&mut self) -> Result<u32, ClipboardError> {
        let mut length = [0; 4];
        self.fill(&mut length)?;
        Ok(u32::from_be_bytes(length))
    }

    fn take(&mut self, len: usize) -> Result<Vec<u8>, ClipboardError> {
        let mut taken = Vec::new();
        while taken.len() < len {
            let from = taken.len();
            taken.resize(len.min(from.saturating_add(STEP_BYTES)), 0);
            self.fill(taken.get_mut(from..).unwrap_or_default())?;
        }
        Ok(taken)
    }

    fn fill(&mut self, mut out: &mut [u8]) -> Result<(), ClipboardError> {
        while !out.is_empty() {
            let step = inflate(&mut self.state, self.rest, out, MZFlush::None);
            let failed = matches!(step.status, Err(error) if error != MZError::Buf);
            let stuck = step.bytes_written == 0 && step.bytes_consumed == 0;
            if failed || stuck {
                return Err(ClipboardError::Zlib);
            }
            self.rest = self.rest.get(step.bytes_consumed..).unwrap_or_default();
            out = out.get_mut(step.bytes_written..).unwrap_or_default();
        }
        Ok(())
    }
}

/// A whole message, `kind` being the number of its side's `CutText`.
pub(crate) fn encode(kind: u8, message: &Extended) -> Vec<u8> {
    let (flags, rest) = match message {
        Extended::Caps { forms, text_bytes } => {
            let sizes = (0..forms.0.count_ones()).map(|at| if at == 0 { *text_bytes } else { 0 });
            (
                ACTIONS | u32::from(forms.0),
                sizes.flat_map(u32::to_be_bytes).collect(),
            )
        }
        Extended::Request(forms) => (REQUEST | u32::from(forms.0), Vec::new()),
        Extended::Peek => (PEEK, Vec::new()),
        Extended::Notify(forms) => (NOTIFY | u32::from(forms.0), Vec::new()),
        Extended::Provide(content) => {
            let text = content.text.as_deref().unwrap_or_default();
            (PROVIDE | u32::from(Forms::TEXT.0), compressed(text))
        }
    };
    let len = i32::try_from(rest.len().saturating_add(FLAGS_BYTES)).unwrap_or(i32::MAX);
    let mut encoded = vec![kind, 0, 0, 0];
    encoded.extend(len.saturating_neg().to_be_bytes());
    encoded.extend(flags.to_be_bytes());
    encoded.extend(rest);
    encoded
}

/// A whole message of plain text, in Latin-1: what has no place there becomes a question mark.
pub(crate) fn encode_classic(kind: u8, text: &str) -> Vec<u8> {
    let latin: Vec<u8> = { text.chars() }
        .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
        .collect();
    let mut encoded = vec![kind, 0, 0, 0];
    encoded.extend(u32::try_from(latin.len()).unwrap_or(u32::MAX).to_be_bytes());
    encoded.extend(latin);
    encoded
}

fn compressed(text: &str) -> Vec<u8> {
    // Lines that end with both already keep their ends.
    let lines = text.replace("\r\n", "\n").replace('\n', "\r\n");
    let len = u32::try_from(lines.len().saturating_add(1)).unwrap_or(u32::MAX);
    let mut plain = len.to_be_bytes().to_vec();
    plain.extend(lines.bytes());
    plain.push(0);
    compress_to_vec_zlib(&plain, COMPRESSION_LEVEL)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT_BYTES: u32 = 1024 * 1024;

    fn round_trip(message: &Extended) -> Result<Extended, ClipboardError> {
        let encoded = encode(CLIENT_CUT_TEXT, message);
        let (head, body) = encoded.split_at(HEAD_BYTES);
        let len = i32::from_be_bytes(*head.last_chunk().unwrap());
        assert_eq!(len.unsigned_abs() as usize, body.len());
        assert!(len < 0);
        parse(body, LIMIT_BYTES)
    }

    fn check(message: &Extended) {
        assert!(round_trip(message) == Ok(message.clone()));
    }

    fn provide(flags: u32, plain: &[u8]) -> Vec<u8> {
        let mut body = (PROVIDE | flags).to_be_bytes().to_vec();
        body.extend(compress_to_vec_zlib(plain, 1));
        body
    }

    #[test]
    fn each_message_is_read_as_it_was_written() {
        let forms = Forms(0b1_0001);
        check(&Extended::Caps {
            forms,
            text_bytes: 1 << 20,
        });
        check(&Extended::Request(Forms::TEXT));
        check(&Extended::Peek);
        check(&Extended::Notify(Forms::default()));
        check(&Extended::Provide(Content::of_text(
            "дом\nwith 😀\n".into(),
        )));
    }

    #[test]
    fn lines_end_as_here_and_the_zero_is_cut() {
        let body = provide(1, b"\0\0\0\x08a\r\nb\r\nc\0");
        let expected = Content::of_text("a\nb\nc".into());
        assert!(parse(&body, LIMIT_BYTES) == Ok(Extended::Provide(expected)));
    }

    #[test]
    fn forms_are_told_without_their_content() {
        let body = provide(0b1000, &[0, 1, 0, 0]);
        let Ok(Extended::Provide(content)) = parse(&body, LIMIT_BYTES) else {
            panic!("not content");
        };
        let clipboard = content.clipboard(Direction::ToMachine);
        assert_eq!(clipboard.formats, [Format::Image]);
        assert_eq!((clipboard.text, clipboard.len_bytes), (None, 65_536));
    }

    #[test]
    fn text_over_the_limit_is_counted_and_not_read() {
        let bomb = [&[0xff; 4][..], &vec![b'x'; 1 << 20]].concat();
        let Ok(Extended::Provide(content)) = parse(&provide(1, &bomb), LIMIT_BYTES) else {
            panic!("not content");
        };
        assert!(content.text.is_none());
        assert_eq!(content.len_bytes, u64::from(u32::MAX));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (body, error) in [
            (vec![0, 0, 0], ClipboardError::Short),
            (vec![1, 0, 0, 3, 0, 0, 0, 9], ClipboardError::Short),
            (vec![0, 0, 0, 1], ClipboardError::Action { flags: 1 }),
            (
                vec![6, 0, 0, 0],
                ClipboardError::Action { flags: 0x0600_0000 },
            ),
            (vec![0x10, 0, 0, 1], ClipboardError::Zlib),
            (vec![0x10, 0, 0, 1, 9, 9, 9], ClipboardError::Zlib),
            (provide(1, b"\0\0\0\x09short"), ClipboardError::Zlib),
        ] {
            assert!(parse(&body, LIMIT_BYTES) == Err(error), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_over_whole(text in "[^\r\0]{0,200}") {
            check(&Extended::Provide(Content::of_text(text)));
        }
    }
}
