//! Where a key is: the scan codes of a PC keyboard with the American layout.

use capture::input::Keysym;

/// A key's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScanCode {
    /// Its number.
    pub(super) code: u8,
    /// Whether it is one of the keys that were added between the first ones and the number pad.
    pub(super) extended: bool,
}

/// The rows of keys that type, from the leftmost's code on; alone and with Shift.
const ROWS: [(u8, &str, &str); 6] = [
    (0x02, "1234567890-=", "!@#$%^&*()_+"),
    (0x10, "qwertyuiop[]", "QWERTYUIOP{}"),
    (0x1e, "asdfghjkl;'`", "ASDFGHJKL:\"~"),
    (0x2b, "\\", "|"),
    (0x2c, "zxcvbnm,./", "ZXCVBNM<>?"),
    (0x39, " ", ""),
];

impl ScanCode {
    /// A code as RFB's extension for QEMU has it: the upper bit marks the added keys.
    pub(super) fn of_xt(code: u32) -> Option<Self> {
        let [0, 0, 0, code] = code.to_be_bytes() else {
            return None;
        };
        Some(Self {
            code: code & 0x7f,
            extended: code & 0x80 != 0,
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
    pub(super) const fn of_function(keysym: Keysym) -> Option<Self> {
        let (code, extended) = match keysym.0 {
            0xff08 => (0x0e, false),          // BackSpace
            0xff09 | 0xfe20 => (0x0f, false), // Tab, also with Shift
            0xff0d => (0x1c, false),          // Return
            0xff1b => (0x01, false),          // Escape
            0xff14 => (0x46, false),          // Scroll Lock
            0xff61 => (0x37, true),           // Print
            0xff50 => (0x47, true),           // Home
            0xff51 => (0x4b, true),           // Left
            0xff52 => (0x48, true),           // Up
            0xff53 => (0x4d, true),           // Right
            0xff54 => (0x50, true),           // Down
            0xff55 => (0x49, true),           // Page Up
            0xff56 => (0x51, true),           // Page Down
            0xff57 => (0x4f, true),           // End
            0xff63 => (0x52, true),           // Insert
            0xffff => (0x53, true),           // Delete
            0xff67 => (0x5d, true),           // Menu
            0xff7f => (0x45, false),          // Num Lock
            0xffe5 => (0x3a, false),          // Caps Lock
            0xffe1 => (0x2a, false),          // Shift
            0xffe2 => (0x36, false),
            0xffe3 => (0x1d, false), // Control
            0xffe4 => (0x1d, true),
            0xffe7 | 0xffe9 => (0x38, false), // Meta and Alt
            0xffe8 | 0xffea | 0xfe03 | 0xff7e => (0x38, true), // also as the third level's
            0xffeb => (0x5b, true),           // Super
            0xffec => (0x5c, true),
            // F1 to F12
            0xffbe => (0x3b, false),
            0xffbf => (0x3c, false),
            0xffc0 => (0x3d, false),
            0xffc1 => (0x3e, false),
            0xffc2 => (0x3f, false),
            0xffc3 => (0x40, false),
            0xffc4 => (0x41, false),
            0xffc5 => (0x42, false),
            0xffc6 => (0x43, false),
            0xffc7 => (0x44, false),
            0xffc8 => (0x57, false),
            0xffc9 => (0x58, false),
            // The number pad without Num Lock: with it, keys type, and where they do is no matter.
            0xff8d => (0x1c, true),
            0xffaa => (0x37, false),
            0xffab => (0x4e, false),
            0xffad => (0x4a, false),
            0xffaf => (0x35, true),
            0xff95 => (0x47, false),
            0xff97 => (0x48, false),
            0xff9a => (0x49, false),
            0xff96 => (0x4b, false),
            0xff9d => (0x4c, false),
            0xff98 => (0x4d, false),
            0xff9c => (0x4f, false),
            0xff99 => (0x50, false),
            0xff9b => (0x51, false),
            0xff9e => (0x52, false),
            0xff9f => (0x53, false),
            _ => return None,
        };
        Some(Self { code, extended })
    }
}

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
