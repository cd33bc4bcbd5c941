//! The two clocks of a session and the only bridge between them.
//!
//! Media time counts milliseconds since the session began and never repeats. Wall time is UTC.
//! They are converted through recorded [anchors](Anchor) alone, by [`ClockMap`]; nothing ever
//! sums durations to find a time.

mod anchor;
mod map;
mod span;
mod stamp;
mod wall;

pub use anchor::{Anchor, AnchorKeeper};
pub use map::{ClockMap, ClockMapError};
pub use span::{ParseSpanError, parse_span};
pub use stamp::Stamper;
pub use wall::{ParseWallTimeError, WallTime};

use serde::{Deserialize, Serialize};

/// Milliseconds since the session began, on a clock that counts through suspend.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MediaTime(u64);

impl MediaTime {
    /// The session's first instant.
    pub const ZERO: Self = Self(0);
    /// Ticks of the MP4 timescale (90 kHz) in a millisecond: exact, so media never drifts.
    pub const TICKS_PER_MS: u64 = 90;

    /// The instant `ms` milliseconds after the session began.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the session began.
    #[must_use]
    pub const fn ms(self) -> u64 {
        self.0
    }

    /// The same instant in 90 kHz ticks, as `tfdt` holds it.
    #[must_use]
    pub const fn ticks(self) -> u64 {
        self.0.saturating_mul(Self::TICKS_PER_MS)
    }

    /// The instant `ms` later; saturates.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to here; 0 if `earlier` is later.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl std::fmt::Display for MediaTime {
    /// `h:mm:ss.mmm`, the clock form that `--at` and viewer links accept.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (s, ms) = (self.0 / 1000, self.0 % 1000);
        write!(f, "{}:{:02}:{:02}.{ms:03}", s / 3600, s / 60 % 60, s % 60)
    }
}
