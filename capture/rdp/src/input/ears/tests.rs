//! What is heard of messages as drivers send them.

mod properties;

use capture::{
    Point,
    input::{Button, Input, Key, Keysym, Pointer},
};
use ironrdp_core::encode_vec;
use ironrdp_pdu::input::{
    InputEvent, MousePdu, MouseRelPdu, MouseXPdu,
    fast_path::{FastPathInput, FastPathInputEvent as Event, KeyboardFlags, SynchronizeFlags},
    mouse::PointerFlags,
    mouse_rel::PointerRelFlags,
    mouse_x::PointerXFlags,
};

use super::{super::long_form, Ears, InputError};
use crate::keymap::{Keymap, Levels};

const SHIFT: u8 = 0x2a;
const CONTROL: u8 = 0x1d;
const ALT: u8 = 0x38;
const ALT_GR: u8 = 0xb8;
const CAPS: u8 = 0x3a;
const NUM: u8 = 0x45;
const Q: u8 = 0x10;
const A: u8 = 0x1e;
const PAD_7: u8 = 0x47;

/// Enough of the German layout.
fn german() -> Keymap {
    let levels = |typed: [Option<char>; 4], caps| Levels {
        keysyms: typed.map(|typed| typed.map_or(Keysym(0), Keysym::of)),
        caps,
    };
    Keymap::new([
        (Q, levels([Some('q'), Some('Q'), Some('@'), None], true)),
        (A, levels([Some('a'), Some('A'), None, None], true)),
        (0x03, levels([Some('2'), Some('"'), Some('²'), None], false)),
        (0x53, levels([Some(','), None, None, None], false)),
        (
            0x0d,
            Levels {
                keysyms: [Keysym(0xfe51), Keysym(0xfe50), Keysym(0), Keysym(0)],
                caps: false,
            },
        ),
    ])
}

fn told(ears: &mut Ears, events: &[Event]) -> Vec<Input> {
    let message = FastPathInput::new(events.to_vec()).unwrap();
    ears.fast_path(&encode_vec(&message).unwrap()).unwrap()
}

/// A key that goes down (`+`) or up (`-`), by its XT code.
fn key(sign: char, place: u8) -> Event {
    let mut flags = KeyboardFlags::empty();
    flags.set(KeyboardFlags::RELEASE, sign == '-');
    flags.set(KeyboardFlags::EXTENDED, place & 0x80 != 0);
    Event::KeyboardEvent(flags, place & 0x7f)
}

fn names(acts: &[Input]) -> String {
    let keys = acts.iter().map(|act| match act {
        Input::Key(key) => format!("{}{}", if key.down { '+' } else { '-' }, key.keysym.name()),
        other => panic!("{other:?} is no key"),
    });
    keys.collect::<Vec<_>>().join(" ")
}

fn check_on(keymap: Keymap, keys: &[(char, u8)], expected: &str) {
    let mut ears = Ears::new(keymap);
    let events: Vec<Event> = keys.iter().map(|&(sign, place)| key(sign, place)).collect();
    assert_eq!(names(&told(&mut ears, &events)), expected);
}

fn check(keys: &[(char, u8)], expected: &str) {
    check_on(Keymap::us(), keys, expected);
}

fn check_german(keys: &[(char, u8)], expected: &str) {
    check_on(german(), keys, expected);
}

#[test]
fn letters_are_what_shift_makes_of_them() {
    check(&[('+', A), ('-', A)], "+a -a");
    check(
        &[('+', SHIFT), ('+', A), ('-', A), ('-', SHIFT)],
        "+Shift_L +A -A -Shift_L",
    );
}

#[test]
fn a_key_is_released_as_it_was_pressed() {
    check(
        &[('+', SHIFT), ('+', A), ('-', SHIFT), ('-', A)],
        "+Shift_L +A -Shift_L -A",
    );
}

#[test]
fn what_repeats_goes_down_again() {
    check(&[('+', A), ('+', A), ('-', A)], "+a +a -a");
    check(&[('+', SHIFT), ('+', SHIFT)], "+Shift_L +Shift_L");
    check(&[('+', A), ('+', SHIFT), ('+', A)], "+a +Shift_L -a +A");
}

#[test]
fn caps_lock_makes_capitals_until_it_is_pressed_again() {
    let lock = [('+', CAPS), ('-', CAPS)];
    let typed = [('+', A), ('-', A), ('+', 0x02), ('-', 0x02)];
    check(
        &[&lock[..], &typed, &lock, &typed].concat(),
        "+Caps_Lock -Caps_Lock +A -A +1 -1 +Caps_Lock -Caps_Lock +a -a +1 -1",
    );
    // A lock that repeats is pressed once.
    check(
        &[('+', CAPS), ('+', CAPS), ('+', A)],
        "+Caps_Lock +Caps_Lock +A",
    );
}

