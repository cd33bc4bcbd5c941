//! Is the machine driven past the recorder? (capture.md: `input-unseen`.)
//!
//! The picture alone cannot tell: a video changes as much as a desktop that somebody works on, and
//! a pointer painted into the picture is found by no safe rule. So this asks two witnesses. Where a
//! proxy sees the driver's input on the wire, or the driver's socket takes it, *and* an observer
//! sees what arrives on the machine's display, keys, buttons and motion that arrive without anything
//! of their kind on the wire shortly before have come another way.
//!
//! Only presses and motion count. Releases follow when a driver leaves, and a key held down on the
//! wire repeats on the machine by itself. A single jump of the pointer does not count either: a
//! screen that shrinks makes one, and so do programs that place the pointer. A program that types
//! by itself is told of, and rightly: nobody did that through the recorder.

use std::collections::BTreeSet;

use capture::{
    event::Origin,
    input::{Buttons, Input, Keysym},
};

use super::inbox::Act;
use crate::clock::BootTime;

/// How long what a driver did may take to arrive on the display.
const ARRIVAL_MS: u64 = 2_000;
/// Jumps of the pointer, each soon after the other, before they count.
const JUMPS: u32 = 3;
/// Told once, it is told again only after this long without any.
const QUIET_MS: u64 = 60_000;
/// Keys remembered as held down on the wire; nobody has more fingers.
const HELD_MAX: usize = 64;

/// What arrived that nobody was seen to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    /// Keys.
    Keys,
    /// Buttons, or motion of the pointer.
    Pointer,
}

impl Unseen {
    /// The text of the health event.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Keys => "keys were pressed on the machine that did not come through the recorder",
            Self::Pointer => "the machine's pointer was used, and not through the recorder",
        }
    }
}

/// Compares what the recorder and an observer of the display say.
#[derive(Debug, Default)]
pub(super) struct Witnesses {
    /// When the wire last brought a key.
    wire_key: Option<BootTime>,
    /// When the wire last brought anything of the pointer.
    wire_pointer: Option<BootTime>,
    /// Keys that the wire holds down.
    held: BTreeSet<u32>,
    /// Buttons that the display last told.
    buttons: Buttons,
    /// Jumps of the pointer that the wire does not explain.
    jumps: u32,
    /// When the last of them was.
    jumped: Option<BootTime>,
    /// When something unseen last arrived.
    last: Option<BootTime>,
}

impl Witnesses {
    /// Takes in `act`; the answer is what is to be told, once for each time that it begins.
    pub(super) fn act(&mut self, act: &Act) -> Option<Unseen> {
        let at = act.received;
        match act.origin {
            Origin::Wire | Origin::Driver => {
                self.wire(at, &act.input);
                None
            }
            Origin::Guest => {
                let unseen = self.guest(at, &act.input)?;
                let before = self.last.replace(at);
                (!within(at, before, QUIET_MS)).then_some(unseen)
            }
            Origin::Recorder => None,
        }
    }

    fn wire(&mut self, at: BootTime, input: &Input) {
        match input {
            Input::Key(key) => {
                self.wire_key = Some(at);
                let Keysym(keysym) = key.keysym;
                if !key.down {
                    self.held.remove(&keysym);
                } else if self.held.len() < HELD_MAX {
                    self.held.insert(keysym);
                }
            }
            Input::Pointer(_) => self.wire_pointer = Some(at),
            Input::Clipboard(_) => {}
        }
    }

    fn guest(&mut self, at: BootTime, input: &Input) -> Option<Unseen> {
        match input {
            Input::Key(key) => {
                let explained = !self.held.is_empty() || within(at, self.wire_key, ARRIVAL_MS);
                (key.down && !explained).then_some(Unseen::Keys)
            }
            Input::Pointer(pointer) => {
                let before = std::mem::replace(&mut self.buttons, pointer.buttons);
                let pressed = pointer.buttons.pressed_since(before).next().is_some();
                let released = !pressed && pointer.buttons != before;
                if released || within(at, self.wire_pointer, ARRIVAL_MS) {
                    return None;
                }
                let jumps_on = within(at, self.jumped.replace(at), ARRIVAL_MS);
                self.jumps = if jumps_on { self.jumps + 1 } else { 1 };
                (pressed || JUMPS <= self.jumps).then_some(Unseen::Pointer)
            }
            Input::Clipboard(_) => None,
        }
    }
}

