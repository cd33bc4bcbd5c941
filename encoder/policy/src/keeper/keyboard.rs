//! What is recorded of a keyboard: its keys, and the text they make.

mod run;

use std::collections::BTreeSet;

use capture::{
    MediaTime,
    event::{Event, Origin},
    input::{Key, Keysym, Modifier},
};

use crate::Keys;
use run::Run;

/// More keys than anyone holds down. Beyond it the one held longest counts as up.
const HELD_MAX: usize = 64;
/// What stands for a key that types something, where it is not said what.
const HIDDEN: char = '•';

/// A keyboard, and what is being typed on it.
pub(super) struct Keyboard {
    origin: Origin,
    rule: Keys,
    held: Vec<Held>,
    run: Option<Run>,
}

/// A key that is down.
struct Held {
    key: Key,
    /// Whether the record says so. A key that went down while a secret was entered, or was down
    /// when that began, stays untold until it comes up: what repeats it is part of the secret.
    told: bool,
}

impl Keyboard {
    pub(super) const fn new(origin: Origin, rule: Keys) -> Self {
        Self {
            origin,
            rule,
            held: Vec::new(),
            run: None,
        }
    }

    /// A key went down or up; while a `secret` is entered it is not told.
    pub(super) fn key(&mut self, t: MediaTime, key: Key, secret: bool, out: &mut Vec<Event>) {
        if self.rule == Keys::None {
            return;
        }
        if !key.down {
            if let Some(held) = self.held_by(&key).map(|place| self.held.remove(place)) {
                self.up(t, &held, out);
            }
            return;
        }
        let held = self.held.iter().find(|held| held.key.keysym == key.keysym);
        let repeat = held.is_some();
        if held.is_some_and(|held| !held.told) {
            return;
        }
        if !repeat {
            if self.held.len() >= HELD_MAX {
                let longest = self.held.remove(0);
                self.up(t, &longest, out);
            }
            self.held.push(Held { key, told: !secret });
        }
        if !secret {
            self.type_with(t, key.keysym, out);
            self.tell(t, key.keysym, true, repeat, out);
        }
    }

    /// The keys that are down count as up from `t` on, and what they repeat is not told.
    pub(super) fn hide(&mut self, t: MediaTime, out: &mut Vec<Event>) {
        for place in 0..self.held.len() {
            let held = &mut self.held[place];
            let keysym = held.key.keysym;
            if std::mem::take(&mut held.told) {
                self.tell(t, keysym, false, false, out);
            }
        }
    }

    /// When the text that is being typed ends by itself.
    pub(super) fn due(&self) -> Option<MediaTime> {
        self.run.as_ref().map(Run::due)
    }

    /// What was typed until now is one text.
    pub(super) fn end_run(&mut self, out: &mut Vec<Event>) {
        out.extend(self.run.take().and_then(|run| run.event(self.origin)));
    }

    fn up(&self, t: MediaTime, held: &Held, out: &mut Vec<Event>) {
        if held.told {
            self.tell(t, held.key.keysym, false, false, out);
        }
    }

    fn tell(&self, t: MediaTime, keysym: Keysym, down: bool, repeat: bool, out: &mut Vec<Event>) {
        let data = [("name", self.name(keysym).into()), ("down", down.into())];
        let mut event = Event::new(t, "key", self.origin, data);
        if repeat {
            event.data.insert("repeat".to_owned(), true.into());
        }
        let mods: Vec<&str> = self
            .modifiers(keysym)
            .into_iter()
            .map(Modifier::as_str)
            .collect();
        if !mods.is_empty() {
            event.data.insert("mods".to_owned(), mods.into());
        }
        out.push(event);
    }

    /// What `keysym` may be called.
    fn name(&self, keysym: Keysym) -> String {
        if self.rule == Keys::All || is_control(keysym) {
            keysym.name()
        } else {
            HIDDEN.to_string()
        }
    }

    /// The modifiers that are held and told beside `keysym`.
    fn modifiers(&self, keysym: Keysym) -> BTreeSet<Modifier> {
        let told = self.held.iter().filter(|held| held.told);
        let others = told.filter(|held| held.key.keysym != keysym);
        others
            .filter_map(|held| held.key.keysym.modifier())
            .collect()
    }

    /// Where the key that `up` lets go is held. Not every keyboard lets go of the keysym it
    /// pressed: with Shift let go first, `A` comes up as `a`.
    fn held_by(&self, up: &Key) -> Option<usize> {
        let find = |same: &dyn Fn(&Key) -> bool| self.held.iter().position(|it| same(&it.key));
        let lower = |key: &Key| key.keysym.char().map(char::to_lowercase);
        find(&|key| key.keysym == up.keysym)
            .or_else(|| find(&|key| key.scan_code.is_some() && key.scan_code == up.scan_code))
            .or_else(|| {
                find(&|key| {
                    let letters = lower(key).zip(lower(up));
                    letters.is_some_and(|(down, up)| down.eq(up))
                })
            })
    }

    /// Lets a key that goes down have its effect on the text.
    fn type_with(&mut self, t: MediaTime, keysym: Keysym, out: &mut Vec<Event>) {
        if shifts(keysym) {
            return;
        }
        let commands = [Modifier::Control, Modifier::Alt, Modifier::Super];
        let modifiers = self.modifiers(keysym);
        let plain = !commands.iter().any(|command| modifiers.contains(command));
        match keysym.char() {
            Some(typed) if plain => {
                let typed = if self.rule == Keys::All {
                    typed
                } else {
                    HIDDEN
                };
                let run = self.run.get_or_insert_with(|| Run::begins(t));
                run.push(t, typed);
                if run.is_full() {
                    self.end_run(out);
                }
            }
            // A dead key types nothing by itself.
            None if plain && !is_control(keysym) => {}
            None if plain && keysym == BACK_SPACE => {
                if self.run.as_mut().is_some_and(|run| !run.erase(t)) {
                    self.end_run(out);
                }
            }
            _ => self.end_run(out),
        }
    }
}

const BACK_SPACE: Keysym = Keysym(0xff08);

/// Whether `keysym` changes what other keys type and has no effect of its own on a text: the
/// modifiers and their locks (keysymdef.h).
const fn shifts(keysym: Keysym) -> bool {
    keysym.modifier().is_some() || matches!(keysym.0, 0xffe5 | 0xffe6 | 0xff7f | 0xfe01..=0xfe13)
}

/// Whether `keysym` is known to type nothing, so that its name says nothing of a text. Only these
/// are named where text is hidden: a dead accent, a braille dot or a keysym without a meaning
/// could be part of one (keysymdef.h, XF86keysym.h).
fn is_control(keysym: Keysym) -> bool {
    let functions = match keysym.0 {
        0xfff1..=0xfffa => false,
        0xfe01..=0xfe34 | 0xff00..=0xffff => true,
        0x1008_1000..=0x1008_1fff | 0x1008_fe00..=0x1008_ffff => true,
        _ => false,
    };
    functions && keysym.char().is_none()
}
