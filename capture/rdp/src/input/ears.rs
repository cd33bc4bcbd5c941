//! What does a driver's input mean? The mirror image of [`Hands`](super::Hands): messages in, acts
//! out (MS-RDPBCGR sections 2.2.8.1.1.3 and 2.2.8.1.2).

mod keyboard;
mod mouse;
#[cfg(test)]
mod tests;

use capture::input::Input;
use ironrdp_core::{Decode as _, ReadCursor};
use ironrdp_pdu::input::{
    InputEvent,
    fast_path::{FastPathInputEvent as Event, KeyboardFlags},
};

use self::{keyboard::Keyboard, mouse::Mouse};
use super::short_form;
use crate::keymap::Keymap;

/// Understands what one driver does. What it holds is bounded by the keys of a keyboard.
pub struct Ears {
    keyboard: Keyboard,
    mouse: Mouse,
}

/// Why a message of input cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what it is")]
pub enum InputError {
    #[error("input is encrypted a second time, or signed, which was not agreed on")]
    Encrypted,
    #[error("input's message is not as long as its header says")]
    Length,
    #[error("input event {number} of {of} cannot be read")]
    Event { number: u8, of: u8 },
    #[error("input goes on behind its {of} events")]
    Trailing { of: u8 },
}

impl Ears {
    /// A driver that has done nothing yet and has this keyboard.
    #[must_use]
    pub fn new(keymap: Keymap) -> Self {
        Self {
            keyboard: Keyboard::new(keymap),
            mouse: Mouse::default(),
        }
    }

    /// What a whole fast-path message says, its header included.
    ///
    /// # Errors
    /// When it cannot be read; then nothing of it counts.
    pub fn fast_path(&mut self, message: &[u8]) -> Result<Vec<Input>, InputError> {
        let mut acts = Vec::new();
        for event in events(message)? {
            self.hear(event, &mut acts);
        }
        Ok(acts)
    }

    /// What the events of a slow-path message say.
    pub fn slow_path(&mut self, events: &[InputEvent]) -> Vec<Input> {
        let mut acts = Vec::new();
        for event in events.iter().filter_map(short_form) {
            self.hear(event, &mut acts);
        }
        acts
    }

    fn hear(&mut self, event: Event, acts: &mut Vec<Input>) {
        let mut keys = Vec::new();
        match event {
            Event::KeyboardEvent(flags, code) => self.keyboard.key(flags, code, &mut keys),
            Event::UnicodeKeyboardEvent(flags, unit) => {
                let down = !flags.contains(KeyboardFlags::RELEASE);
                self.keyboard.unicode(unit, down, &mut keys);
            }
            Event::SyncEvent(locks) => self.keyboard.synchronize(locks, &mut keys),
            Event::MouseEvent(mouse) => self.mouse.mouse(mouse, acts),
            Event::MouseEventEx(mouse) => self.mouse.extended(mouse, acts),
            Event::MouseEventRel(mouse) => self.mouse.relative(mouse, acts),
            // When the driver saw a picture, for a server that measures itself.
            Event::QoeEvent(_) => {}
        }
        acts.extend(keys.into_iter().map(Input::Key));
    }

    /// How many halves of a character came without the other, and were left out.
    #[must_use]
    pub const fn halves(&self) -> u64 {
        self.keyboard.halves()
    }
}

/// The events of a fast-path message.
fn events(message: &[u8]) -> Result<Vec<Event>, InputError> {
    let (&[header, length], rest) = message.split_first_chunk().ok_or(InputError::Length)?;
    if header >> 6 != 0 {
        return Err(InputError::Encrypted);
    }
    // A length of 15 bits says so in its uppermost.
    let (len, rest) = match (length & 0x80, rest.split_first()) {
        (0, _) => (u16::from(length), rest),
        (_, Some((&low, rest))) => (u16::from_be_bytes([length & 0x7f, low]), rest),
        (_, None) => return Err(InputError::Length),
    };
    if usize::from(len) != message.len() {
        return Err(InputError::Length);
    }
    // More than fifteen are counted in a byte of their own.
    let (of, rest) = match (header >> 2 & 0xf, rest.split_first()) {
        (0, Some((&of, rest))) => (of, rest),
        (0, None) => return Err(InputError::Length),
        (of, _) => (of, rest),
    };
    let mut events = ReadCursor::new(rest);
    let read = (1..=of)
        .map(|number| Event::decode(&mut events).map_err(|_| InputError::Event { number, of }));
    let read = read.collect::<Result<Vec<_>, _>>()?;
    match events.is_empty() {
        true => Ok(read),
        false => Err(InputError::Trailing { of }),
    }
}