/// Whether `before` was no longer than `limit_ms` before `at`.
fn within(at: BootTime, before: Option<BootTime>, limit_ms: u64) -> bool {
    before.is_some_and(|before| at.ms_since(before) <= limit_ms)
}

#[cfg(test)]
mod tests {
    use capture::{
        Point,
        input::{Key, Pointer},
    };

    use super::*;

    /// What happened: when in ms, who says so, and what.
    type Line = (u64, Origin, Input);

    const WIRE: Origin = Origin::Wire;
    const GUEST: Origin = Origin::Guest;

    fn key(typed: char, down: bool) -> Input {
        Input::Key(Key {
            keysym: Keysym::of(typed),
            down,
            scan_code: None,
        })
    }

    fn pointer(x: i32, buttons: u16) -> Input {
        Input::Pointer(Pointer {
            at: Point { x, y: 9 },
            buttons: Buttons(buttons),
        })
    }

    #[track_caller]
    fn check(lines: &[Line], expected: &[(u64, Unseen)]) {
        let mut witnesses = Witnesses::default();
        let told = lines.iter().filter_map(|(ms, origin, input)| {
            let unseen = witnesses.act(&Act {
                received: BootTime::from_ms(*ms),
                origin: *origin,
                input: input.clone(),
            })?;
            Some((*ms, unseen))
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_came_through_the_proxy_is_seen() {
        check(
            &[
                (10_000, WIRE, pointer(5, 0)),
                (10_010, GUEST, pointer(5, 0)),
                (10_100, WIRE, pointer(5, 1)),
                (11_900, GUEST, pointer(5, 1)),
                (12_000, WIRE, key('a', true)),
                (12_001, GUEST, key('a', true)),
                (12_002, WIRE, key('a', false)),
                (12_003, GUEST, key('a', false)),
            ],
            &[],
        );
    }

    #[test]
    fn what_came_over_the_drivers_socket_is_seen() {
        let driver = Origin::Driver;
        check(
            &[
                (10_000, driver, pointer(5, 1)),
                (10_010, GUEST, pointer(5, 1)),
                (10_100, driver, key('a', true)),
                (10_110, GUEST, key('a', true)),
            ],
            &[],
        );
    }

    #[test]
    fn a_press_that_came_another_way_is_told_once() {
        let keys = |ms| (ms, GUEST, key('a', true));
        let lines = [keys(5_000), keys(5_100), keys(50_000), keys(120_000)];
        check(&lines, &[(5_000, Unseen::Keys), (120_000, Unseen::Keys)]);
        let click = (5_000, GUEST, pointer(7, 1));
        check(&[click], &[(5_000, Unseen::Pointer)]);
    }

    #[test]
    fn keys_explain_no_clicks_and_motion_no_keys() {
        let lines = [(5_000, WIRE, key('a', true)), (5_001, GUEST, pointer(7, 1))];
        check(&lines, &[(5_001, Unseen::Pointer)]);
        let lines = [(5_000, WIRE, pointer(7, 0)), (5_001, GUEST, key('a', true))];
        check(&lines, &[(5_001, Unseen::Keys)]);
    }

    #[test]
    fn a_key_held_on_the_wire_repeats_by_itself() {
        let mut lines = vec![(5_000, WIRE, key('a', true))];
        lines.extend((0..100).map(|n| (5_001 + 300 * n, GUEST, key('a', true))));
        check(&lines, &[]);
        lines.push((40_000, WIRE, key('a', false)));
        lines.push((43_000, GUEST, key('a', true)));
        check(&lines, &[(43_000, Unseen::Keys)]);
    }

    #[test]
    fn releases_alone_are_nobodys() {
        let lines = [
            (1_000, WIRE, key('a', true)),
            (1_000, WIRE, pointer(5, 1)),
            (1_001, GUEST, pointer(5, 1)),
            (9_000, GUEST, pointer(5, 0)),
            (9_000, GUEST, key('a', false)),
        ];
        check(&lines, &[]);
    }

    #[test]
    fn one_jump_of_the_pointer_is_none_and_a_walk_is_one() {
        let jump = |n: u16| (5_000 * u64::from(n), GUEST, pointer(n.into(), 0));
        check(&[jump(1), jump(2), jump(3), jump(4)], &[]);
        let step = |n: u16| (5_000 + 500 * u64::from(n), GUEST, pointer(n.into(), 0));
        let walk = [step(1), step(2), step(3), step(4)];
        check(&walk, &[(6_500, Unseen::Pointer)]);
    }
}
