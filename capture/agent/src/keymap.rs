//! What do the keys of a driver's keyboard type, by the number that Windows gives its layout?
//!
//! An RDP client tells that number and places of keys; what they type is looked up in the layouts
//! of XKB that are installed, and for AltGr in what Windows has there ([`layouts`]).

mod layouts;

use capture::input::Keysym;
use capture_rdp::{Keymap, Levels};
use kbvm::{
    GroupIndex, Keycode, ModifierMask,
    lookup::LookupTable,
    xkb::{
        Context,
        diagnostic::{Diagnostic, DiagnosticHandler, DiagnosticKind},
        rmlvo::Group,
    },
};

use self::layouts::{AltGr, Layout};

/// Why a layout is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeymapError {
    #[error("keyboard layout {id:#010x} is none that is known here")]
    Unknown { id: u32 },
    #[error("keyboard layout {xkb} of XKB cannot be read: is xkb-data installed?")]
    Missing { xkb: &'static str },
}

/// The layout with this number; of a variant that is not known, its language's own.
pub(crate) fn of_layout(id: u32) -> Result<Keymap, KeymapError> {
    let [low, high, ..] = id.to_le_bytes();
    let language = u32::from(u16::from_le_bytes([low, high]));
    let found = layouts::find(id).or_else(|| layouts::find(language));
    let layout = found.ok_or(KeymapError::Unknown { id })?;
    // It is the one that any keyboard has, and needs nothing installed.
    if layout.xkb == "us" && layout.variant.is_empty() {
        return Ok(Keymap::us());
    }
    let table = compile(layout);
    let keys = layouts::keys().filter_map(|(place, name)| {
        let key = Key {
            place,
            name,
            table: &table,
        };
        Some((place, key.levels(layout)?))
    });
    let keys: Vec<(u8, Levels)> = keys.collect();
    // Some keys are on every keyboard, even on one of a layout that there is not; letters are not.
    match keys.iter().any(|(place, _)| *place == layouts::A) {
        true => Ok(Keymap::new(keys)),
        false => Err(KeymapError::Missing { xkb: layout.xkb }),
    }
}

/// What XKB has of a layout. What is wrong with its files is for others to find.
fn compile(layout: &Layout) -> LookupTable {
    let mut context = Context::builder();
    // Where files are must not depend on who starts the recorder.
    context.enable_environment(false);
    let names: Vec<Group<'_>> =
        Group::from_layouts_and_variants(layout.xkb, layout.variant).collect();
    let keymap = context.build().keymap_from_names(
        Ignored,
        Some("evdev"),
        Some("pc105"),
        Some(&names),
        Some(&[]),
    );
    keymap.to_builder().build_lookup_table()
}

/// Takes no note of what is wrong with a layout.
struct Ignored;

impl DiagnosticHandler for Ignored {
    fn filter(&self, _: DiagnosticKind, _: bool) -> bool {
        false
    }

    fn handle(&mut self, _: Diagnostic) {}
}

/// A key that types, by its place and by what it types in America.
struct Key<'a> {
    place: u8,
    name: char,
    table: &'a LookupTable,
}