#[test]
fn the_number_pad_types_with_num_lock_and_without_shift() {
    let pad = [('+', PAD_7), ('-', PAD_7)];
    let locked = [&[('+', NUM), ('-', NUM)][..], &pad].concat();
    check(&pad, "+KP_Home -KP_Home");
    check(&locked, "+Num_Lock -Num_Lock +7 -7");
    check(
        &[&locked[..], &[('+', SHIFT)], &pad].concat(),
        "+Num_Lock -Num_Lock +7 -7 +Shift_L +KP_Home -KP_Home",
    );
    check(&[('+', NUM), ('+', 0x53), ('+', 0xb5)], "+Num_Lock +. +/");
    check_german(&[('+', NUM), ('+', 0x53)], "+Num_Lock +,");
    check(&[('+', 0xc7)], "+Home");
}

#[test]
fn alt_gr_types_and_is_no_command() {
    check_german(
        &[('+', ALT_GR), ('+', Q), ('-', Q), ('-', ALT_GR)],
        "+ISO_Level3_Shift +@ -@ -ISO_Level3_Shift",
    );
}

#[test]
fn the_control_key_that_windows_presses_with_alt_gr_is_not_told() {
    check_german(
        &[
            ('+', CONTROL),
            ('+', ALT_GR),
            ('+', Q),
            ('-', Q),
            ('-', CONTROL),
            ('-', ALT_GR),
        ],
        "+Control_L -Control_L +ISO_Level3_Shift +@ -@ -ISO_Level3_Shift",
    );
}

#[test]
fn control_with_alt_is_alt_gr_where_that_types() {
    check_german(
        &[
            ('+', CONTROL),
            ('+', ALT),
            ('+', Q),
            ('-', Q),
            ('+', A),
            ('-', ALT),
        ],
        "+Control_L +Alt_L -Control_L -Alt_L +ISO_Level3_Shift +@ -@ \
         -ISO_Level3_Shift +Control_L +Alt_L +a -Alt_L",
    );
    check(
        &[('+', CONTROL), ('+', ALT), ('+', Q)],
        "+Control_L +Alt_L +q",
    );
}

#[test]
fn alt_gr_is_a_command_where_it_types_nothing() {
    check_german(
        &[('+', ALT_GR), ('+', A), ('-', A), ('-', ALT_GR)],
        "+ISO_Level3_Shift -ISO_Level3_Shift +Alt_R +Control_L +a -a -Alt_R -Control_L",
    );
    check(&[('+', ALT_GR), ('+', A)], "+Alt_R +a");
}

#[test]
fn dead_keys_are_told_as_such() {
    check_german(&[('+', 0x0d), ('+', A)], "+dead_acute +a");
}

#[test]
fn pause_is_one_key_told_in_two_codes() {
    let mut ears = Ears::new(Keymap::us());
    let first = |flags| Event::KeyboardEvent(KeyboardFlags::EXTENDED1 | flags, CONTROL);
    let acts = told(
        &mut ears,
        &[
            first(KeyboardFlags::empty()),
            key('+', NUM),
            first(KeyboardFlags::RELEASE),
            key('-', NUM),
            key('+', PAD_7),
        ],
    );
    assert_eq!(names(&acts), "+Pause -Pause +KP_Home");
}

#[test]
fn what_no_keyboard_sends_is_not_told() {
    check(&[('+', 0), ('+', 0xaa), ('-', 0xb6), ('+', A)], "+a");
    let mut ears = Ears::new(Keymap::us());
    let unknown = Event::KeyboardEvent(KeyboardFlags::empty(), 0xff);
    assert_eq!(told(&mut ears, &[unknown]), []);
}

#[test]
fn a_place_without_a_meaning_keeps_its_number() {
    let mut ears = Ears::new(Keymap::us());
    let acts = told(&mut ears, &[key('+', 0xfd)]);
    let Input::Key(Key {
        keysym, scan_code, ..
    }) = acts[0]
    else {
        panic!("no key");
    };
    assert_eq!((keysym, scan_code), (Keysym(0), Some(0xfd)));
}

#[test]
fn synchronising_lets_go_of_all_keys_and_sets_the_locks() {
    let mut ears = Ears::new(Keymap::us());
    let locks = SynchronizeFlags::CAPS_LOCK | SynchronizeFlags::NUM_LOCK;
    let acts = told(
        &mut ears,
        &[
            key('+', SHIFT),
            key('+', A),
            Event::SyncEvent(locks),
            key('+', A),
            key('+', PAD_7),
        ],
    );
    assert_eq!(names(&acts), "+Shift_L +A -A -Shift_L +A +7");
}

