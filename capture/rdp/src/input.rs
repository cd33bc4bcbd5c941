//! Operating the machine (MS-RDPBCGR section 2.2.8.1): keys by their place on the keyboard or by
//! what they type, the pointer, its buttons and its wheel.

mod ears;
mod scan_code;

pub use self::ears::{Ears, InputError};
pub(crate) use self::scan_code::american;

use capture::input::{Button, Buttons, Input, Key, Keysym, Modifier, Pointer};
use ironrdp_pdu::input::{
    InputEvent, MousePdu, MouseXPdu, ScanCodePdu, SyncPdu, UnicodePdu,
    fast_path::{FastPathInputEvent as Event, KeyboardFlags, SynchronizeFlags},
    mouse::PointerFlags,
    mouse_x::PointerXFlags,
    scan_code::KeyboardFlags as LongFlags,
    unicode::KeyboardFlags as UnicodeFlags,
};

use self::scan_code::ScanCode;

/// What a step of a wheel is, in the protocol's units.
const STEP: i16 = 120;

/// Keys that are remembered as down, so that each is released as it was pressed. Hands have ten
/// fingers; what a driver holds beyond this is released by what it would be pressed as.
const HELD: usize = 64;

/// What is held down.
#[derive(Clone, Default)]
pub(crate) struct Hands {
    buttons: Buttons,
    at: Option<(u16, u16)>,
    held: Vec<(Keysym, Stroke)>,
}

/// How a key is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stroke {
    /// By its place.
    Place(ScanCode),
    /// By the character it types.
    Character(char),
}

impl Hands {
    /// The events that `act` is told in. A clipboard has none.
    pub(crate) fn events(&mut self, act: &Input) -> Vec<Event> {
        match act {
            Input::Key(key) => self.key(*key),
            Input::Pointer(pointer) => self.pointer(*pointer),
            Input::Clipboard(_) => Vec::new(),
        }
    }

    fn key(&mut self, key: Key) -> Vec<Event> {
        let before = self.held.iter().position(|(held, _)| *held == key.keysym);
        let stroke = match before {
            Some(place) if !key.down => Some(self.held.swap_remove(place).1),
            Some(place) => self.held.get(place).map(|(_, stroke)| *stroke),
            None => self.stroke(key),
        };
        let Some(stroke) = stroke else {
            return Vec::new();
        };
        if key.down && before.is_none() && self.held.len() < HELD {
            self.held.push((key.keysym, stroke));
        }
        let up = match key.down {
            true => KeyboardFlags::empty(),
            false => KeyboardFlags::RELEASE,
        };
        match stroke {
            Stroke::Place(ScanCode { code, extended }) => {
                let extended = match extended {
                    true => KeyboardFlags::EXTENDED,
                    false => KeyboardFlags::empty(),
                };
                vec![Event::KeyboardEvent(up | extended, code)]
            }
            Stroke::Character(typed) => {
                let units = typed.encode_utf16(&mut [0; 2]).to_vec();
                let told = units.into_iter();
                told.map(|unit| Event::UnicodeKeyboardEvent(up, unit))
                    .collect()
            }
        }
    }

    /// A character that the keys held would make of its place goes by its place, so that programs
    /// that look at places see one; any other by itself, whatever keyboard the server believes in.
    fn stroke(&self, key: Key) -> Option<Stroke> {
        if let Some(place) = key.scan_code.and_then(ScanCode::of_xt) {
            return Some(Stroke::Place(place));
        }
        if let Some(place) = ScanCode::of_function(key.keysym) {
            return Some(Stroke::Place(place));
        }
        let typed = key.keysym.char()?;
        let held = |wanted| {
            self.held
                .iter()
                .any(|(held, _)| held.modifier() == Some(wanted))
        };
        let command = [Modifier::Control, Modifier::Alt, Modifier::Super]
            .into_iter()
            .any(held);
        match ScanCode::of_character(typed) {
            Some((place, shifted)) if command || shifted == held(Modifier::Shift) => {
                Some(Stroke::Place(place))
            }
            _ => Some(Stroke::Character(typed)),
        }
    }

