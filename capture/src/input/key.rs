//! Keys, named as X11 and RFB name them (RFC 6143 section 7.5.4).

use std::{collections::HashMap, fmt, sync::LazyLock};

use serde::{Deserialize, Serialize};

/// A key that went down or up.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Which.
    pub keysym: Keysym,
    /// Down, or up.
    pub down: bool,
    /// The key's place on the keyboard as an XT scan code, where the source says it.
    pub scan_code: Option<u32>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", if self.down { "down" } else { "up" })
    }
}

/// What a key means: an X11 keysym.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Keysym(pub u32);

/// A key that changes what others mean while it is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modifier {
    /// Either Control key.
    Control,
    /// Either Alt key, or Meta.
    Alt,
    /// Either Shift key.
    Shift,
    /// Either Super, Windows or Command key.
    Super,
    /// The third level of a keyboard: AltGr, ISO level 3 shift, mode switch.
    AltGr,
}

impl Modifier {
    /// The word used in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "Control",
            Self::Alt => "Alt",
            Self::Shift => "Shift",
            Self::Super => "Super",
            Self::AltGr => "AltGr",
        }
    }
}

impl Keysym {
    /// The keysym that types `c`.
    #[must_use]
    pub fn of(c: char) -> Self {
        Self(xkeysym::Keysym::from_char(c).raw())
    }

    /// The character it types; `None` for control keys, which includes Return, Tab, BackSpace,
    /// Delete and Escape. Keys of the number pad type what is printed on them.
    #[must_use]
    pub fn char(self) -> Option<char> {
        let typed = xkeysym::Keysym::new(self.0).key_char()?;
        (!typed.is_control()).then_some(typed)
    }

    /// What it modifies, if it is held for that.
    #[must_use]
    pub const fn modifier(self) -> Option<Modifier> {
        match self.0 {
            0xffe1 | 0xffe2 => Some(Modifier::Shift),
            0xffe3 | 0xffe4 => Some(Modifier::Control),
            0xffe7..=0xffea => Some(Modifier::Alt),
            0xffeb..=0xffee => Some(Modifier::Super),
            0xfe03 | 0xff7e => Some(Modifier::AltGr),
            _ => None,
        }
    }

    /// Its name: the character it types, X11's name without its prefix, or the number.
    #[must_use]
    pub fn name(self) -> String {
        if let Some(typed) = self.char() {
            return typed.to_string();
        }
        match xkeysym::Keysym::new(self.0).name() {
            Some(name) => without_prefix(name),
            None => format!("0x{:x}", self.0),
        }
    }
}

/// Where X11's names with values are: all but the Unicode ones, which have no names, and vendors'
/// own.
const NAMED: [std::ops::RangeInclusive<u32>; 2] = [0x20..=0xffff, 0x1008_0000..=0x1008_ffff];
/// Second names of keys that keyboards have.
const ALIASES: [(&str, u32); 4] = [
    ("Page_Up", 0xff55),
    ("Page_Down", 0xff56),
    ("KP_Page_Up", 0xff9a),
    ("KP_Page_Down", 0xff9b),
];

impl Keysym {
    /// The keysym that X11 calls `name`, without its prefix (`Return`, `Control_L`, `eacute`), or
    /// that types the one character which `name` is.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        static BY_NAME: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
            let all = NAMED.into_iter().flatten().filter_map(|keysym| {
                let name = xkeysym::Keysym::new(keysym).name()?;
                Some((without_prefix(name), keysym))
            });
            let aliases = ALIASES.map(|(name, keysym)| (name.to_owned(), keysym));
            all.chain(aliases).collect()
        });
        let mut characters = name.chars();
        if let (Some(typed), None) = (characters.next(), characters.next()) {
            return Some(Self::of(typed)).filter(|keysym| keysym.char() == Some(typed));
        }
        BY_NAME.get(name).copied().map(Self)
    }
}

/// `Return` of `XK_Return`, `XF86AudioMute` of `XF86XK_AudioMute`.
fn without_prefix(name: &str) -> String {
    name.replacen("XK_", "", 1)
}

impl fmt::Debug for Keysym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keysym(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keysyms_type_latin_cyrillic_and_emoji() {
        for (keysym, typed) in [
            (0x61, 'a'),
            (0xe9, 'é'),
            (0x6c1, 'а'),
            (0x0100_0436, 'ж'),
            (0x0101_f600, '😀'),
            (0x20ac, '€'),
            (0xffb7, '7'),
        ] {
            assert_eq!(Keysym(keysym).char(), Some(typed), "0x{keysym:x}");
        }
        assert_eq!(Keysym::of('€').char(), Some('€'));
        assert_eq!(Keysym::of('😀'), Keysym(0x0101_f600));
    }

    #[test]
    fn control_keys_have_names_and_type_nothing() {
        for (keysym, name) in [
            (0xff0d, "Return"),
            (0xff09, "Tab"),
            (0xff08, "BackSpace"),
            (0xffff, "Delete"),
            (0xff1b, "Escape"),
            (0xffbe, "F1"),
            (0xff52, "Up"),
            (0xffe3, "Control_L"),
        ] {
            assert_eq!(Keysym(keysym).char(), None, "{name}");
            assert_eq!(Keysym(keysym).name(), name);
        }
        assert_eq!(Keysym(0x6000_0000).name(), "0x60000000");
    }

    #[test]
    fn a_key_is_found_by_its_name() {
        for (name, keysym) in [
            ("Return", 0xff0d),
            ("Control_L", 0xffe3),
            ("ISO_Level3_Shift", 0xfe03),
            ("F12", 0xffc9),
            ("Prior", 0xff55),
            ("Page_Up", 0xff55),
            ("space", 0x20),
            ("eacute", 0xe9),
            ("XF86AudioMute", 0x1008_ff12),
            ("a", 0x61),
            ("A", 0x41),
            ("7", 0x37),
            (" ", 0x20),
            ("ж", 0x6d6),
            ("😀", 0x0101_f600),
        ] {
            assert_eq!(Keysym::named(name), Some(Keysym(keysym)), "{name}");
        }
        for name in [
            "",
            "return",
            "XK_Return",
            "Ctrl",
            "ab",
            "\n",
            "\u{7f}",
            "\u{fffe}",
        ] {
            assert_eq!(Keysym::named(name), None, "{name:?}");
        }
        let f12 = Keysym(0xffc9);
        assert_eq!(Keysym::named(&f12.name()), Some(f12));
    }

    #[test]
    fn nothing_typed_shows_in_debug() {
        let key = Key {
            keysym: Keysym::of('s'),
            down: true,
            scan_code: Some(31),
        };
        assert_eq!(format!("{key:?}"), "Key(down)");
    }
}
