//! The layouts that Windows has, by their numbers: which layout of XKB is the same, and what is
//! different with AltGr, where XKB has far more than Windows, and with Caps Lock.

use capture::input::Keysym;

/// A layout.
pub(super) struct Layout {
    /// Windows' number.
    pub(super) id: u32,
    /// XKB's name, and its variant's.
    pub(super) xkb: &'static str,
    pub(super) variant: &'static str,
    pub(super) alt_gr: AltGr,
    /// The keys that are no letters and that Caps Lock shifts all the same, by their names.
    pub(super) caps: &'static str,
}

/// What keys type with AltGr.
#[derive(Clone, Copy)]
pub(super) enum AltGr {
    /// What XKB says.
    AsInXkb,
    /// Pairs of a key's name and what it types, without and with Shift. A combining mark is a dead
    /// key.
    Types(&'static str, &'static str),
}

use AltGr::{AsInXkb, Types};

const NOTHING: AltGr = Types("", "");

/// Caps Lock shifts most keys of the older layouts of German and French typewriters.
const GERMAN_CAPS: &str = "1234567890-]\\,.";
const FRENCH_CAPS: &str = "1234567890-=[]'\\m,./";

const GERMAN: AltGr = Types("2²3³7{8[9]0}-\\q@e€]~<|mµ", "");
const SWISS: AltGr = Types("1¦2@3#4°5§6¬7|8¢-\u{301}=\u{303}e€[[]]'{\\}<\\", "");
const FRENCH: AltGr = Types("2\u{303}3#4{5[6|7\u{300}8\\9^0@-]=}e€]¤", "");
const BELGIAN: AltGr = Types(
    "1|2@3#4{5[6^9{0}e€[[]]'\u{301}\\\u{300}<\\/\u{303}",
    "'\u{301}\\\u{300}/\u{303}",
);
const SPANISH: AltGr = Types("`\\1|2@3#4\u{303}5€6¬e€[[]]'{\\}", "");
const SWEDISH: AltGr = Types("2@3£4$5€7{8[9]0}-\\e€]\u{303}<|mµ", "");
const BRAZILIAN: AltGr = Types("1¹2²3³4£5¢6¬=§q/w?e°]ª\\ºc₢_°", "");

const POLISH: AltGr = Types("aącćeęlłnńoósśxźzżu€", "aĄcĆeĘlŁnŃoÓsŚxŹzŻ");

