//! What one side says about clipboards: its own content when that is new or asked for, and the
//! request for the other's when that has text.

use super::{CLIENT_CUT_TEXT, Content, Extended, Forms, SERVER_CUT_TEXT, encode, encode_classic};
use crate::limits;

/// The talk of one connection. What is due is said at most once however often it is asked for.
pub(crate) struct Talk {
    side: Side,
    /// Whether the other side speaks the extended protocol.
    extended: bool,
    /// Bytes of text it takes without having asked.
    takes_bytes: u32,
    /// What is on this side's clipboard, if anything was put there.
    text: Option<String>,
    caps_due: bool,
    request_due: bool,
    text_due: Due,
}

/// Which end of the connection this is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What of the text is to be said.
#[derive(Clone, Copy, Default)]
enum Due {
    #[default]
    Nothing,
    /// That it is new.
    News,
    /// All of it.
    Content,
}

impl Side {
    const fn cut_text(self) -> u8 {
        match self {
            Self::Client => CLIENT_CUT_TEXT,
            Self::Server => SERVER_CUT_TEXT,
        }
    }

    /// Bytes of text that this side reads.
    const fn takes_bytes(self) -> u32 {
        match self {
            Self::Client => limits::CLIPBOARD_KEPT_BYTES,
            Self::Server => limits::DRIVER_CLIPBOARD_BYTES,
        }
    }
}

impl Talk {
    pub(crate) const fn new(side: Side) -> Self {
        Self {
            side,
            extended: false,
            takes_bytes: 0,
            text: None,
            caps_due: false,
            request_due: false,
            text_due: Due::Nothing,
        }
    }

    /// The other side speaks the extended protocol, and is to know what this one takes.
    pub(crate) const fn extend(&mut self) {
        self.extended = true;
        self.caps_due = true;
    }

    /// The other side does not speak the extended protocol, or no longer.
    pub(crate) const fn restrict(&mut self) {
        self.extended = false;
        self.caps_due = false;
    }

    /// There is new text on this side's clipboard.
    pub(crate) fn put(&mut self, text: String) {
        self.text = Some(text);
        self.text_due = Due::News;
    }

    pub(crate) const fn hear(&mut self, said: &Extended) {
        match said {
            Extended::Caps { text_bytes, .. } => {
                self.takes_bytes = *text_bytes;
                // A server says first that it speaks the protocol; a client asks for it, and then
                // answers.
                if matches!(self.side, Side::Client) {
                    self.extend();
                }
            }
            Extended::Request(forms) if forms.has_text() => self.text_due = Due::Content,
            Extended::Notify(forms) if forms.has_text() => self.request_due = true,
            Extended::Peek => self.text_due = Due::News,
            Extended::Request(_) | Extended::Notify(_) | Extended::Provide(_) => {}
        }
    }

    /// Appends what is due.
    pub(crate) fn say(&mut self, out: &mut Vec<u8>) {
        let kind = self.side.cut_text();
        let mut say = |message| out.extend(encode(kind, &message));
        if std::mem::take(&mut self.caps_due) {
            say(Extended::Caps {
                forms: Forms::TEXT,
                text_bytes: self.side.takes_bytes(),
            });
        }
        if std::mem::take(&mut self.request_due) {
            say(Extended::Request(Forms::TEXT));
        }
        let due = std::mem::take(&mut self.text_due);
        let Some(text) = &self.text else {
            return;
        };
        match due {
            Due::Nothing => {}
            Due::News | Due::Content if !self.extended => out.extend(encode_classic(kind, text)),
            Due::News if text.is_empty() => say(Extended::Notify(Forms::default())),
            Due::News if text.len() as u64 > self.takes_bytes.into() => {
                say(Extended::Notify(Forms::TEXT));
            }
            Due::News | Due::Content => say(Extended::Provide(Content::of_text(text.clone()))),
        }
    }
}
