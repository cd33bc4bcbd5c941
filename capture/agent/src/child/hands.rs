//! What input do a driver's deeds come to, and what does each driver hold down? Drivers work on one
//! keyboard and one pointer, but each lets go of no more than it has pressed.

use capture::{
    Point, Size,
    input::{Buttons, Clipboard, Direction, Format, Input, Key, Keysym, Modifier, Pointer},
};

use crate::wire::{Deed, Undone};

/// Keys and buttons that all drivers together may hold down.
const HELD_MAX: usize = 64;
/// What shifts the letters and signs of a text.
const SHIFT: Keysym = Keysym(0xffe1);

/// What is held down, and where the pointer is.
#[derive(Clone, Default)]
pub(super) struct Hands {
    at: Point,
    held: Vec<(u64, Held)>,
}

/// What a driver has pressed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Key(Keysym),
    Buttons(Buttons),
}

impl Hands {
    /// What `deeds` of `driver` come to on a desktop of `size`.
    ///
    /// # Errors
    /// When one of them cannot be done, or `refusal` says that of what it comes to. Nothing has
    /// happened then.
    pub(super) fn operate(
        &mut self,
        driver: u64,
        deeds: &[Deed],
        size: Size,
        refusal: impl FnOnce(&[Input]) -> Option<(usize, &'static str)>,
    ) -> Result<Vec<Input>, Undone> {
        let mut after = self.clone();
        let mut inputs = Vec::new();
        let mut of = Vec::new();
        for (place, deed) in deeds.iter().enumerate() {
            let done = after.deed(driver, deed, size);
            inputs.extend(done.map_err(|error| undone(place, error))?);
            of.resize(inputs.len(), place);
        }
        if let Some((place, why)) = refusal(&inputs) {
            let place = of.get(place).copied().unwrap_or_default();
            return Err(undone(place, why.to_owned()));
        }
        *self = after;
        Ok(inputs)
    }

    /// What lets go of all that `driver` holds down, or everybody.
    pub(super) fn let_go(&mut self, driver: Option<u64>) -> Vec<Input> {
        let mut inputs = Vec::new();
        let goes = |(of, _): &(u64, Held)| driver.is_none_or(|driver| driver == *of);
        while let Some(place) = self.held.iter().rposition(goes) {
            let (_, held) = self.held.remove(place);
            if !self.is_held(held) {
                inputs.push(self.up(held));
            }
        }
        inputs
    }

    fn deed(&mut self, driver: u64, deed: &Deed, size: Size) -> Result<Vec<Input>, String> {
        let inside = |at: &Point| {
            let side = |at: i32, len: u32| u32::try_from(at).is_ok_and(|at| at < len);
            side(at.x, size.w) && side(at.y, size.h)
        };
        match deed {
            Deed::Key(key) if key.down => {
                let held = (driver, Held::Key(key.keysym));
                if !self.held.contains(&held) {
                    self.hold(held)?;
                }
                Ok(vec![Input::Key(*key)])
            }
            Deed::Key(key) => self.release(driver, Held::Key(key.keysym)),
            Deed::Text(text) => Ok(self.text(text)),
            Deed::Move(at) if inside(at) => {
                self.at = *at;
                Ok(vec![self.pointer()])
            }
            Deed::Move(_) => Err(format!("the desktop has {}×{} pixels", size.w, size.h)),
            Deed::Press(buttons) if self.is_held(Held::Buttons(*buttons)) => {
                Err("the button is down already".to_owned())
            }
            Deed::Press(buttons) => {
                self.hold((driver, Held::Buttons(*buttons)))?;
                Ok(vec![self.pointer()])
            }
            Deed::Release(buttons) => self.release(driver, Held::Buttons(*buttons)),
            Deed::Clipboard(text) => Ok(vec![Input::Clipboard(Clipboard {
                direction: Direction::ToMachine,
                formats: vec![Format::Text],
                len_bytes: text.len() as u64,
                text: Some(text.clone()),
            })]),
        }
    }

    fn hold(&mut self, held: (u64, Held)) -> Result<(), String> {
        if self.held.len() >= HELD_MAX {
            return Err(format!("{HELD_MAX} keys and buttons are down"));
        }
        self.held.push(held);
        Ok(())
    }

    fn release(&mut self, driver: u64, held: Held) -> Result<Vec<Input>, String> {
        let place = self.held.iter().position(|other| *other == (driver, held));
        let place = place.ok_or("this connection does not hold it down")?;
        self.held.remove(place);
        // Another driver may hold the same key.
        Ok(match self.is_held(held) {
            true => Vec::new(),
            false => vec![self.up(held)],
        })
    }

    fn is_held(&self, held: Held) -> bool {
        self.held.iter().any(|(_, other)| *other == held)
    }

    fn up(&self, held: Held) -> Input {
        match held {
            Held::Key(keysym) => key(keysym, false),
            Held::Buttons(_) => self.pointer(),
        }
    }

    fn pointer(&self) -> Input {
        let buttons = self.held.iter().fold(0, |all, (_, held)| match held {
            Held::Buttons(buttons) => all | buttons.0,
            Held::Key(_) => all,
        });
        Input::Pointer(Pointer {
            at: self.at,
            buttons: Buttons(buttons),
        })
    }

    /// Some machines take a capital for its key alone, so what an American keyboard types with
    /// Shift is typed with it, unless somebody holds it.
    fn text(&self, text: &str) -> Vec<Input> {
        let is_shift = |held: &Held| matches!(held, Held::Key(keysym) if keysym.modifier() == Some(Modifier::Shift));
        let may_shift = !self.held.iter().any(|(_, held)| is_shift(held));
        let mut inputs = Vec::new();
        let mut shifted = false;
        for typed in text.chars() {
            let shifts = may_shift && is_shifted(typed);
            if shifts != shifted {
                inputs.push(key(SHIFT, shifts));
                shifted = shifts;
            }
            let keysym = keysym(typed);
            inputs.extend([key(keysym, true), key(keysym, false)]);
        }
        if shifted {
            inputs.push(key(SHIFT, false));
        }
        inputs
    }
}

const fn undone(place: usize, error: String) -> Undone {
    let deed = Some(place);
    Undone { error, deed }
}

/// The key that types `typed`; a line ends with Return.
fn keysym(typed: char) -> Keysym {
    match typed {
        '\n' => Keysym(0xff0d),
        _ => Keysym::of(typed),
    }
}

/// Whether an American keyboard types it with Shift.
fn is_shifted(typed: char) -> bool {
    typed.is_ascii_uppercase() || "~!@#$%^&*()_+{}|:\"<>?".contains(typed)
}

const fn key(keysym: Keysym, down: bool) -> Input {
    Input::Key(Key {
        keysym,
        down,
        scan_code: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { w: 640, h: 480 };
    const LEFT: Buttons = Buttons(1);
    const ANNE: u64 = 1;
    const BEN: u64 = 2;

    fn deed(typed: char, down: bool) -> Deed {
        Deed::Key(Key {
            keysym: keysym(typed),
            down,
            scan_code: None,
        })
    }

    fn at(x: i32, y: i32) -> Deed {
        Deed::Move(Point { x, y })
    }

    fn pointer(x: i32, y: i32, buttons: u16) -> Input {
        Input::Pointer(Pointer {
            at: Point { x, y },
            buttons: Buttons(buttons),
        })
    }

    /// Does one deed after the other, all of which can be done.
    fn act(hands: &mut Hands, driver: u64, deeds: &[Deed]) -> Vec<Input> {
        hands.operate(driver, deeds, SIZE, |_| None).unwrap()
    }

    #[track_caller]
    fn refused(hands: &mut Hands, driver: u64, deeds: &[Deed], place: usize) -> String {
        let undone = hands.operate(driver, deeds, SIZE, |_| None).unwrap_err();
        assert_eq!(undone.deed, Some(place));
        undone.error
    }

    #[test]
    fn a_click_is_a_move_a_press_and_a_release() {
        let inputs = act(
            &mut Hands::default(),
            ANNE,
            &[at(639, 479), Deed::Press(LEFT), Deed::Release(LEFT)],
        );
        let there = |buttons| pointer(639, 479, buttons);
        assert_eq!(inputs, [there(0), there(1), there(0)]);
    }

    #[test]
    fn what_is_outside_the_desktop_is_refused_and_nothing_else_is_done() {
        let mut hands = Hands::default();
        for outside in [at(640, 0), at(0, 480), at(-1, 0)] {
            let deeds = [deed('a', true), outside];
            assert!(refused(&mut hands, ANNE, &deeds, 1).contains("640×480"));
        }
        assert_eq!(hands.let_go(None), []);
    }

    #[test]
    fn what_the_machine_cannot_be_told_is_refused_by_the_deed() {
        let mut hands = Hands::default();
        let deeds = [Deed::Text("ab".to_owned()), deed('c', true)];
        let undone = hands.operate(ANNE, &deeds, SIZE, |inputs| {
            assert_eq!(inputs.len(), 5);
            Some((4, "no such key"))
        });
        assert_eq!(undone.unwrap_err(), super::undone(1, "no such key".into()));
        assert_eq!(hands.let_go(None), []);
    }

    #[test]
    fn a_text_is_typed_with_shift_where_a_keyboard_needs_it() {
        let (shift, a) = (|down| key(SHIFT, down), keysym('a'));
        let tap = |typed| [key(keysym(typed), true), key(keysym(typed), false)];
        let typed = |hands: &mut Hands| act(hands, ANNE, &[Deed::Text("aB!é\n".to_owned())]);
        let (capital, sign) = (tap('B'), tap('!'));
        let mut hands = Hands::default();
        let expected = [
            &tap('a')[..],
            &[shift(true)],
            &capital,
            &sign,
            &[shift(false)],
            &tap('é'),
            &tap('\n'),
        ];
        assert_eq!(typed(&mut hands), expected.concat());
        let held = Deed::Key(Key {
            keysym: SHIFT,
            down: true,
            scan_code: None,
        });
        act(&mut hands, BEN, &[held]);
        assert_eq!(typed(&mut hands).len(), 10, "Shift is let alone");
        assert_eq!(key(a, true), tap('a')[0]);
    }

    #[test]
    fn each_driver_lets_go_of_its_own() {
        let mut hands = Hands::default();
        act(&mut hands, ANNE, &[deed('a', true), at(5, 5)]);
        act(&mut hands, ANNE, &[deed('b', true), Deed::Press(LEFT)]);
        act(&mut hands, BEN, &[deed('b', true), deed('c', true)]);
        let not_his = [Deed::Release(LEFT)];
        assert!(refused(&mut hands, BEN, &not_his, 0).contains("does not hold"));
        let up = |typed| key(keysym(typed), false);
        let anne = [pointer(5, 5, 0), up('a')];
        assert_eq!(hands.let_go(Some(ANNE)), anne, "b is held by another");
        assert_eq!(hands.let_go(None), [up('c'), up('b')]);
        assert_eq!(hands.let_go(None), []);
    }

    #[test]
    fn a_button_that_is_down_is_not_pressed() {
        let mut hands = Hands::default();
        act(&mut hands, ANNE, &[at(1, 1), Deed::Press(LEFT)]);
        assert_eq!(act(&mut hands, BEN, &[at(2, 2)]), [pointer(2, 2, 1)]);
        let press = [Deed::Press(LEFT)];
        assert!(refused(&mut hands, BEN, &press, 0).contains("down already"));
    }

    #[test]
    fn no_more_is_held_than_hands_can() {
        let mut hands = Hands::default();
        let keys: Vec<Deed> = (0..)
            .map_while(|n| char::from_u32(0x4e00 + n))
            .take(HELD_MAX + 1)
            .map(|c| deed(c, true))
            .collect();
        refused(&mut hands, ANNE, &keys, HELD_MAX);
        act(&mut hands, ANNE, &keys[..HELD_MAX]);
        assert_eq!(hands.let_go(Some(ANNE)).len(), HELD_MAX);
    }
}
