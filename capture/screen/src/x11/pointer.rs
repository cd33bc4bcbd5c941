//! Where is the pointer, and which buttons are down?

use capture::{
    Point,
    input::{Buttons, Pointer},
};
use x11rb::{connection::Connection as _, protocol::xproto::ConnectionExt as _};

use super::{ObserverError, line::Connection};

/// The pointer as it was last told.
pub(super) struct Pointers {
    last: Pointer,
}

impl Pointers {
    /// Asks where it is.
    pub(super) fn open(control: &Connection) -> Result<Self, ObserverError> {
        let root = control.setup().roots.first();
        let root = root
            .ok_or_else(|| super::error::lost("it has no screen"))?
            .root;
        let found = control.query_pointer(root)?.reply()?;
        let at = Point {
            x: i32::from(found.root_x).max(0),
            y: i32::from(found.root_y).max(0),
        };
        // Buttons 1 to 5 are bits 8 to 12 there; X11 counts buttons in RFB's order.
        let buttons = Buttons(u16::from(found.mask) >> 8 & 0x1f);
        let last = Pointer { at, buttons };
        Ok(Self { last })
    }

    /// A button went down or up at `at`. Buttons that RFB does not know change nothing.
    pub(super) fn button(&mut self, detail: u8, down: bool, at: Point) -> Option<Pointer> {
        let bit = match detail {
            1..=9 => 1 << (detail - 1),
            _ => 0,
        };
        let buttons = self.last.buttons.0;
        let buttons = if down { buttons | bit } else { buttons & !bit };
        self.change(Pointer {
            at,
            buttons: Buttons(buttons),
        })
    }

    /// The pointer came to `at`.
    pub(super) fn motion(&mut self, at: Point) -> Option<Pointer> {
        self.change(Pointer { at, ..self.last })
    }

    fn change(&mut self, pointer: Pointer) -> Option<Pointer> {
        let changed = pointer != self.last;
        self.last = pointer;
        changed.then_some(pointer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_told() {
        let at = |x| Point { x, y: 5 };
        let buttons = Buttons::default();
        let mut pointers = Pointers {
            last: Pointer { at: at(1), buttons },
        };
        assert_eq!(pointers.motion(at(1)), None);
        assert_eq!(pointers.motion(at(2)), Some(Pointer { at: at(2), buttons }));
        let pressed = pointers.button(5, true, at(3)).unwrap();
        assert_eq!((pressed.at, pressed.buttons), (at(3), Buttons(0b1_0000)));
        assert_eq!(pointers.motion(at(3)), None);
        let released = pointers.button(5, false, at(3)).unwrap();
        assert_eq!(released.buttons, Buttons(0));
        assert_eq!(pointers.button(10, true, at(3)), None);
    }
}