const LAYOUTS: &[Layout] = &[
    plain(0x409, "us", "", NOTHING),
    plain(0x1_0409, "us", "dvorak", NOTHING),
    plain(0x2_0409, "us", "intl", AsInXkb),
    plain(0x3_0409, "us", "dvorak-l", NOTHING),
    plain(0x4_0409, "us", "dvorak-r", NOTHING),
    plain(0x809, "gb", "", Types("`¦4€eéuúiíoóaá", "eÉuÚiÍoÓaÁ")),
    plain(0x452, "gb", "extd", AsInXkb),
    plain(0x1809, "ie", "", AsInXkb),
    Layout {
        caps: GERMAN_CAPS,
        ..plain(0x407, "de", "", GERMAN)
    },
    plain(0x1_0407, "de", "", GERMAN),
    plain(0x807, "ch", "", SWISS),
    plain(0x100c, "ch", "fr", SWISS),
    Layout {
        caps: FRENCH_CAPS,
        ..plain(0x40c, "fr", "", FRENCH)
    },
    Layout {
        caps: FRENCH_CAPS,
        ..plain(0x80c, "be", "", BELGIAN)
    },
    Layout {
        caps: FRENCH_CAPS,
        ..plain(0x813, "be", "", BELGIAN)
    },
    plain(0x413, "nl", "", AsInXkb),
    plain(0xc0c, "ca", "fr-legacy", AsInXkb),
    plain(0x1009, "ca", "", AsInXkb),
    plain(0x1_1009, "ca", "multix", AsInXkb),
    plain(0x410, "it", "", Types("5€e€[[]];@'#", "[{]}")),
    plain(0x40a, "es", "", SPANISH),
    plain(0x80a, "latam", "", Types("`¬-\\q@]~'\u{302}\\\u{300}", "")),
    plain(0x816, "pt", "", Types("2@3£4§5€7{8[9]0}e€[\u{308}", "")),
    plain(0x416, "br", "", BRAZILIAN),
    plain(
        0x406,
        "dk",
        "",
        Types("2@3£4$5€7{8[9]0}=|e€]\u{303}<\\mµ", ""),
    ),
    plain(
        0x414,
        "no",
        "",
        Types("2@3£4$5€7{8[9]0}=\u{301}e€]\u{303}mµ", ""),
    ),
    plain(0x41d, "se", "", SWEDISH),
    plain(0x40b, "fi", "", SWEDISH),
    plain(0x40f, "is", "", AsInXkb),
    plain(0x415, "pl", "", POLISH),
    plain(0x405, "cz", "", AsInXkb),
    plain(0x1_0405, "cz", "qwerty", AsInXkb),
    plain(0x41b, "sk", "", AsInXkb),
    plain(0x40e, "hu", "", AsInXkb),
    plain(0x1_0418, "ro", "std", AsInXkb),
    plain(0x418, "ro", "", AsInXkb),
    plain(0x41a, "hr", "", AsInXkb),
    plain(0x424, "si", "", AsInXkb),
    plain(0x81a, "rs", "latin", AsInXkb),
    plain(0xc1a, "rs", "", AsInXkb),
    plain(0x402, "bg", "", AsInXkb),
    plain(0x419, "ru", "", NOTHING),
    plain(0x422, "ua", "", Types("uґ", "uҐ")),
    plain(0x408, "gr", "", AsInXkb),
    plain(
        0x41f,
        "tr",
        "",
        Types(
            "`<1>2£3#4$5½7{8[9]0}-\\=|q@e€ii[\u{308}]\u{303}aæsß;\u{301}\\\u{300}<|",
            "iİaÆ",
        ),
    ),
    plain(0x425, "ee", "", AsInXkb),
    plain(0x426, "lv", "", AsInXkb),
    plain(0x427, "lt", "", AsInXkb),
    plain(0x40d, "il", "", AsInXkb),
    plain(0x401, "ara", "", AsInXkb),
    plain(0x411, "jp", "", NOTHING),
    plain(0x412, "kr", "", NOTHING),
    plain(0x404, "us", "", NOTHING),
    plain(0x804, "us", "", NOTHING),
];

/// A layout whose Caps Lock shifts letters alone.
const fn plain(id: u32, xkb: &'static str, variant: &'static str, alt_gr: AltGr) -> Layout {
    Layout {
        id,
        xkb,
        variant,
        alt_gr,
        caps: "",
    }
}

/// The layout with this number.
pub(super) fn find(id: u32) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.id == id)
}

/// Every layout that is known.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static Layout> {
    LAYOUTS.iter()
}

/// Keys with a place of their own in what is said here.
pub(super) const A: u8 = 0x1e;
pub(super) const POINT: u8 = 0x53;
pub(super) const BESIDE_SHIFT: u8 = 0x56;

/// The keys that type, from the XT scan code of the leftmost in a row on, and their names: what they
/// type in America, and for those that are not there, what they are known by here.
const ROWS: [(u8, &str); 9] = [
    (0x02, "1234567890-="),
    (0x10, "qwertyuiop[]"),
    (A, "asdfghjkl;'`"),
    (0x2b, "\\zxcvbnm,./"),
    (0x39, " "),
    (BESIDE_SHIFT, "<"),
    // Of Brazilian and Japanese keyboards …
    (0x73, "_"),
    (0x7d, "¥⎖"),
    // … and the number pad's.
    (POINT, "·"),
];

/// The keys that type, by their XT scan codes, and their names.
pub(super) fn keys() -> impl Iterator<Item = (u8, char)> {
    ROWS.iter()
        .flat_map(|&(first, names)| (first..).zip(names.chars()))
}

/// Linux' number of a key (input-event-codes.h), as XKB's files go by it.
pub(super) const fn evdev(place: u8) -> u32 {
    match place {
        0x73 => 89,
        0x7d => 124,
        0x7e => 121,
        // The oldest keys have the numbers that they always had.
        place => place as u32,
    }
}

/// The dead key that adds a combining mark (keysymdef.h).
pub(super) const fn dead(mark: char) -> Option<Keysym> {
    Some(Keysym(match mark {
        '\u{300}' => 0xfe50,
        '\u{301}' => 0xfe51,
        '\u{302}' => 0xfe52,
        '\u{303}' => 0xfe53,
        '\u{308}' => 0xfe57,
        _ => return None,
    }))
}
