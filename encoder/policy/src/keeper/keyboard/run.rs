//! A text as it is typed.

use capture::{
    MediaTime,
    event::{Event, Origin},
};

/// A pause of this length ends a text.
const PAUSE_MS: u64 = 1000;
/// A text is recorded at least this often. With the pause it stays within
/// [`capture::event::LATE_MS`].
const LENGTH_MS: u64 = 10_000;
/// A text has at most this many characters: one that is pasted key by key comes in parts.
const CHARS_MAX: u32 = 1024;

/// What was typed without a pause.
pub(super) struct Run {
    from: MediaTime,
    last: MediaTime,
    text: String,
    chars: u32,
    keys: u32,
}

impl Run {
    /// A text whose first key goes down at `from`.
    pub(super) const fn begins(from: MediaTime) -> Self {
        Self {
            from,
            last: from,
            text: String::new(),
            chars: 0,
            keys: 0,
        }
    }

    pub(super) fn push(&mut self, t: MediaTime, typed: char) {
        self.last = t;
        self.keys = self.keys.saturating_add(1);
        self.chars += 1;
        self.text.push(typed);
    }

    /// Takes back the last character; says whether there was one.
    pub(super) fn erase(&mut self, t: MediaTime) -> bool {
        if self.text.pop().is_none() {
            return false;
        }
        self.last = t;
        self.keys = self.keys.saturating_add(1);
        self.chars -= 1;
        true
    }

    pub(super) const fn is_full(&self) -> bool {
        self.chars >= CHARS_MAX
    }

    /// When it ends without another key.
    pub(super) fn due(&self) -> MediaTime {
        let pause = self.last.plus_ms(PAUSE_MS);
        pause.min(self.from.plus_ms(LENGTH_MS))
    }

    /// What is recorded of it; nothing if all was taken back.
    pub(super) fn event(self, origin: Origin) -> Option<Event> {
        let data = [
            ("text", self.text.as_str().into()),
            ("keys", self.keys.into()),
            ("to", self.last.ms().into()),
        ];
        let event = Event::new(self.from, "text_run", origin, data);
        (!self.text.is_empty()).then_some(event)
    }
}