fn check_text(units: &[(char, u16)], expected: &str, halves: u64) {
    let mut ears = Ears::new(Keymap::us());
    let events: Vec<Event> = units
        .iter()
        .map(|&(sign, unit)| {
            let mut flags = KeyboardFlags::empty();
            flags.set(KeyboardFlags::RELEASE, sign == '-');
            Event::UnicodeKeyboardEvent(flags, unit)
        })
        .collect();
    assert_eq!(names(&told(&mut ears, &events)), expected);
    assert_eq!(ears.halves(), halves);
}

#[test]
fn text_without_keys_is_what_it_is() {
    check_text(&[('+', 0xe9), ('-', 0xe9)], "+é -é", 0);
    check_text(&[('+', 0x416), ('-', 0x416)], "+Ж -Ж", 0);
    check_text(&[('+', 0x0d), ('-', 0x0d)], "+Return -Return", 0);
}

#[test]
fn a_character_in_halves_is_put_together_in_any_order() {
    let (high, low) = (0xd83d, 0xde00);
    check_text(
        &[('+', high), ('+', low), ('-', high), ('-', low)],
        "+😀 -😀",
        0,
    );
    check_text(
        &[('+', high), ('-', high), ('+', low), ('-', low)],
        "+😀 -😀",
        0,
    );
}

#[test]
fn half_a_character_is_left_out_and_counted() {
    check_text(&[('+', 0xde00), ('+', 0x61)], "+a", 1);
    check_text(&[('+', 0xd83d), ('+', 0x61)], "+a", 1);
    check_text(&[('+', 0xd83d), ('+', 0xd83d), ('+', 0xde00)], "+😀", 1);
}

fn mouse(flags: PointerFlags, turned: i16, x: u16, y: u16) -> Event {
    Event::MouseEvent(MousePdu {
        flags,
        number_of_wheel_rotation_units: turned,
        x_position: x,
        y_position: y,
    })
}

fn check_pointer(events: &[Event], expected: &[(i32, i32, u16)]) {
    let mut ears = Ears::new(Keymap::us());
    let pointers = told(&mut ears, events).into_iter().map(|act| match act {
        Input::Pointer(Pointer { at, buttons }) => (at.x, at.y, buttons.0),
        other => panic!("{other:?} is no pointer"),
    });
    assert_eq!(pointers.collect::<Vec<_>>(), expected);
}

#[test]
fn buttons_are_held_where_they_are_pressed() {
    let left = PointerFlags::LEFT_BUTTON;
    let right = PointerFlags::RIGHT_BUTTON;
    let side = |flags| {
        Event::MouseEventEx(MouseXPdu {
            flags,
            x_position: 9,
            y_position: 9,
        })
    };
    check_pointer(
        &[
            mouse(PointerFlags::MOVE, 0, 5, 6),
            mouse(left | PointerFlags::DOWN, 0, 7, 8),
            mouse(right | PointerFlags::DOWN, 0, 7, 8),
            mouse(PointerFlags::MOVE, 0, 9, 9),
            mouse(left, 0, 9, 9),
            mouse(
                PointerFlags::MIDDLE_BUTTON_OR_WHEEL | PointerFlags::DOWN,
                0,
                9,
                9,
            ),
            side(PointerXFlags::BUTTON1 | PointerXFlags::DOWN),
            side(PointerXFlags::BUTTON2 | PointerXFlags::DOWN),
            side(PointerXFlags::BUTTON1),
        ],
        &[
            (5, 6, 0),
            (7, 8, 0b001),
            (7, 8, 0b101),
            (9, 9, 0b101),
            (9, 9, 0b100),
            (9, 9, 0b110),
            (9, 9, 0b1000_0110),
            (9, 9, 0b1_1000_0110),
            (9, 9, 0b1_0000_0110),
        ],
    );
}

#[test]
fn a_wheel_turns_where_the_pointer_is() {
    let (vertical, horizontal) = (PointerFlags::VERTICAL_WHEEL, PointerFlags::HORIZONTAL_WHEEL);
    let steps = |turn: Event| {
        let mut ears = Ears::new(Keymap::us());
        let acts = told(&mut ears, &[mouse(PointerFlags::MOVE, 0, 3, 4), turn]);
        let pointers = acts.iter().skip(1).map(|act| match act {
            Input::Pointer(Pointer { at, buttons }) => (*at, buttons.iter().next()),
            other => panic!("{other:?} is no pointer"),
        });
        let at = Point { x: 3, y: 4 };
        assert!(pointers.clone().all(|(there, _)| there == at));
        pointers.map(|(_, button)| button).collect::<Vec<_>>()
    };
    let wheel = |dx, dy| Some(Button::Wheel { dx, dy });
    assert_eq!(steps(mouse(vertical, 120, 0, 0)), [wheel(0, -1), None]);
    assert_eq!(steps(mouse(vertical, -120, 0, 0)), [wheel(0, 1), None]);
    assert_eq!(steps(mouse(horizontal, 120, 0, 0)), [wheel(1, 0), None]);
    assert_eq!(steps(mouse(horizontal, -120, 0, 0)), [wheel(-1, 0), None]);
    let twice = [wheel(0, 1), None, wheel(0, 1), None];
    assert_eq!(steps(mouse(vertical, -240, 0, 0)), twice);
}

