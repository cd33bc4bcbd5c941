//! The pointer's place and buttons, as RFB tells them (RFC 6143 section 7.5.5).

use serde::{Deserialize, Serialize};

use crate::Point;

/// The pointer after something happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Where it is, in true screen pixels.
    pub at: Point,
    /// Which buttons are down.
    pub buttons: Buttons,
}

/// Buttons that are down, one bit each, in RFB's order: bit 0 is the left one.
///
/// A step of a wheel is a button that goes down and up again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Buttons(pub u16);

/// One button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Button {
    /// The left one.
    Left,
    /// The middle one.
    Middle,
    /// The right one.
    Right,
    /// A wheel's step, in steps: right and down are positive.
    Wheel {
        /// Sideways.
        dx: i8,
        /// Up or down.
        dy: i8,
    },
    /// Back in history.
    Back,
    /// Forward in history.
    Forward,
}

impl Button {
    /// Every button, in the order of their bits.
    pub const ALL: [Self; 9] = [
        Self::Left,
        Self::Middle,
        Self::Right,
        Self::Wheel { dx: 0, dy: -1 },
        Self::Wheel { dx: 0, dy: 1 },
        Self::Wheel { dx: -1, dy: 0 },
        Self::Wheel { dx: 1, dy: 0 },
        Self::Back,
        Self::Forward,
    ];

    /// The word used in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
            Self::Wheel { .. } => "wheel",
            Self::Back => "back",
            Self::Forward => "forward",
        }
    }
}

impl Buttons {
    /// `button` alone; of a wheel, the direction of its step.
    #[must_use]
    pub fn of(button: Button) -> Self {
        let place = Button::ALL.iter().position(|&other| other == button);
        Self(place.map_or(0, |place| 1 << place))
    }

    /// The buttons that are down in `self` and not in `before`.
    pub fn pressed_since(self, before: Self) -> impl Iterator<Item = Button> {
        Self(self.0 & !before.0).iter()
    }

    /// The buttons that are down.
    pub fn iter(self) -> impl Iterator<Item = Button> {
        let down = move |(bit, _): &(usize, Button)| self.0 >> bit & 1 == 1;
        let all = Button::ALL.into_iter().enumerate();
        all.filter(down).map(|(_, button)| button)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_is_told_once() {
        let (before, after) = (Buttons(0b001), Buttons(0b1_0001));
        let pressed: Vec<Button> = after.pressed_since(before).collect();
        assert_eq!(pressed, [Button::Wheel { dx: 0, dy: 1 }]);
        assert_eq!(before.pressed_since(after).count(), 0);
        assert_eq!(after.iter().next(), Some(Button::Left));
        assert_eq!(Buttons::of(Button::Left), before);
        assert_eq!(Buttons::of(Button::Forward), Buttons(1 << 8));
    }
}
