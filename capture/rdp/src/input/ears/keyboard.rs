//! What does a key mean at the moment at which it is pressed?
//!
//! The machine knows, and does not tell: it is found out here as Windows does, by the layout that
//! the driver says it has. There, Control with Alt is AltGr where a key has something to type for
//! it, and the right Alt key is both; what is told then is AltGr alone, since the text is not a
//! command.

use std::collections::{BTreeMap, BTreeSet};

use capture::input::{Key, Keysym};
use ironrdp_pdu::input::fast_path::{KeyboardFlags, SynchronizeFlags};

use crate::{
    input::scan_code::ScanCode,
    keymap::{Keymap, Shifts},
};

const LEFT_SHIFT: u8 = 0x2a;
const RIGHT_SHIFT: u8 = 0x36;
const LEFT_CONTROL: u8 = 0x1d;
const RIGHT_CONTROL: u8 = 0x9d;
const LEFT_ALT: u8 = 0x38;
const RIGHT_ALT: u8 = 0xb8;
const LEFT_SUPER: u8 = 0xdb;
const RIGHT_SUPER: u8 = 0xdc;
const MODIFIERS: [u8; 8] = [
    LEFT_SHIFT,
    RIGHT_SHIFT,
    LEFT_CONTROL,
    RIGHT_CONTROL,
    LEFT_ALT,
    RIGHT_ALT,
    LEFT_SUPER,
    RIGHT_SUPER,
];
const CAPS_LOCK: u8 = 0x3a;
const NUM_LOCK: u8 = 0x45;
const PAUSE: u8 = 0xc6;

/// What a Pause key is called, and the third level's.
const XK_PAUSE: Keysym = Keysym(0xff13);
const XK_ALT_GR: Keysym = Keysym(0xfe03);

/// A driver's keyboard. What it remembers is bounded by the 256 places of keys.
pub(super) struct Keyboard {
    keymap: Keymap,
    caps_lock: bool,
    num_lock: bool,
    /// The modifiers that are down, by their place …
    modifiers: BTreeSet<u8>,
    /// … and those that are told to be: at most as many.
    told: Vec<(Keysym, u8)>,
    /// Other keys that are down, and what they meant when they went down: released, they must not
    /// mean something else.
    held: BTreeMap<u8, Keysym>,
    /// Pause has begun, which is told in two codes.
    pausing: bool,
    /// The first half of a character that is pressed, and of one that is released.
    pressed: Option<u16>,
    released: Option<u16>,
    halves: u64,
}

impl Keyboard {
    pub(super) const fn new(keymap: Keymap) -> Self {
        Self {
            keymap,
            caps_lock: false,
            num_lock: false,
            modifiers: BTreeSet::new(),
            told: Vec::new(),
            held: BTreeMap::new(),
            pausing: false,
            pressed: None,
            released: None,
            halves: 0,
        }
    }

    pub(super) const fn halves(&self) -> u64 {
        self.halves
    }

    /// A key went down or up. What no keyboard sends is nothing to the machine either.
    pub(super) fn key(&mut self, flags: KeyboardFlags, code: u8, keys: &mut Vec<Key>) {
        if flags.contains(KeyboardFlags::EXTENDED1) {
            self.pausing = code == LEFT_CONTROL;
            return;
        }
        let extended = flags.contains(KeyboardFlags::EXTENDED);
        let place = ScanCode { code, extended }.xt();
        let place = match std::mem::take(&mut self.pausing) && place == NUM_LOCK {
            true => PAUSE,
            false => place,
        };
        // Keyboards of old wrapped the added keys in a Shift that nobody pressed.
        let wrapping = extended && matches!(code, LEFT_SHIFT | RIGHT_SHIFT);
        if !(1..0x80).contains(&code) || wrapping {
            return;
        }
        let down = !flags.contains(KeyboardFlags::RELEASE);
        match MODIFIERS.contains(&place) {
            true => self.modifier(place, down, keys),
            false if down => self.press(place, keys),
            false => self.release(place, keys),
        }
    }

    fn modifier(&mut self, place: u8, down: bool, keys: &mut Vec<Key>) {
        let changed = match down {
            true => self.modifiers.insert(place),
            false => self.modifiers.remove(&place),
        };
        if changed {
            let third = self.keymap.has_alt_gr() && self.modifiers.contains(&RIGHT_ALT);
            self.tell_modifiers(third, keys);
        } else if down {
            let repeated = self.told.iter().filter(|(_, told)| *told == place);
            keys.extend(repeated.map(|&(keysym, place)| key(keysym, place, true)));
        }
    }

    fn press(&mut self, place: u8, keys: &mut Vec<Key>) {
        let first = !self.held.contains_key(&place);
        self.caps_lock ^= first && place == CAPS_LOCK;
        self.num_lock ^= first && place == NUM_LOCK;
        let (keysym, third) = self.meaning(place);
        self.tell_modifiers(third, keys);
        // A key that repeats can come to mean another.
        let before = self.held.insert(place, keysym);
        let other = before.filter(|before| *before != keysym);
        keys.extend(other.map(|before| key(before, place, false)));
        keys.push(key(keysym, place, true));
    }

