//! What becomes of input: the one decision over keys, pointer, clipboard and marks.

mod clipboard;
mod keyboard;
mod mouse;
#[cfg(test)]
mod tests;

use std::fmt;

use capture::{
    MediaTime,
    event::{Event, Origin},
    input::Input,
    mark::Mark,
};

use crate::{Clipboard, Marks, Policy};
use keyboard::Keyboard;
use mouse::Mouse;

/// Turns what was done to the recorded machine into what is recorded of it.
///
/// It is fed in order of time. What lasts, such as typed text, waits here until it has ended, so
/// the keeper must be woken when [`poll_timeout`](Self::poll_timeout) says.
///
/// INVARIANT: while a secret is entered, nothing of keys and clipboard is kept, not even their
/// number: not in an event, and not in what waits.
pub struct Keeper {
    policy: Policy,
    session_key: [u8; 32],
    marks: Marks,
    /// At most one for each origin.
    hands: Vec<Hands>,
    now: MediaTime,
}

/// What one origin holds down and has not finished.
struct Hands {
    origin: Origin,
    keyboard: Keyboard,
    mouse: Mouse,
}

impl Keeper {
    /// Carries out `policy`, with `marks` already open. Clipboard texts are hashed under
    /// `session_key`, so that equal ones are seen to be equal within a session and guesses cannot
    /// be tried without it.
    #[must_use]
    pub fn new(policy: &Policy, session_key: [u8; 32], marks: Marks) -> Self {
        Self {
            policy: policy.clone(),
            session_key,
            marks,
            hands: Vec::new(),
            now: MediaTime::ZERO,
        }
    }

    /// Which marks are open: what must be durable before a mark is answered.
    #[must_use]
    pub const fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Whether a secret may be on its way, so that no key and no clipboard is kept.
    #[must_use]
    pub const fn suppressed(&self) -> bool {
        self.marks.any()
    }

    /// How far time has been told: nothing more is recorded before it.
    #[must_use]
    pub const fn now(&self) -> MediaTime {
        self.now
    }

    /// `origin` told `mark`. What was being typed ends here.
    pub fn mark(&mut self, t: MediaTime, origin: Origin, mark: &Mark, out: &mut Vec<Event>) {
        let t = self.advance(t, out);
        let before = self.suppressed();
        self.marks.tell(&self.policy, mark.name());
        let begins = !before && self.suppressed();
        for hands in &mut self.hands {
            hands.keyboard.end_run(out);
            if begins {
                hands.keyboard.hide(t, out);
            }
        }
        let mut event = Event::new(t, "mark", origin, [("name", mark.name().into())]);
        if let Some(text) = mark.text() {
            event.data.insert("text".to_owned(), text.into());
        }
        out.push(event);
    }

    /// `origin` saw `input`.
    pub fn input(&mut self, t: MediaTime, origin: Origin, input: &Input, out: &mut Vec<Event>) {
        let t = self.advance(t, out);
        let secret = self.suppressed();
        let rules = self.policy.input();
        let key = self.session_key;
        let Hands {
            keyboard, mouse, ..
        } = self.hands(origin);
        match input {
            Input::Key(key) => keyboard.key(t, *key, secret, out),
            Input::Pointer(pointer) => {
                if mouse.clicks(pointer) {
                    keyboard.end_run(out);
                }
                mouse.pointer(t, pointer, out);
            }
            Input::Clipboard(_) if secret || rules.clipboard == Clipboard::None => {}
            Input::Clipboard(offer) => {
                keyboard.end_run(out);
                out.push(clipboard::event(t, origin, offer, rules.clipboard, &key));
            }
        }
    }

    /// `origin` is gone: what it was doing ends, and what it held down comes up. Secrets stay
    /// suppressed until their end is told.
    pub fn close(&mut self, t: MediaTime, origin: Origin, out: &mut Vec<Event>) {
        let t = self.advance(t, out);
        if let Some(place) = self.hands.iter().position(|hands| hands.origin == origin) {
            let mut hands = self.hands.remove(place);
            hands.keyboard.end_run(out);
            hands.keyboard.hide(t, out);
            hands.mouse.release(t, out);
        }
    }

    /// Ends what falls due by `t`.
    pub fn handle_timeout(&mut self, t: MediaTime, out: &mut Vec<Event>) {
        self.advance(t, out);
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<MediaTime> {
        let due = |hands: &Hands| [hands.keyboard.due(), hands.mouse.due()];
        self.hands.iter().flat_map(due).flatten().min()
    }

    /// Moves time on, never back, and ends what has fallen due.
    fn advance(&mut self, t: MediaTime, out: &mut Vec<Event>) -> MediaTime {
        let t = self.now.max(t);
        self.now = t;
        for hands in &mut self.hands {
            if hands.keyboard.due().is_some_and(|due| due <= t) {
                hands.keyboard.end_run(out);
            }
            hands.mouse.advance(t, out);
        }
        t
    }

    fn hands(&mut self, origin: Origin) -> &mut Hands {
        let place = self.hands.iter().position(|hands| hands.origin == origin);
        let place = place.unwrap_or_else(|| {
            self.hands.push(Hands {
                origin,
                keyboard: Keyboard::new(origin, self.policy.input().keys),
                mouse: Mouse::new(origin),
            });
            self.hands.len() - 1
        });
        &mut self.hands[place]
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("marks", &self.marks)
            .finish_non_exhaustive()
    }
}
