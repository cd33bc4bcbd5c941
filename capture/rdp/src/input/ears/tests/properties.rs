//! What holds whatever is typed, and whatever is sent.

use std::collections::BTreeSet;

use capture::{
    Point,
    input::{Buttons, Input, Key, Keysym, Pointer},
};
use ironrdp_pdu::input::fast_path::{FastPathInputEvent as Event, SynchronizeFlags};
use proptest::prelude::*;

use super::{german, key, told};
use crate::{
    input::{Ears, Hands},
    keymap::Keymap,
};

/// What both hands and ears know: keys that are tapped, Shift that stays down until it is tapped
/// again, the pointer.
fn acts() -> impl Strategy<Value = Vec<Input>> {
    let typed = any::<char>().prop_filter("types", |typed| !typed.is_control());
    let keysym = prop_oneof![
        typed.prop_map(Keysym::of),
        proptest::char::range(' ', '~').prop_map(Keysym::of),
        (0xffbe_u32..=0xffc9).prop_map(Keysym),
        Just(Keysym(0xffe1)),
        Just(Keysym(0xff0d)),
        Just(Keysym(0xff51)),
    ];
    let buttons = (0_u16..0b1000, 0_u16..4).prop_map(|(low, high)| Buttons(low | high << 7));
    let at = (0_i32..0x1_0000, 0_i32..0x1_0000).prop_map(|(x, y)| Point { x, y });
    let act = prop_oneof![
        3 => keysym.prop_map(Ok),
        1 => (at, buttons).prop_map(|(at, buttons)| Err(Pointer { at, buttons })),
    ];
    prop::collection::vec(act, 1..40).prop_map(|acts| {
        let mut shift = false;
        let act = |act| {
            let key = |keysym, down| {
                Input::Key(Key {
                    keysym,
                    down,
                    scan_code: None,
                })
            };
            match act {
                Ok(Keysym(0xffe1)) => {
                    shift = !shift;
                    vec![key(Keysym(0xffe1), shift)]
                }
                Ok(keysym) => vec![key(keysym, true), key(keysym, false)],
                Err(pointer) => vec![Input::Pointer(pointer)],
            }
        };
        acts.into_iter().flat_map(act).collect()
    })
}

proptest! {
    #[test]
    fn what_hands_do_is_heard(acts in acts()) {
        let mut hands = Hands::default();
        let mut ears = Ears::new(Keymap::us());
        for done in acts {
            let events = hands.events(&done);
            if events.is_empty() {
                continue;
            }
            let heard = told(&mut ears, &events).pop();
            match (done, heard) {
                (Input::Key(done), Some(Input::Key(heard))) => {
                    prop_assert!((done.keysym, done.down) == (heard.keysym, heard.down));
                }
                (done, heard) => prop_assert_eq!(Some(done), heard),
            }
        }
    }

    #[test]
    fn keys_that_are_told_to_come_up_went_down(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        german_layout in any::<bool>(),
    ) {
        let keymap = if german_layout { german() } else { Keymap::us() };
        let mut ears = Ears::new(keymap);
        let mut down = BTreeSet::new();
        for code in bytes {
            let (sign, place) = (if code & 0x40 == 0 { '+' } else { '-' }, code & 0xbf);
            let known = down.contains(&u32::from(place));
            if sign == '-' && !known {
                continue;
            }
            for act in told(&mut ears, &[key(sign, place)]) {
                let Input::Key(key) = act else { continue };
                let place = key.scan_code.unwrap();
                if key.down {
                    down.insert(place);
                } else {
                    prop_assert!(down.remove(&place));
                }
            }
        }
        for act in told(&mut ears, &[Event::SyncEvent(SynchronizeFlags::empty())]) {
            if let Input::Key(key) = act {
                down.remove(&key.scan_code.unwrap());
            }
        }
        prop_assert!(down.is_empty());
    }

    #[test]
    fn a_message_that_is_refused_changes_nothing(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        count in any::<u8>(),
    ) {
        let len = u16::try_from(bytes.len() + 4).unwrap() | 0x8000;
        let [high, low] = len.to_be_bytes();
        let with_header = [&[0, high, low, count][..], &bytes].concat();
        for message in [bytes, with_header] {
            let mut ears = Ears::new(german());
            if ears.fast_path(&message).is_err() {
                let next = [key('+', 0x1e)];
                let expected = told(&mut Ears::new(german()), &next);
                prop_assert_eq!(told(&mut ears, &next), expected);
            }
        }
    }
}