impl Key<'_> {
    /// What it types, if it types anything.
    fn levels(&self, layout: &Layout) -> Option<Levels> {
        // The number pad's point is one with Num Lock; no other key has to do with that.
        let alone = self.xkb(ModifierMask::NUM_LOCK);
        let shifted = match self.place {
            layouts::POINT => Keysym(0),
            _ => self.xkb(ModifierMask::SHIFT),
        };
        let (third, fourth) = match layout.alt_gr {
            AltGr::Types(third, fourth) => (self.in_pairs(third), self.in_pairs(fourth)),
            AltGr::AsInXkb => self.xkb_alt_gr(alone, shifted),
        };
        let is = |keysym: Keysym, case: fn(char) -> bool| keysym.char().is_some_and(case);
        let letter = is(alone, char::is_lowercase) && is(shifted, char::is_uppercase);
        (alone != Keysym(0)).then_some(Levels {
            keysyms: [alone, shifted, third, fourth],
            caps: letter || layout.caps.contains(self.name),
        })
    }

    /// What XKB has on the key with AltGr, without and with Shift.
    fn xkb_alt_gr(&self, alone: Keysym, shifted: Keysym) -> (Keysym, Keysym) {
        /// What is on a key beside Shift in all layouts that do not care, and on no keyboard.
        const BARS: (Keysym, Keysym) = (Keysym(0x7c), Keysym(0xa6));
        let third = self.xkb(ModifierMask::MOD5);
        let fourth = self.xkb(ModifierMask::MOD5 | ModifierMask::SHIFT);
        match (self.place, (third, fourth)) {
            (layouts::BESIDE_SHIFT, BARS) | (layouts::POINT, _) => (Keysym(0), Keysym(0)),
            // A key without these levels types what it does without AltGr.
            (_, both) if both == (alone, shifted) => (Keysym(0), Keysym(0)),
            (_, both) => both,
        }
    }

    /// What XKB has on the key with `modifiers`.
    fn xkb(&self, modifiers: ModifierMask) -> Keysym {
        let code = Keycode::from_evdev(layouts::evdev(self.place));
        let typed = self.table.lookup(GroupIndex(0), modifiers, code);
        let first = typed.into_iter().next();
        Keysym(first.map_or(0, |first| first.keysym().0))
    }

    /// What `pairs` has for the key: its name, then what it types, a dead key as a combining mark.
    fn in_pairs(&self, pairs: &str) -> Keysym {
        let mut rest = pairs.chars();
        while let (Some(name), Some(typed)) = (rest.next(), rest.next()) {
            if name == self.name {
                return layouts::dead(typed).unwrap_or_else(|| Keysym::of(typed));
            }
        }
        Keysym(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of what the key at `place` types on its levels, and whether Caps Lock shifts it.
    fn check(id: u32, place: u8, expected: [&str; 4], caps: bool) {
        let keymap = of_layout(id).unwrap();
        let levels = keymap.levels(place).unwrap();
        let names = levels.keysyms.map(|keysym| match keysym {
            Keysym(0) => String::new(),
            keysym => keysym.name(),
        });
        assert_eq!(names, expected, "{id:#x}, {place:#x}");
        assert_eq!(levels.caps, caps, "{id:#x}, {place:#x}");
    }

    #[test]
    fn a_german_keyboard_types_at_with_alt_gr() {
        check(0x407, 0x10, ["q", "Q", "@", ""], true);
        check(0x407, 0x1f, ["s", "S", "", ""], true);
        check(0x407, 0x15, ["z", "Z", "", ""], true);
        check(0x407, 0x0c, ["ß", "?", "\\", ""], true);
        check(0x407, 0x0d, ["dead_acute", "dead_grave", "", ""], false);
        check(0x407, 0x53, [",", "", "", ""], false);
    }

    #[test]
    fn a_french_keyboard_has_its_letters_and_digits_elsewhere() {
        check(0x40c, 0x10, ["a", "A", "", ""], true);
        check(0x40c, 0x03, ["é", "2", "dead_tilde", ""], true);
        check(0x40c, 0x0b, ["à", "0", "@", ""], true);
        check(0x40c, 0x29, ["²", "~", "", ""], false);
    }

    #[test]
    fn a_british_keyboard_has_pounds_and_accents() {
        check(0x809, 0x04, ["3", "£", "", ""], false);
        check(0x809, 0x12, ["e", "E", "é", "É"], true);
        check(0x809, 0x56, ["\\", "|", "", ""], false);
    }

    #[test]
    fn a_russian_keyboard_types_cyrillic() {
        check(0x419, 0x10, ["й", "Й", "", ""], true);
        check(0x419, 0x35, [".", ",", "", ""], false);
    }

    #[test]
    fn a_brazilian_keyboard_has_its_two_keys_more() {
        check(0x416, 0x27, ["ç", "Ç", "", ""], true);
        check(0x416, 0x73, ["/", "?", "°", ""], false);
        check(0x416, 0x7e, [".", ".", "", ""], false);
    }

    #[test]
    fn a_spanish_tilde_is_dead_and_a_polish_letter_has_two_cases() {
        check(0x40a, 0x05, ["4", "$", "dead_tilde", ""], false);
        check(0x415, 0x1e, ["a", "A", "ą", "Ą"], true);
    }

    #[test]
    fn a_variant_that_is_not_known_is_its_languages_own() {
        assert_eq!(of_layout(0x409).unwrap(), Keymap::us());
        assert_eq!(of_layout(0xf0c1_0407).unwrap(), of_layout(0x407).unwrap());
        assert_ne!(of_layout(0x1_0409).unwrap(), Keymap::us());
    }

    #[test]
    fn a_number_that_means_nothing_is_refused() {
        for id in [0, 0x7777] {
            assert!(matches!(of_layout(id), Err(KeymapError::Unknown { .. })));
        }
    }

    #[test]
    fn every_layout_is_there_and_types() {
        for layout in layouts::all() {
            let keymap = of_layout(layout.id).unwrap();
            let digits = [0x02, 0x0b].map(|place| keymap.levels(place).is_some());
            assert_eq!(digits, [true; 2], "{:#x}", layout.id);
            let AltGr::Types(third, fourth) = layout.alt_gr else {
                continue;
            };
            let pairs = third.chars().chain(fourth.chars()).count();
            assert_eq!(pairs % 2, 0, "{:#x}", layout.id);
            let keys = layouts::keys().filter_map(|(place, _)| keymap.levels(place));
            let typed = keys.flat_map(|levels| levels.keysyms.into_iter().skip(2));
            let typed = typed.filter(|keysym| *keysym != Keysym(0)).count();
            assert_eq!(typed, pairs / 2, "{:#x}", layout.id);
        }
    }
}