    fn pointer(&mut self, pointer: Pointer) -> Vec<Event> {
        let side = |at: i32| u16::try_from(at.max(0)).unwrap_or(u16::MAX);
        let at = (side(pointer.at.x), side(pointer.at.y));
        let before = std::mem::replace(&mut self.buttons, pointer.buttons);
        let mut events = Vec::new();
        if self.at.replace(at) != Some(at) {
            events.push(mouse(PointerFlags::MOVE, at, 0));
        }
        let released = before.pressed_since(pointer.buttons);
        events.extend(released.filter_map(|button| turn(button, at, false)));
        let pressed = pointer.buttons.pressed_since(before);
        events.extend(pressed.filter_map(|button| turn(button, at, true)));
        events
    }
}

/// Whether it tells what is typed instead of which key.
pub(crate) const fn is_unicode(event: &Event) -> bool {
    matches!(event, Event::UnicodeKeyboardEvent(..))
}

/// The event in the form for servers that do not know the short one.
pub(crate) fn long_form(event: Event) -> Option<InputEvent> {
    Some(match event {
        Event::KeyboardEvent(flags, code) => {
            let mut long = LongFlags::empty();
            long.set(LongFlags::EXTENDED, flags.contains(KeyboardFlags::EXTENDED));
            long.set(LongFlags::RELEASE, flags.contains(KeyboardFlags::RELEASE));
            InputEvent::ScanCode(ScanCodePdu {
                flags: long,
                key_code: u16::from(code),
            })
        }
        Event::UnicodeKeyboardEvent(flags, unicode_code) => InputEvent::Unicode(UnicodePdu {
            flags: match flags.contains(KeyboardFlags::RELEASE) {
                true => UnicodeFlags::RELEASE,
                false => UnicodeFlags::empty(),
            },
            unicode_code,
        }),
        Event::MouseEvent(mouse) => InputEvent::Mouse(mouse),
        Event::MouseEventEx(mouse) => InputEvent::MouseX(mouse),
        Event::MouseEventRel(_) | Event::QoeEvent(_) | Event::SyncEvent(_) => return None,
    })
}

/// The event in the short form; none for what is none.
fn short_form(event: &InputEvent) -> Option<Event> {
    Some(match event {
        InputEvent::ScanCode(ScanCodePdu { flags, key_code }) => {
            let mut short = KeyboardFlags::empty();
            for (is, flag) in [
                (LongFlags::RELEASE, KeyboardFlags::RELEASE),
                (LongFlags::EXTENDED, KeyboardFlags::EXTENDED),
                (LongFlags::EXTENDED_1, KeyboardFlags::EXTENDED1),
            ] {
                short.set(flag, flags.contains(is));
            }
            Event::KeyboardEvent(short, u8::try_from(*key_code).ok()?)
        }
        InputEvent::Unicode(UnicodePdu {
            flags,
            unicode_code,
        }) => {
            let mut short = KeyboardFlags::empty();
            short.set(
                KeyboardFlags::RELEASE,
                flags.contains(UnicodeFlags::RELEASE),
            );
            Event::UnicodeKeyboardEvent(short, *unicode_code)
        }
        InputEvent::Mouse(mouse) => Event::MouseEvent(*mouse),
        InputEvent::MouseX(mouse) => Event::MouseEventEx(*mouse),
        InputEvent::MouseRel(mouse) => Event::MouseEventRel(*mouse),
        // The flags have the same places in both forms.
        InputEvent::Sync(SyncPdu { flags }) => Event::SyncEvent(
            SynchronizeFlags::from_bits_truncate(u8::try_from(flags.bits() & 0xf).ok()?),
        ),
        InputEvent::Unused(_) => return None,
    })
}

/// A button that goes down or up; a wheel only turns.
fn turn(button: Button, at: (u16, u16), down: bool) -> Option<Event> {
    let press = |flag| match down {
        true => mouse(flag | PointerFlags::DOWN, at, 0),
        false => mouse(flag, at, 0),
    };
    let side = |flag| {
        let flags = match down {
            true => flag | PointerXFlags::DOWN,
            false => flag,
        };
        Event::MouseEventEx(MouseXPdu {
            flags,
            x_position: at.0,
            y_position: at.1,
        })
    };
    Some(match button {
        Button::Left => press(PointerFlags::LEFT_BUTTON),
        Button::Middle => press(PointerFlags::MIDDLE_BUTTON_OR_WHEEL),
        Button::Right => press(PointerFlags::RIGHT_BUTTON),
        Button::Back => side(PointerXFlags::BUTTON1),
        Button::Forward => side(PointerXFlags::BUTTON2),
        Button::Wheel { .. } if !down => return None,
        // Away from the user is up, and positive.
        Button::Wheel { dx: 0, dy } => mouse(
            PointerFlags::VERTICAL_WHEEL,
            at,
            -STEP * i16::from(dy.signum()),
        ),
        Button::Wheel { dx, .. } => mouse(
            PointerFlags::HORIZONTAL_WHEEL,
            at,
            STEP * i16::from(dx.signum()),
        ),
    })
}

