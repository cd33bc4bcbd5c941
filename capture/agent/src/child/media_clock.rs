//! Media time from the boot clock.

use capture::MediaTime;

use crate::{clock::BootTime, spool::Epoch};

/// Ties media time to this boot's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaClock {
    at: BootTime,
    t: MediaTime,
}

impl MediaClock {
    /// A clock that shows zero at `at`.
    pub(super) const fn from_zero_at(at: BootTime) -> Self {
        Self {
            at,
            t: MediaTime::ZERO,
        }
    }

    /// A clock that goes on as `epoch` says.
    pub(super) const fn resume(epoch: &Epoch) -> Self {
        Self {
            at: epoch.at,
            t: epoch.t,
        }
    }

    /// Media time at `at`; an instant before the tie is the tie itself.
    pub(super) const fn at(self, at: BootTime) -> MediaTime {
        self.t.plus_ms(at.ms_since(self.at))
    }

    /// The instant at which this clock shows `t`.
    pub(super) const fn when(self, t: MediaTime) -> BootTime {
        self.at.plus_ms(t.ms_since(self.t))
    }
}
