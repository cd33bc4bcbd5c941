//! What do the keys of a keyboard type? A table by their place, for each of its four levels.

use std::collections::BTreeMap;

use capture::input::Keysym;

use crate::input::american;

/// A keyboard's layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    keys: BTreeMap<u8, Levels>,
    third: bool,
}

/// What one key types. A keysym of zero is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Alone, with Shift, with AltGr, with both. A dead key has the keysym that says so.
    pub keysyms: [Keysym; 4],
    /// Whether Caps Lock does to it what Shift does, as to most letters.
    pub caps: bool,
}

impl Keymap {
    /// The layout of the keys that type. Each is named by its place as an XT scan code: set 1, with
    /// the upper bit for the keys that an `E0` announces. Keys that are left out and type nothing,
    /// and those of the number pad, do what they do on every keyboard.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = (u8, Levels)>) -> Self {
        let keys: BTreeMap<u8, Levels> = keys.into_iter().collect();
        let third = keys.values().any(Levels::has_third);
        Self { keys, third }
    }

    /// The American layout.
    #[must_use]
    pub fn us() -> Self {
        Self::new(american().map(|(place, alone, shifted)| {
            let levels = Levels {
                keysyms: [Keysym::of(alone), Keysym::of(shifted), Keysym(0), Keysym(0)],
                caps: alone.is_alphabetic(),
            };
            (place, levels)
        }))
    }

    /// Whether the right Alt key is AltGr, and Control with Alt as good as it.
    #[must_use]
    pub const fn has_alt_gr(&self) -> bool {
        self.third
    }

    /// What the key at a place types on its four levels, if it types.
    #[must_use]
    pub fn levels(&self, place: u8) -> Option<&Levels> {
        self.keys.get(&place)
    }
}

/// What shifts the levels of a key.
#[derive(Clone, Copy)]
pub(crate) struct Shifts {
    pub(crate) shift: bool,
    pub(crate) caps_lock: bool,
}

impl Levels {
    fn has_third(&self) -> bool {
        let [_, _, third, fourth] = self.keysyms;
        third != Keysym(0) || fourth != Keysym(0)
    }

    /// What it types without AltGr.
    pub(crate) fn first(&self, shifts: Shifts) -> Keysym {
        let [alone, shifted, ..] = self.keysyms;
        let upper = shifts.shift != (shifts.caps_lock && self.caps);
        match upper && shifted != Keysym(0) {
            true => shifted,
            false => alone,
        }
    }

    /// What it types with AltGr, if anything.
    pub(crate) fn third(&self, shifts: Shifts) -> Option<Keysym> {
        let [.., alone, shifted] = self.keysyms;
        let caps = shifts.caps_lock && are_cases(alone, shifted);
        let chosen = match shifts.shift != caps {
            true => shifted,
            false => alone,
        };
        (chosen != Keysym(0)).then_some(chosen)
    }
}

/// Whether these are one letter, small and large.
fn are_cases(lower: Keysym, upper: Keysym) -> bool {
    let (Some(lower), Some(upper)) = (lower.char(), upper.char()) else {
        return false;
    };
    lower != upper && lower.to_uppercase().eq([upper])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Shifts = Shifts {
        shift: false,
        caps_lock: false,
    };
    const SHIFT: Shifts = Shifts {
        shift: true,
        ..ALONE
    };
    const CAPS: Shifts = Shifts {
        caps_lock: true,
        ..ALONE
    };
    const BOTH: Shifts = Shifts {
        shift: true,
        caps_lock: true,
    };

    #[test]
    fn caps_lock_shifts_letters_and_shift_takes_it_back() {
        let us = Keymap::us();
        let typed = |place, shifts| us.levels(place).unwrap().first(shifts).char().unwrap();
        let row = |shifts| [0x1e, 0x02, 0x39].map(|place| typed(place, shifts));
        assert_eq!(row(ALONE), ['a', '1', ' ']);
        assert_eq!(row(SHIFT), ['A', '!', ' ']);
        assert_eq!(row(CAPS), ['A', '1', ' ']);
        assert_eq!(row(BOTH), ['a', '!', ' ']);
        assert!(!us.has_alt_gr());
    }

    #[test]
    fn caps_lock_shifts_the_third_level_where_it_has_letters() {
        let letters = Levels {
            keysyms: ['a', 'A', 'á', 'Á'].map(Keysym::of),
            caps: true,
        };
        assert_eq!(letters.third(CAPS), Some(Keysym::of('Á')));
        assert_eq!(letters.third(BOTH), Some(Keysym::of('á')));
        let signs = Levels {
            keysyms: ['2', '"', '²', '½'].map(Keysym::of),
            caps: false,
        };
        assert_eq!(signs.third(CAPS), Some(Keysym::of('²')));
        assert!(Keymap::new([(0x03, signs)]).has_alt_gr());
    }

    #[test]
    fn a_level_that_types_nothing_is_no_shifted_one() {
        let key = Levels {
            keysyms: [Keysym::of('a'), Keysym(0), Keysym(0), Keysym::of('b')],
            caps: false,
        };
        assert_eq!(key.first(SHIFT), Keysym::of('a'));
        assert_eq!(key.third(ALONE), None);
        assert_eq!(key.third(SHIFT), Some(Keysym::of('b')));
    }
}