const fn mouse(flags: PointerFlags, (x_position, y_position): (u16, u16), turned: i16) -> Event {
    Event::MouseEvent(MousePdu {
        flags,
        number_of_wheel_rotation_units: turned,
        x_position,
        y_position,
    })
}

#[cfg(test)]
mod tests {
    use capture::Point;

    use super::*;

    const UP: KeyboardFlags = KeyboardFlags::RELEASE;
    const DOWN: KeyboardFlags = KeyboardFlags::empty();
    const SHIFT: Keysym = Keysym(0xffe1);
    const CONTROL: Keysym = Keysym(0xffe3);

    fn check(keys: &[(Keysym, bool)], expected: &[Event]) {
        let mut hands = Hands::default();
        let told = keys.iter().flat_map(|&(keysym, down)| {
            let scan_code = None;
            hands.events(&Input::Key(Key {
                keysym,
                down,
                scan_code,
            }))
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn keys_go_by_their_place() {
        let a = Keysym::of('a');
        check(
            &[(a, true), (a, false)],
            &[
                Event::KeyboardEvent(DOWN, 0x1e),
                Event::KeyboardEvent(UP, 0x1e),
            ],
        );
        let left = Keysym(0xff51);
        check(
            &[(left, true)],
            &[Event::KeyboardEvent(KeyboardFlags::EXTENDED, 0x4b)],
        );
    }

    #[test]
    fn a_capital_goes_by_its_place_under_shift_and_else_by_itself() {
        let a = Keysym::of('A');
        check(
            &[(SHIFT, true), (a, true)],
            &[
                Event::KeyboardEvent(DOWN, 0x2a),
                Event::KeyboardEvent(DOWN, 0x1e),
            ],
        );
        check(&[(a, true)], &[Event::UnicodeKeyboardEvent(DOWN, 0x41)]);
    }

    #[test]
    fn a_key_is_released_as_it_was_pressed() {
        let a = Keysym::of('A');
        check(
            &[(a, true), (SHIFT, true), (a, false)],
            &[
                Event::UnicodeKeyboardEvent(DOWN, 0x41),
                Event::KeyboardEvent(DOWN, 0x2a),
                Event::UnicodeKeyboardEvent(UP, 0x41),
            ],
        );
    }

    #[test]
    fn a_command_goes_by_its_place() {
        let c = Keysym::of('C');
        check(
            &[(CONTROL, true), (c, true)],
            &[
                Event::KeyboardEvent(DOWN, 0x1d),
                Event::KeyboardEvent(DOWN, 0x2e),
            ],
        );
    }

    #[test]
    fn what_no_key_types_goes_in_utf_16() {
        check(
            &[(Keysym::of('😀'), true)],
            &[
                Event::UnicodeKeyboardEvent(DOWN, 0xd83d),
                Event::UnicodeKeyboardEvent(DOWN, 0xde00),
            ],
        );
    }

    #[test]
    fn a_click_is_a_move_a_press_and_a_release() {
        let mut hands = Hands::default();
        let at = Point { x: 7, y: -3 };
        let told = [0b001, 0].map(|buttons| {
            let buttons = Buttons(buttons);
            hands.events(&Input::Pointer(Pointer { at, buttons }))
        });
        let left = PointerFlags::LEFT_BUTTON;
        assert_eq!(
            told.concat(),
            [
                mouse(PointerFlags::MOVE, (7, 0), 0),
                mouse(left | PointerFlags::DOWN, (7, 0), 0),
                mouse(left, (7, 0), 0),
            ]
        );
    }

    #[test]
    fn a_wheel_turns_once_a_step() {
        let mut hands = Hands::default();
        let at = Point { x: 0, y: 0 };
        let told = [0, 0b1000, 0, 0b1_0000].map(|buttons| {
            let buttons = Buttons(buttons);
            hands.events(&Input::Pointer(Pointer { at, buttons })).len()
        });
        assert_eq!(told, [1, 1, 0, 1]);
    }
}
