//! Where a mask lies, whatever the size of the screen.

use std::fmt;

use capture::{Rect, Size};

/// Where a mask lies on a screen of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// The whole screen.
    Full,
    /// A rectangle: left, top, width, height.
    Rect([Length; 4]),
}

impl Region {
    /// The rectangle this is on a `screen`, rounded outward and clipped; empty when outside.
    #[must_use]
    pub fn on(self, screen: Size) -> Rect {
        let Self::Rect([x, y, w, h]) = self else {
            return screen.rect();
        };
        let (x, w) = span(x, w, screen.w);
        let (y, h) = span(y, h, screen.h);
        Rect { x, y, w, h }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the whole screen"),
            Self::Rect([x, y, w, h]) => write!(f, "{w} wide and {h} high at {x}, {y}"),
        }
    }
}

/// A distance on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// In true screen pixels.
    Px(u32),
    /// In hundredths of a percent of the screen's side.
    Percent(u32),
}

impl Length {
    /// Both units as fractions over this.
    const WHOLE: u64 = 100 * 100;

    /// The distance along a side of `side_px`, as a fraction over [`Self::WHOLE`].
    pub(crate) fn scaled(self, side_px: u32) -> u64 {
        match self {
            Self::Px(px) => u64::from(px) * Self::WHOLE,
            Self::Percent(hundredths) => u64::from(hundredths) * u64::from(side_px),
        }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Px(px) => write!(f, "{px} px"),
            Self::Percent(hundredths) => write!(f, "{}%", f64::from(*hundredths) / 100.0),
        }
    }
}

/// Start and length in pixels of what begins at `start` and is `len` long, rounded outward.
fn span(start: Length, len: Length, side_px: u32) -> (u32, u32) {
    let from = start.scaled(side_px);
    let to = from + len.scaled(side_px);
    let clip = |px: u64| u32::try_from(px).map_or(side_px, |px| px.min(side_px));
    let from_px = clip(from / Length::WHOLE);
    (from_px, clip(to.div_ceil(Length::WHOLE)) - from_px)
}