#[test]
fn parts_of_a_step_add_up_until_the_wheel_turns_back() {
    let turn = |by| mouse(PointerFlags::VERTICAL_WHEEL, by, 0, 0);
    let step = |button| [(1, 2, button), (1, 2, 0)];
    let at = mouse(PointerFlags::MOVE, 0, 1, 2);
    check_pointer(
        &[
            at,
            turn(50),
            turn(50),
            turn(50),
            turn(90),
            turn(-60),
            turn(-60),
        ],
        &[
            &[(1, 2, 0)][..],
            &step(0b1000),
            &step(0b1000),
            &step(0b1_0000),
        ]
        .concat(),
    );
}

#[test]
fn relative_moves_add_up_and_end_at_the_screens_corner() {
    let moved = |flags, x_delta, y_delta| {
        Event::MouseEventRel(MouseRelPdu {
            flags,
            x_delta,
            y_delta,
        })
    };
    check_pointer(
        &[
            mouse(PointerFlags::MOVE, 0, 10, 10),
            moved(PointerRelFlags::MOVE, 5, -3),
            moved(PointerRelFlags::BUTTON1 | PointerRelFlags::DOWN, 0, 0),
            moved(PointerRelFlags::MOVE, -100, 0),
        ],
        &[(10, 10, 0), (15, 7, 0), (15, 7, 1), (0, 7, 1)],
    );
}

fn refused(message: &[u8]) -> Option<InputError> {
    Ears::new(Keymap::us()).fast_path(message).err()
}

#[test]
fn messages_that_cannot_be_read_are_refused() {
    assert_eq!(refused(&[]), Some(InputError::Length));
    assert_eq!(refused(&[0x04]), Some(InputError::Length));
    assert_eq!(refused(&[0x84, 4, 0, 0x1e]), Some(InputError::Encrypted));
    assert_eq!(refused(&[0x44, 4, 0, 0x1e]), Some(InputError::Encrypted));
    assert_eq!(refused(&[0x04, 5, 0, 0x1e]), Some(InputError::Length));
    assert_eq!(refused(&[0x04, 0x80]), Some(InputError::Length));
    assert_eq!(refused(&[0x00, 2]), Some(InputError::Length));
    let (number, of) = (2, 2);
    assert_eq!(
        refused(&[0x08, 4, 0, 0x1e]),
        Some(InputError::Event { number, of })
    );
    let (number, of) = (1, 1);
    assert_eq!(
        refused(&[0x04, 3, 0xe0]),
        Some(InputError::Event { number, of })
    );
    assert_eq!(
        refused(&[0x04, 5, 0, 0x1e, 0]),
        Some(InputError::Trailing { of: 1 })
    );
    assert_eq!(refused(&[0x04, 4, 0, 0x1e]), None);
}

#[test]
fn many_events_are_counted_in_a_byte_of_their_own() {
    let mut ears = Ears::new(Keymap::us());
    let keys = [key('+', A), key('-', A)].repeat(120);
    assert_eq!(told(&mut ears, &keys).len(), 240);
    assert_eq!(refused(&[0x00, 0x80, 4, 0]), None);
}

#[test]
fn the_long_form_says_the_same() {
    let events = [
        key('+', ALT_GR),
        key('+', Q),
        Event::UnicodeKeyboardEvent(KeyboardFlags::RELEASE, 0xe9),
        mouse(PointerFlags::VERTICAL_WHEEL, -120, 0, 0),
        mouse(PointerFlags::LEFT_BUTTON | PointerFlags::DOWN, 0, 1, 2),
    ];
    let long: Vec<InputEvent> = events.iter().cloned().filter_map(long_form).collect();
    let heard = Ears::new(german()).slow_path(&long);
    assert_eq!(heard, told(&mut Ears::new(german()), &events));
    assert_eq!(heard.len(), 6);
}

#[test]
fn a_long_synchronisation_sets_the_locks() {
    let flags = ironrdp_pdu::input::sync::SyncToggleFlags::CAPS_LOCK;
    let locked = InputEvent::Sync(ironrdp_pdu::input::SyncPdu { flags });
    let mut ears = Ears::new(Keymap::us());
    assert_eq!(ears.slow_path(&[locked]), []);
    assert_eq!(names(&told(&mut ears, &[key('+', A)])), "+A");
}
