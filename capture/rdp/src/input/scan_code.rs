//! Where a key is: the scan codes of a PC keyboard with the American layout.

use capture::input::Keysym;

/// A key's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanCode {
    /// Its number.
    pub(super) code: u8,
    /// Whether it is one of the keys that were added between the first ones and the number pad.
    pub(super) extended: bool,
}

/// The rows of keys that type, from the leftmost's code on; alone and with Shift.
const ROWS: [(u8, &str, &str); 7] = [
    (0x02, "1234567890-=", "!@#$%^&*()_+"),
    (0x10, "qwertyuiop[]", "QWERTYUIOP{}"),
    (0x1e, "asdfghjkl;'`", "ASDFGHJKL:\"~"),
    (0x2b, "\\", "|"),
    (0x2c, "zxcvbnm,./", "ZXCVBNM<>?"),
    (0x39, " ", ""),
    // Of keyboards with a key more beside the left Shift.
    (0x56, "\\", "|"),
];

impl ScanCode {
    /// A code as RFB's extension for QEMU has it: the upper bit marks the added keys.
    pub(super) fn of_xt(code: u32) -> Option<Self> {
        let [0, 0, 0, code] = code.to_be_bytes() else {
            return None;
        };
        Some(Self {
            code: code & !EXTENDED,
            extended: code & EXTENDED != 0,
        })
    }

    /// The key that types `typed`, and whether it takes Shift.
    pub(super) fn of_character(typed: char) -> Option<(Self, bool)> {
        let in_row = |first: u8, row: &str| {
            let place = row.chars().position(|key| key == typed)?;
            let code = first.checked_add(u8::try_from(place).ok()?)?;
            Some(Self {
                code,
                extended: false,
            })
        };
        ROWS.iter().find_map(|&(first, alone, shifted)| {
            let alone = in_row(first, alone).map(|code| (code, false));
            alone.or_else(|| in_row(first, shifted).map(|code| (code, true)))
        })
    }

    /// The key that does what `keysym` says and types nothing, and those of the number pad's that
    /// have another place.
    pub(super) fn of_function(keysym: Keysym) -> Option<Self> {
        let found = FUNCTIONS.iter().find(|(_, named)| *named == keysym.0);
        found.and_then(|&(xt, _)| Self::of_xt(xt.into()))
    }

    /// What the key does, if it types nothing; of the number pad's, what they do without Num Lock.
    pub(super) fn function(self) -> Option<Keysym> {
        let found = FUNCTIONS.iter().find(|(xt, _)| *xt == self.xt());
        found.map(|&(_, named)| Keysym(named))
    }

    /// What the key of the number pad types with Num Lock.
    pub(super) fn on_pad(self) -> Option<Keysym> {
        let place = PAD.iter().position(|xt| *xt == self.xt())?;
        let place = u32::try_from(place).ok()?;
        Some(Keysym(POINT.saturating_add(place)))
    }

    /// The code as RFB's extension for QEMU has it.
    pub(super) const fn xt(self) -> u8 {
        match self.extended {
            true => self.code | EXTENDED,
            false => self.code,
        }
    }
}

/// What the keys that type do, alone and with Shift.
pub(crate) fn american() -> impl Iterator<Item = (u8, char, char)> {
    ROWS.iter().flat_map(|&(first, alone, shifted)| {
        let shifted = shifted.chars().map(Some).chain(std::iter::repeat(None));
        let keys = alone.chars().zip(shifted);
        let numbered = (first..).zip(keys);
        numbered.map(|(code, (alone, shifted))| (code, alone, shifted.unwrap_or(alone)))
    })
}

const EXTENDED: u8 = 0x80;

/// The keys of the number pad in the order of what they type: point, slash, then 0 to 9.
const PAD: [u8; 12] = [
    0x53, 0xb5, 0x52, 0x4f, 0x50, 0x51, 0x4b, 0x4c, 0x4d, 0x47, 0x48, 0x49,
];
const POINT: u32 = 0xffae;

