//! What does a key mean at the moment at which it is pressed?
//!
//! Most keys are asked for when they are pressed, by their number alone. A key that a program has
//! bound is not: its meaning is in the request that bound it, and may be gone when we ask.

use std::collections::BTreeMap;

use capture::input::{Key, Keysym};
use x11rb::{
    connection::{Connection as _, RequestConnection as _},
    protocol::{
        xkb::{self, ConnectionExt as _, GetMapReply, KTMapEntry, KeySymMap, KeyType, MapPart},
        xproto::ModMask,
    },
};

use super::{
    ObserverError,
    line::Connection,
    record::{Binding, KeyEvent},
};

/// XKB's name for the keyboard that all clients share.
const CORE_KEYBOARD: u16 = 0x100;
/// The modifier of Caps Lock.
const LOCK: u8 = 1 << 1;

/// The display's keyboard. What it keeps is bounded by the 256 codes of keys.
pub(super) struct Keyboard {
    codes: std::ops::RangeInclusive<u8>,
    /// Keys that programs have bound.
    bound: BTreeMap<u8, KeySymMap>,
    /// How modifiers choose a level, by type of key; none while it has to be asked for.
    types: Vec<KeyType>,
    /// Keys that are down, and what they meant when they went down: released, they must not mean
    /// something else.
    down: BTreeMap<u8, Keysym>,
}

impl Keyboard {
    /// Gets to know the keyboard.
    pub(super) fn open(control: &Connection) -> Result<Self, ObserverError> {
        let extension = control.extension_information(xkb::X11_EXTENSION_NAME)?;
        extension.ok_or(ObserverError::Extension("XKEYBOARD"))?;
        let xkb = control.xkb_use_extension(1, 0)?.reply()?;
        if !xkb.supported {
            return Err(ObserverError::Extension("XKEYBOARD"));
        }
        let setup = control.setup();
        Ok(Self {
            codes: setup.min_keycode..=setup.max_keycode,
            bound: BTreeMap::new(),
            types: Vec::new(),
            down: BTreeMap::new(),
        })
    }

    /// Programs bind the keys from `first` on.
    pub(super) fn bind(&mut self, first: u8, bindings: Vec<Binding>) {
        for (code, binding) in (first..=u8::MAX).zip(bindings) {
            // What is freed may since have been bound by the server itself: it is asked.
            if binding == Binding::default() {
                self.bound.remove(&code);
            } else {
                self.bound.insert(code, as_xkb(&binding));
            }
        }
    }

    /// The layout changes as a whole.
    pub(super) fn forget(&mut self) {
        self.bound.clear();
        self.types.clear();
    }

    /// What happened, as keysyms: mostly one, two when a key that repeats comes to mean another.
    pub(super) fn key(
        &mut self,
        control: &Connection,
        event: KeyEvent,
    ) -> Result<impl Iterator<Item = Key> + use<>, ObserverError> {
        let was_down = self.down.get(&event.code).copied();
        let keysym = match was_down {
            Some(keysym) if !event.down => keysym,
            _ => self.meaning(control, event)?,
        };
        if event.down {
            self.down.insert(event.code, keysym);
        } else {
            self.down.remove(&event.code);
        }
        let key = |keysym, down| Key {
            keysym,
            down,
            scan_code: None,
        };
        let other = was_down.filter(|&before| before != keysym);
        let released = other.map(|before| key(before, false));
        Ok(released.into_iter().chain([key(keysym, event.down)]))
    }

    fn meaning(&mut self, control: &Connection, event: KeyEvent) -> Result<Keysym, ObserverError> {
        if !self.codes.contains(&event.code) {
            return Ok(Keysym(0));
        }
        let bound = self.bound.get(&event.code);
        let mut asked = None;
        if bound.is_none() || self.types.is_empty() {
            let map = ask(control, event.code)?.map;
            self.types = map.types_rtrn.unwrap_or_default();
            asked = map.syms_rtrn.unwrap_or_default().into_iter().next();
        }
        let key = bound.or(asked.as_ref());
        Ok(key.map_or(Keysym(0), |key| chosen(key, &self.types, event.state)))
    }
}

/// Asks for one key and the types that keys can have.
fn ask(control: &Connection, code: u8) -> Result<GetMapReply, ObserverError> {
    let none = xkb::VMod::from(0_u16);
    let (types, keysyms) = (MapPart::KEY_TYPES, MapPart::KEY_SYMS);
    let asked = control.xkb_get_map(
        CORE_KEYBOARD,
        types,
        keysyms,
        0,
        0,
        code,
        1,
        0,
        0,
        0,
        0,
        none,
        0,
        0,
        0,
        0,
        0,
        0,
    )?;
    Ok(asked.reply()?)
}

