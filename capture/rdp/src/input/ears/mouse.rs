//! Where is the pointer, which buttons are down, and how far did a wheel turn?

use capture::{
    Point,
    input::{Buttons, Input, Pointer},
};
use ironrdp_pdu::input::{
    MousePdu, MouseRelPdu, MouseXPdu, mouse::PointerFlags, mouse_rel::PointerRelFlags,
    mouse_x::PointerXFlags,
};

use crate::input::STEP;

const LEFT: u16 = 1 << 0;
const MIDDLE: u16 = 1 << 1;
const RIGHT: u16 = 1 << 2;
const WHEEL_UP: u16 = 1 << 3;
const WHEEL_DOWN: u16 = 1 << 4;
const WHEEL_LEFT: u16 = 1 << 5;
const WHEEL_RIGHT: u16 = 1 << 6;
const BACK: u16 = 1 << 7;
const FORWARD: u16 = 1 << 8;

/// A driver's pointer.
#[derive(Default)]
pub(super) struct Mouse {
    at: Option<Point>,
    buttons: u16,
    /// What the wheels turned short of a whole step.
    vertical: i16,
    horizontal: i16,
}

impl Mouse {
    /// A move, a button, or a turn of a wheel.
    pub(super) fn mouse(&mut self, event: MousePdu, acts: &mut Vec<Input>) {
        let at = place(event.x_position, event.y_position);
        let turned = event.number_of_wheel_rotation_units;
        // Where a wheel turns the pointer is already: some drivers send zeros.
        if event.flags.contains(PointerFlags::VERTICAL_WHEEL) {
            let steps = steps(&mut self.vertical, turned);
            self.turn(steps, WHEEL_UP, WHEEL_DOWN, at, acts);
        } else if event.flags.contains(PointerFlags::HORIZONTAL_WHEEL) {
            let steps = steps(&mut self.horizontal, turned);
            self.turn(steps, WHEEL_RIGHT, WHEEL_LEFT, at, acts);
        } else {
            let named = [
                (PointerFlags::LEFT_BUTTON, LEFT),
                (PointerFlags::RIGHT_BUTTON, RIGHT),
                (PointerFlags::MIDDLE_BUTTON_OR_WHEEL, MIDDLE),
            ];
            let bits = bits(&named, |flag| event.flags.contains(flag));
            self.press(bits, event.flags.contains(PointerFlags::DOWN), at, acts);
        }
    }

    /// One of the buttons at the side.
    pub(super) fn extended(&mut self, event: MouseXPdu, acts: &mut Vec<Input>) {
        let named = [
            (PointerXFlags::BUTTON1, BACK),
            (PointerXFlags::BUTTON2, FORWARD),
        ];
        let bits = bits(&named, |flag| event.flags.contains(flag));
        let down = event.flags.contains(PointerXFlags::DOWN);
        self.press(bits, down, place(event.x_position, event.y_position), acts);
    }

    /// A move from where the pointer is, or a button there.
    pub(super) fn relative(&mut self, event: MouseRelPdu, acts: &mut Vec<Input>) {
        let from = self.at.unwrap_or(Point { x: 0, y: 0 });
        let at = Point {
            x: from.x.saturating_add(event.x_delta.into()),
            y: from.y.saturating_add(event.y_delta.into()),
        };
        // No screen goes on beyond.
        let on_screen = |side: i32| side.clamp(0, u16::MAX.into());
        let at = Point {
            x: on_screen(at.x),
            y: on_screen(at.y),
        };
        let named = [
            (PointerRelFlags::BUTTON1, LEFT),
            (PointerRelFlags::BUTTON2, RIGHT),
            (PointerRelFlags::BUTTON3, MIDDLE),
            (PointerRelFlags::XBUTTON1, BACK),
            (PointerRelFlags::XBUTTON2, FORWARD),
        ];
        let bits = bits(&named, |flag| event.flags.contains(flag));
        self.press(bits, event.flags.contains(PointerRelFlags::DOWN), at, acts);
    }

    fn press(&mut self, bits: u16, down: bool, at: Point, acts: &mut Vec<Input>) {
        self.at = Some(at);
        match down {
            true => self.buttons |= bits,
            false => self.buttons &= !bits,
        }
        acts.push(pointer(at, self.buttons));
    }

    /// A step is a button that goes down and up again.
    fn turn(&self, steps: i16, positive: u16, negative: u16, at: Point, acts: &mut Vec<Input>) {
        let at = self.at.unwrap_or(at);
        let bit = match steps > 0 {
            true => positive,
            false => negative,
        };
        for _ in 0..steps.unsigned_abs() {
            acts.push(pointer(at, self.buttons | bit));
            acts.push(pointer(at, self.buttons));
        }
    }
}

/// The buttons that an event names.
fn bits<Flag: Copy>(named: &[(Flag, u16)], names: impl Fn(Flag) -> bool) -> u16 {
    let found = named.iter().filter(|(flag, _)| names(*flag));
    found.fold(0, |bits, (_, bit)| bits | bit)
}

/// The whole steps of a wheel that turned by `turned`; the rest is kept for when it turns on.
fn steps(rest: &mut i16, turned: i16) -> i16 {
    // A wheel that turns back begins anew.
    if (*rest < 0) != (turned < 0) {
        *rest = 0;
    }
    let sum = rest.saturating_add(turned);
    *rest = sum % STEP;
    sum / STEP
}

fn place(x: u16, y: u16) -> Point {
    Point {
        x: x.into(),
        y: y.into(),
    }
}

const fn pointer(at: Point, buttons: u16) -> Input {
    let buttons = Buttons(buttons);
    Input::Pointer(Pointer { at, buttons })
}