/// Keys that type nothing, by their XT code, and what they do; the first that a key does is what
/// it is called.
const FUNCTIONS: &[(u8, u32)] = &[
    (0x0e, 0xff08), // BackSpace
    (0x0f, 0xff09), // Tab
    (0x0f, 0xfe20), // Tab with Shift
    (0x1c, 0xff0d), // Return
    (0x01, 0xff1b), // Escape
    (0x46, 0xff14), // Scroll Lock
    (0x54, 0xff15), // System Request
    (0xb7, 0xff61), // Print
    (0xc7, 0xff50), // Home
    (0xcb, 0xff51), // Left
    (0xc8, 0xff52), // Up
    (0xcd, 0xff53), // Right
    (0xd0, 0xff54), // Down
    (0xc9, 0xff55), // Page Up
    (0xd1, 0xff56), // Page Down
    (0xcf, 0xff57), // End
    (0xd2, 0xff63), // Insert
    (0xd3, 0xffff), // Delete
    (0xdd, 0xff67), // Menu
    (0x45, 0xff7f), // Num Lock
    (0x3a, 0xffe5), // Caps Lock
    (0x2a, 0xffe1), // Shift
    (0x36, 0xffe2),
    (0x1d, 0xffe3), // Control
    (0x9d, 0xffe4),
    (0x38, 0xffe9), // Alt
    (0x38, 0xffe7), // Meta
    (0xb8, 0xffea), // Alt
    (0xb8, 0xffe8), // Meta
    (0xb8, 0xfe03), // the third level's
    (0xb8, 0xff7e),
    (0xdb, 0xffeb), // Super
    (0xdc, 0xffec),
    // F1 to F24
    (0x3b, 0xffbe),
    (0x3c, 0xffbf),
    (0x3d, 0xffc0),
    (0x3e, 0xffc1),
    (0x3f, 0xffc2),
    (0x40, 0xffc3),
    (0x41, 0xffc4),
    (0x42, 0xffc5),
    (0x43, 0xffc6),
    (0x44, 0xffc7),
    (0x57, 0xffc8),
    (0x58, 0xffc9),
    (0x64, 0xffca),
    (0x65, 0xffcb),
    (0x66, 0xffcc),
    (0x67, 0xffcd),
    (0x68, 0xffce),
    (0x69, 0xffcf),
    (0x6a, 0xffd0),
    (0x6b, 0xffd1),
    (0x6c, 0xffd2),
    (0x6d, 0xffd3),
    (0x6e, 0xffd4),
    (0x76, 0xffd5),
    // The number pad without Num Lock: with it, keys type, and where they do is no matter.
    (0x9c, 0xff8d),
    (0x37, 0xffaa),
    (0x4e, 0xffab),
    (0x4a, 0xffad),
    (0xb5, 0xffaf),
    (0x47, 0xff95),
    (0x48, 0xff97),
    (0x49, 0xff9a),
    (0x4b, 0xff96),
    (0x4c, 0xff9d),
    (0x4d, 0xff98),
    (0x4f, 0xff9c),
    (0x50, 0xff99),
    (0x51, 0xff9b),
    (0x52, 0xff9e),
    (0x53, 0xff9f),
    (0x79, 0xff23), // Henkan
    (0x7b, 0xff22), // Muhenkan
    (0x70, 0xff27), // Hiragana, Katakana
    (0xf2, 0xff31), // Hangul
    (0xf1, 0xff34), // Hanja
    // Sound, programs, browser and power
    (0x90, 0x1008_ff16),
    (0x99, 0x1008_ff17),
    (0xa0, 0x1008_ff12),
    (0xa1, 0x1008_ff1d),
    (0xa2, 0x1008_ff14),
    (0xa4, 0x1008_ff15),
    (0xae, 0x1008_ff11),
    (0xb0, 0x1008_ff13),
    (0xb2, 0x1008_ff18),
    (0xde, 0x1008_ff2a),
    (0xdf, 0x1008_ff2f),
    (0xe3, 0x1008_ff2b),
    (0xe5, 0x1008_ff1b),
    (0xe6, 0x1008_ff30),
    (0xe7, 0x1008_ff29),
    (0xe8, 0x1008_ff28),
    (0xe9, 0x1008_ff27),
    (0xea, 0x1008_ff26),
    (0xeb, 0x1008_ff33),
    (0xec, 0x1008_ff19),
    (0xed, 0x1008_ff32),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_where_they_are() {
        for (typed, code, shifted) in [
            ('1', 0x02, false),
            ('+', 0x0d, true),
            ('p', 0x19, false),
            ('~', 0x29, true),
            ('|', 0x2b, true),
            ('/', 0x35, false),
            (' ', 0x39, false),
        ] {
            let found = ScanCode::of_character(typed);
            let place = ScanCode {
                code,
                extended: false,
            };
            assert_eq!(found, Some((place, shifted)), "{typed}");
        }
        assert_eq!(ScanCode::of_character('é'), None);
    }

    #[test]
    fn function_keys_are_in_a_row() {
        for (keysym, code) in [(0xffbe, 0x3b), (0xffc7, 0x44), (0xffc9, 0x58)] {
            let found = ScanCode::of_function(Keysym(keysym));
            assert_eq!(found.map(|found| found.code), Some(code));
        }
    }

    #[test]
    fn the_upper_bit_of_an_xt_code_marks_added_keys() {
        let found = ScanCode::of_xt(0xcb);
        assert_eq!(
            found,
            Some(ScanCode {
                code: 0x4b,
                extended: true
            })
        );
        assert_eq!(ScanCode::of_xt(0x145), None);
    }
}