    fn release(&mut self, place: u8, keys: &mut Vec<Key>) {
        let held = self.held.remove(&place);
        let keysym = held.unwrap_or_else(|| self.meaning(place).0);
        keys.push(key(keysym, place, false));
    }

    /// What a key that is pressed now means, and whether that is for the sake of AltGr.
    fn meaning(&self, place: u8) -> (Keysym, bool) {
        let shift = self.is_down(&[LEFT_SHIFT, RIGHT_SHIFT]);
        let shifts = Shifts {
            shift,
            caps_lock: self.caps_lock,
        };
        let Some(code) = ScanCode::of_xt(place.into()) else {
            return (Keysym(0), false);
        };
        let typed = match (self.keymap.levels(place), code.on_pad()) {
            (_, Some(_)) if !self.num_lock || shift => None,
            (None, Some(typed)) => return (typed, false),
            (levels, _) => levels,
        };
        match typed {
            Some(levels) => match levels.third(shifts).filter(|_| self.chooses_third()) {
                Some(third) => (third, true),
                None => (levels.first(shifts), false),
            },
            None if place == PAUSE => (XK_PAUSE, false),
            None => (code.function().unwrap_or(Keysym(0)), false),
        }
    }

    fn chooses_third(&self) -> bool {
        let control = self.is_down(&[LEFT_CONTROL, RIGHT_CONTROL]);
        let both = control && self.modifiers.contains(&LEFT_ALT);
        self.keymap.has_alt_gr() && (both || self.modifiers.contains(&RIGHT_ALT))
    }

    fn is_down(&self, either: &[u8]) -> bool {
        either.iter().any(|place| self.modifiers.contains(place))
    }

    /// Tells the modifiers that are down, Control and Alt as AltGr where they are that.
    fn tell_modifiers(&mut self, third: bool, keys: &mut Vec<Key>) {
        let named = |place: &u8| {
            let code = ScanCode::of_xt((*place).into())?;
            Some((code.function()?, *place))
        };
        let command =
            |place: &u8| matches!(*place, LEFT_CONTROL | RIGHT_CONTROL | LEFT_ALT | RIGHT_ALT);
        let mut wanted: Vec<(Keysym, u8)> = match third {
            true => {
                let others = self.modifiers.iter().filter(|place| !command(place));
                let others = others.filter_map(named);
                others.chain([(XK_ALT_GR, RIGHT_ALT)]).collect()
            }
            false => self.modifiers.iter().filter_map(named).collect(),
        };
        // Where there is an AltGr key, it is Control and Alt for keys that have no third level.
        let alone = !self.is_down(&[LEFT_CONTROL, RIGHT_CONTROL]);
        if !third && alone && self.chooses_third() {
            wanted.extend(named(&LEFT_CONTROL));
        }
        let up = self.told.iter().filter(|it| !wanted.contains(it));
        keys.extend(up.map(|&(keysym, place)| key(keysym, place, false)));
        let down = wanted.iter().filter(|it| !self.told.contains(it));
        keys.extend(down.map(|&(keysym, place)| key(keysym, place, true)));
        self.told = wanted;
    }

    /// All keys are up, and the locks as `locks` says (section 2.2.8.1.1.3.1.1.5).
    pub(super) fn synchronize(&mut self, locks: SynchronizeFlags, keys: &mut Vec<Key>) {
        let held = std::mem::take(&mut self.held);
        keys.extend(
            held.into_iter()
                .map(|(place, keysym)| key(keysym, place, false)),
        );
        self.modifiers.clear();
        self.tell_modifiers(false, keys);
        self.pausing = false;
        self.caps_lock = locks.contains(SynchronizeFlags::CAPS_LOCK);
        self.num_lock = locks.contains(SynchronizeFlags::NUM_LOCK);
    }

    /// Text that comes without a key, in UTF-16: a character outside its first plane in two halves.
    pub(super) fn unicode(&mut self, unit: u16, down: bool, keys: &mut Vec<Key>) {
        let half = match down {
            true => &mut self.pressed,
            false => &mut self.released,
        };
        let before = half.take();
        if (0xd800..0xdc00).contains(&unit) {
            *half = Some(unit);
            self.halves = self.halves.saturating_add(before.is_some().into());
            return;
        }
        for typed in char::decode_utf16(before.into_iter().chain([unit])) {
            match typed {
                Ok(typed) => keys.push(Key {
                    keysym: Keysym::of(typed),
                    down,
                    scan_code: None,
                }),
                Err(_) => self.halves = self.halves.saturating_add(1),
            }
        }
    }
}

fn key(keysym: Keysym, place: u8, down: bool) -> Key {
    Key {
        keysym,
        down,
        scan_code: Some(place.into()),
    }
}
