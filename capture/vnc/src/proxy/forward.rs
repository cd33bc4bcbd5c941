//! After the handshake: what a driver says is read message by message, and goes on as it came.

use std::collections::VecDeque;

use capture::input::Input as Act;

use crate::{
    driver::{
        DriverError,
        message::{self, Message},
    },
    encoding,
    input::Input,
    request,
};

/// The way from driver to server.
#[derive(Debug, Default)]
pub(super) struct Forward {
    /// Bytes of a long clipboard that still pass by.
    passing: usize,
}

impl Forward {
    /// Whether a message has begun to pass and not ended.
    pub(super) const fn is_inside_message(&self) -> bool {
        self.passing > 0
    }

    /// Forwards the next message, or what there is of a long one; false when more bytes must
    /// arrive first.
    ///
    /// # Errors
    /// When it cannot be read; then none of it is forwarded.
    pub(super) fn step(
        &mut self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
        acts: &mut VecDeque<Act>,
    ) -> Result<bool, DriverError> {
        if self.passing > 0 {
            let part = input.available(self.passing);
            let len = part.len();
            out.extend_from_slice(part);
            input.consume(len);
            self.passing = self.passing.saturating_sub(len);
            return Ok(len > 0);
        }
        let Some(parsed) = message::parse(input)? else {
            return Ok(false);
        };
        match &parsed.message {
            Message::SetEncodings(encodings) if encodings.iter().any(withheld) => {
                let kept = encodings.iter().copied().filter(|number| !withheld(number));
                out.extend(request::set_encodings(&kept.collect::<Vec<i32>>()));
            }
            _ => out.extend_from_slice(input.peek(parsed.len).unwrap_or_default()),
        }
        acts.extend(parsed.message.into_input());
        input.consume(parsed.len);
        self.passing = parsed.rest;
        Ok(true)
    }
}

/// Whether an extension is kept from a server because, once it has agreed out of our sight, what
/// the driver says would mean something else than is read here. Drivers do without.
fn withheld(encoding: &i32) -> bool {
    match *encoding {
        // Makes some `PointerEvent`s a byte longer.
        encoding::EXTENDED_MOUSE_BUTTONS => true,
        // Makes the places in `PointerEvent`s mean how far the pointer is moved.
        encoding::POINTER_MOTION => true,
        // Devices of any kind, with messages of their own.
        encoding::GENERAL_INPUT => true,
        // Messages of their own too, and files that go past the clipboard.
        number => encoding::ULTRA_VNC.contains(&number),
    }
}
