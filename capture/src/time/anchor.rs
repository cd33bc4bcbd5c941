//! Anchors: the recorded pairs of media time and UTC.

use serde::{Deserialize, Serialize};

use super::{MediaTime, WallTime};

/// "At `t` the wall clock showed `utc`", as read at one instant by the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Where on the media clock.
    pub t: MediaTime,
    /// What the wall clock showed.
    pub utc: WallTime,
    /// The wall clock's own estimate of its error, or `None` when it has none.
    pub error_ms: Option<u32>,
    /// Whether the wall clock jumped here, so that UTC may repeat or skip.
    pub step: bool,
}

/// Decides when a new anchor is due: at the start, every 10 s, and at a step.
#[derive(Clone, Debug, Default)]
pub struct AnchorKeeper {
    last: Option<Anchor>,
}

impl AnchorKeeper {
    /// Anchors are never further apart than this while the recorder looks at its clocks.
    pub const EVERY_MS: u64 = 10_000;
    /// A wall clock that moves by more than this against the media clock has stepped.
    pub const STEP_MS: i64 = 20;

    /// A keeper that goes on from `last`, the last anchor of an earlier run.
    #[must_use]
    pub const fn after(last: Anchor) -> Self {
        Self { last: Some(last) }
    }

    /// Compares the clocks, read together at one instant, and gives an anchor when one is due.
    pub fn observe(
        &mut self,
        t: MediaTime,
        utc: WallTime,
        error_ms: Option<u32>,
    ) -> Option<Anchor> {
        let anchor = match self.last {
            None => Anchor {
                t,
                utc,
                error_ms,
                step: false,
            },
            Some(last) if t <= last.t => return None,
            Some(last) => {
                let elapsed_ms = t.ms_since(last.t);
                let expected = last
                    .utc
                    .plus_ms(i64::try_from(elapsed_ms).unwrap_or(i64::MAX));
                let step = (utc.unix_ms() - expected.unix_ms()).abs() > Self::STEP_MS;
                if !step && elapsed_ms < Self::EVERY_MS {
                    return None;
                }
                Anchor {
                    t,
                    utc,
                    error_ms,
                    step,
                }
            }
        };
        self.last = Some(anchor);
        Some(anchor)
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, reason = "test times are small")]
mod tests {
    use super::*;

    fn keeper_at(utc_ms: i64) -> AnchorKeeper {
        let mut keeper = AnchorKeeper::default();
        keeper
            .observe(MediaTime::ZERO, WallTime::from_unix_ms(utc_ms), None)
            .unwrap();
        keeper
    }

    #[test]
    fn anchors_come_every_ten_seconds() {
        let mut keeper = keeper_at(5_000_000);
        let at = |t: u64| {
            (
                MediaTime::from_ms(t),
                WallTime::from_unix_ms(5_000_000 + t as i64),
            )
        };
        let (t, utc) = at(9_999);
        assert_eq!(keeper.observe(t, utc, None), None);
        let (t, utc) = at(10_000);
        assert_eq!(keeper.observe(t, utc, Some(3)).unwrap().error_ms, Some(3));
    }

    #[test]
    fn a_step_is_anchored_at_once_and_slew_is_not_a_step() {
        let mut keeper = keeper_at(5_000_000);
        let t = MediaTime::from_ms(1_000);
        assert_eq!(
            keeper.observe(t, WallTime::from_unix_ms(5_001_020), None),
            None
        );
        let back_an_hour = WallTime::from_unix_ms(1_401_000);
        assert!(keeper.observe(t, back_an_hour, None).unwrap().step);
    }
}