/// The keysym that `state` chooses (XKB protocol, sections 7.2 and 12.1.2).
fn chosen(key: &KeySymMap, types: &[KeyType], state: u16) -> Keysym {
    let [modifiers, high] = state.to_le_bytes();
    let (group, groups) = (high >> 5 & 0b11, key.group_info & 0x0f);
    if groups == 0 {
        return Keysym(0);
    }
    let redirected = key.group_info >> 4 & 0b11;
    let group = match key.group_info >> 6 {
        _ if group < groups => group,
        0b00 => group % groups,
        0b01 => groups - 1,
        _ if redirected < groups => redirected,
        _ => 0,
    };
    let kind = key.kt_index.get(usize::from(group)).copied();
    let kind = kind.and_then(|kind| types.get(usize::from(kind)));
    let mask = kind.map_or(0, |kind| modifiers_of(kind.mods_mask));
    let chooses =
        |entry: &&KTMapEntry| entry.active && modifiers_of(entry.mods_mask) == modifiers & mask;
    let entry = kind.and_then(|kind| kind.map.iter().find(chooses));
    let level = entry.map_or(0, |entry| entry.level);
    let place = usize::from(group) * usize::from(key.width) + usize::from(level);
    let keysym = Keysym(key.syms.get(place).copied().unwrap_or(0));
    // Where Caps Lock chose no level, it makes capitals.
    if modifiers & LOCK & !mask != 0 {
        upper(keysym)
    } else {
        keysym
    }
}

fn modifiers_of(mask: ModMask) -> u8 {
    let [modifiers, _] = u16::from(mask).to_le_bytes();
    modifiers
}

/// The key that X servers make of what the core protocol binds (XKB protocol, section 12.4).
fn as_xkb(binding: &Binding) -> KeySymMap {
    let [first, ..] = binding;
    let groups = binding.iter().rposition(|group| *group != [0, 0]);
    let groups = groups.map_or(0, |last| last + 1);
    let mut key = KeySymMap {
        kt_index: [ONE_LEVEL; 4],
        group_info: u8::try_from(groups).unwrap_or(0),
        width: 2,
        syms: Vec::new(),
    };
    for (group, kind) in binding.iter().take(groups).zip(&mut key.kt_index) {
        // A group left out between others is the first.
        let &[plain, shifted] = if *group == [0, 0] { first } else { group };
        let (plain, shifted) = match shifted {
            0 if has_case(plain) => (lower(Keysym(plain)).0, upper(Keysym(plain)).0),
            _ => (plain, shifted),
        };
        *kind = match shifted {
            0 => ONE_LEVEL,
            _ if has_case(plain) && upper(Keysym(plain)).0 == shifted => ALPHABETIC,
            _ if [plain, shifted].into_iter().any(is_on_number_pad) => KEYPAD,
            _ => TWO_LEVEL,
        };
        key.syms.extend([plain, shifted]);
    }
    key
}

/// The types that every keyboard has, by their index.
const ONE_LEVEL: u8 = 0;
const TWO_LEVEL: u8 = 1;
const ALPHABETIC: u8 = 2;
const KEYPAD: u8 = 3;

const fn is_on_number_pad(keysym: u32) -> bool {
    matches!(keysym, 0xff80..=0xffbd | 0x1100_0000..=0x1100_ffff)
}

/// Whether X servers know the other case: of keysyms made from Unicode they do not.
fn has_case(keysym: u32) -> bool {
    keysym < 0x0100_0000 && lower(Keysym(keysym)) != upper(Keysym(keysym))
}

fn upper(keysym: Keysym) -> Keysym {
    cased(keysym, char::to_uppercase)
}

fn lower(keysym: Keysym) -> Keysym {
    cased(keysym, char::to_lowercase)
}

/// `keysym` in its other case, if that is one character; else itself.
fn cased<I: Iterator<Item = char>>(keysym: Keysym, case: impl Fn(char) -> I) -> Keysym {
    let Some(typed) = keysym.char() else {
        return keysym;
    };
    let mut other = case(typed);
    match (other.next(), other.next()) {
        (Some(other), None) if other != typed => Keysym::of(other),
        _ => keysym,
    }
}
