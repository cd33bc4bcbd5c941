//! What is said about the clipboard between a client and its server: the machine's content when
//! it is new or asked for, and the request for the client's when it has some.

use crate::{
    clipboard::{self, Content, Extended, Forms, SERVER_CUT_TEXT},
    limits,
};

/// The talk of one connection. What is due is said at most once however often it is asked for.
#[derive(Default)]
pub(super) struct Talk {
    /// Whether the client speaks the extended protocol.
    extended: bool,
    /// Bytes of text it takes without having asked.
    takes_bytes: u32,
    /// What is on the machine's clipboard.
    text: String,
    caps_due: bool,
    request_due: bool,
    text_due: Due,
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

impl Talk {
    /// The client speaks the extended protocol.
    pub(super) const fn extend(&mut self) {
        self.extended = true;
        self.caps_due = true;
    }

    /// There is new text on the machine's clipboard.
    pub(super) fn put(&mut self, text: String) {
        self.text = text;
        self.text_due = Due::News;
    }

    pub(super) const fn hear(&mut self, said: &Extended) {
        match said {
            Extended::Caps { text_bytes, .. } => self.takes_bytes = *text_bytes,
            Extended::Request(forms) if forms.has_text() => self.text_due = Due::Content,
            Extended::Notify(forms) if forms.has_text() => self.request_due = true,
            Extended::Peek => self.text_due = Due::News,
            Extended::Request(_) | Extended::Notify(_) | Extended::Provide(_) => {}
        }
    }

    pub(super) fn say(&mut self, out: &mut Vec<u8>) {
        let mut say = |message| out.extend(clipboard::encode(SERVER_CUT_TEXT, &message));
        if std::mem::take(&mut self.caps_due) {
            say(Extended::Caps {
                forms: Forms::TEXT,
                text_bytes: limits::DRIVER_CLIPBOARD_BYTES,
            });
        }
        if std::mem::take(&mut self.request_due) {
            say(Extended::Request(Forms::TEXT));
        }
        match std::mem::take(&mut self.text_due) {
            Due::Nothing => {}
            Due::News | Due::Content if !self.extended => {
                out.extend(clipboard::encode_classic(SERVER_CUT_TEXT, &self.text));
            }
            Due::News if self.text.is_empty() => say(Extended::Notify(Forms::default())),
            Due::News if self.text.len() as u64 > self.takes_bytes.into() => {
                say(Extended::Notify(Forms::TEXT));
            }
            Due::News | Due::Content => {
                say(Extended::Provide(Content::of_text(self.text.clone())));
            }
        }
    }
}
