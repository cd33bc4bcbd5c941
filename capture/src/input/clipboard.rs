//! What went over the clipboard, and which way.

use std::fmt;

/// Something that was put on a clipboard.
#[derive(Clone, PartialEq, Eq)]
pub struct Clipboard {
    /// Which way it went.
    pub direction: Direction,
    /// The forms it comes in; one without a form is empty.
    pub formats: Vec<Format>,
    /// Its text, if it has any and it is no longer than a source holds.
    pub text: Option<String>,
    /// Its size in bytes: of the text in UTF-8 where there is one, as announced otherwise.
    pub len_bytes: u64,
}

impl fmt::Debug for Clipboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clipboard")
            .field("direction", &self.direction)
            .field("formats", &self.formats)
            .finish_non_exhaustive()
    }
}

/// Which way a clipboard's content went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From who operates it to the recorded machine.
    ToMachine,
    /// From the recorded machine to who operates it.
    FromMachine,
}

impl Direction {
    /// The word used in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToMachine => "to-machine",
            Self::FromMachine => "from-machine",
        }
    }
}

/// A form that a clipboard's content comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text.
    Text,
    /// Rich Text Format.
    Rtf,
    /// HTML.
    Html,
    /// A picture.
    Image,
    /// Files.
    Files,
}

impl Format {
    /// The word used in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Rtf => "rtf",
            Self::Html => "html",
            Self::Image => "image",
            Self::Files => "files",
        }
    }
}
