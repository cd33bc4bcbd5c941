//! Converting between media time and UTC through anchors.

use super::{Anchor, MediaTime, WallTime};

/// Anchors that cannot be used as a clock.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockMapError {
    /// There is none.
    #[error("a session needs at least one clock anchor")]
    Empty,
    /// Two anchors do not follow each other on the media clock.
    #[error("clock anchor {index} does not come after the one before it")]
    OutOfOrder {
        /// The position of the later anchor.
        index: usize,
    },
}

/// The two clocks of one session, tied by its anchors.
///
/// Between two anchors without a step, UTC is interpolated linearly, to the millisecond, rounded
/// down. Before a step, after the last anchor and before the first one, both clocks run at the
/// same rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockMap {
    // INVARIANT: not empty, strictly increasing in `t`.
    anchors: Vec<Anchor>,
    // INVARIANT: where each run begins: a longest stretch of anchors over which UTC advances and
    // that has no step but at its begin. Within one, no UTC occurs twice.
    runs: Vec<usize>,
}

impl ClockMap {
    /// A map over `anchors`, which must come in strictly increasing media time.
    ///
    /// # Errors
    /// When there is no anchor, or one does not come after the one before it.
    pub fn new(anchors: Vec<Anchor>) -> Result<Self, ClockMapError> {
        if anchors.is_empty() {
            return Err(ClockMapError::Empty);
        }
        if let Some(i) = anchors.windows(2).position(|pair| pair[1].t <= pair[0].t) {
            return Err(ClockMapError::OutOfOrder { index: i + 1 });
        }
        let breaks = |i: &usize| match i.checked_sub(1).and_then(|before| anchors.get(before)) {
            Some(before) => anchors[*i].step || anchors[*i].utc <= before.utc,
            None => true,
        };
        let runs = (0..anchors.len()).filter(breaks).collect();
        Ok(Self { anchors, runs })
    }

    /// The anchors, in media time order.
    #[must_use]
    pub fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// What the wall clock showed at `t`.
    #[must_use]
    pub fn utc_at(&self, t: MediaTime) -> WallTime {
        let next = self.anchors.partition_point(|anchor| anchor.t <= t);
        let base = self.anchors[next.saturating_sub(1)];
        let offset_ms = to_i64(t) - to_i64(base.t);
        let slew = match self.anchors.get(next) {
            Some(after) if next > 0 && !after.step => Slew::between(base, *after),
            _ => Slew::NONE,
        };
        base.utc.plus_ms(slew.wall_ms(offset_ms))
    }

    /// The error of [`utc_at`](Self::utc_at) at `t`, as the wall clock itself stated it.
    #[must_use]
    pub fn error_ms_at(&self, t: MediaTime) -> Option<u32> {
        let next = self.anchors.partition_point(|anchor| anchor.t <= t);
        self.anchors[next.saturating_sub(1)].error_ms
    }

    /// Every moment at which the wall clock showed `utc`, earliest first.
    ///
    /// One, except around a step: a UTC that occurred twice gives both moments, and one that was
    /// skipped gives the step's own. Empty when `utc` lies before the session.
    #[must_use]
    pub fn moments_at(&self, utc: WallTime) -> Vec<MediaTime> {
        let ends = self.runs.iter().skip(1).copied();
        let ends = ends.chain([self.anchors.len()]);
        let mut moments = Vec::new();
        for (&start, end) in self.runs.iter().zip(ends) {
            // Only the last anchor that `utc` has reached can lead to it.
            let reached = self.anchors[start..end].partition_point(|anchor| anchor.utc <= utc);
            moments.extend(self.moment_after(start + reached.saturating_sub(1), utc));
        }
        moments.dedup();
        moments
    }

    /// When the wall clock showed `utc` between the `i`th anchor and the next.
    fn moment_after(&self, i: usize, utc: WallTime) -> Option<MediaTime> {
        let base = self.anchors[i];
        let after = self.anchors.get(i + 1).copied();
        let slew = match after {
            Some(after) if !after.step => Slew::between(base, after),
            _ => Slew::NONE,
        };
        let offset_ms = slew.media_ms(utc.unix_ms().saturating_sub(base.utc.unix_ms()));
        let t_ms = to_i64(base.t).saturating_add(offset_ms);
        let starts = if i == 0 { 0 } else { to_i64(base.t) };
        let ends = after.map_or(i64::MAX, |after| to_i64(after.t));
        let t = u64::try_from(t_ms).ok()?;
        if starts <= t_ms && t_ms < ends {
            return Some(MediaTime::from_ms(t));
        }
        // Skipped by a forward step.
        let skipped = |after: &Anchor| after.step && t_ms >= ends && utc < after.utc;
        after.filter(skipped).map(|after| after.t)
    }
}

/// How fast the wall clock ran against the media clock between two anchors.
#[derive(Clone, Copy)]
struct Slew {
    wall_ms: i128,
    media_ms: i128,
}

impl Slew {
    const NONE: Self = Self {
        wall_ms: 1,
        media_ms: 1,
    };

    fn between(a: Anchor, b: Anchor) -> Self {
        let wall_ms = i128::from(b.utc.unix_ms()) - i128::from(a.utc.unix_ms());
        let media_ms = i128::from(b.t.ms_since(a.t));
        // Clocks that do not both advance carry no rate; a valid recording marks those as steps.
        if wall_ms < 1 || media_ms < 1 {
            Self::NONE
        } else {
            Self { wall_ms, media_ms }
        }
    }

    fn wall_ms(self, media_ms: i64) -> i64 {
        clamp((i128::from(media_ms) * self.wall_ms).div_euclid(self.media_ms))
    }

    /// The greatest media offset whose wall offset does not pass `wall_ms`.
    fn media_ms(self, wall_ms: i64) -> i64 {
        let past = (i128::from(wall_ms) + 1) * self.media_ms;
        clamp((past + self.wall_ms - 1).div_euclid(self.wall_ms) - 1)
    }
}

fn to_i64(t: MediaTime) -> i64 {
    i64::try_from(t.ms()).unwrap_or(i64::MAX)
}

fn clamp(ms: i128) -> i64 {
    i64::try_from(ms).unwrap_or(if ms < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, reason = "test times are small")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: i64 = 1_800_000_000_000;

    fn anchor(t: u64, utc: i64, step: bool) -> Anchor {
        let (t, utc) = (MediaTime::from_ms(t), WallTime::from_unix_ms(BASE + utc));
        Anchor {
            t,
            utc,
            error_ms: None,
            step,
        }
    }

    fn check(anchors: &[Anchor], utc: i64, moments: &[u64]) {
        let map = ClockMap::new(anchors.to_vec()).unwrap();
        let found = map.moments_at(WallTime::from_unix_ms(BASE + utc));
        let found: Vec<u64> = found.into_iter().map(MediaTime::ms).collect();
        assert_eq!(found, moments, "at utc {utc}");
    }

    #[test]
    fn a_utc_before_the_session_has_no_moment() {
        check(&[anchor(0, 0, false)], -1, &[]);
        check(&[anchor(0, 0, false)], 0, &[0]);
    }

    #[test]
    fn a_repeated_utc_has_two_moments() {
        let anchors = [anchor(0, 0, false), anchor(60_000, 30_000, true)];
        check(&anchors, 29_999, &[29_999]);
        check(&anchors, 30_000, &[30_000, 60_000]);
        check(&anchors, 59_999, &[59_999, 89_999]);
        check(&anchors, 60_000, &[90_000]);
    }

    #[test]
    fn a_skipped_utc_is_the_moment_of_the_step() {
        let anchors = [anchor(0, 0, false), anchor(10_000, 3_600_000, true)];
        check(&anchors, 9_999, &[9_999]);
        check(&anchors, 500_000, &[10_000]);
        check(&anchors, 3_600_000, &[10_000]);
    }

    #[test]
    fn long_sessions_keep_five_milliseconds_apart() {
        let map = ClockMap::new(vec![anchor(0, 0, false)]).unwrap();
        let (a, b) = (39 * 3_600_000, 39 * 3_600_000 + 5);
        let gap = map.utc_at(MediaTime::from_ms(b)).unix_ms()
            - map.utc_at(MediaTime::from_ms(a)).unix_ms();
        assert_eq!(gap, 5);
    }

    /// Every anchor asked, one after the other.
    fn moments_one_by_one(map: &ClockMap, utc: WallTime) -> Vec<MediaTime> {
        let asked = (0..map.anchors.len()).filter_map(|i| map.moment_after(i, utc));
        let mut moments: Vec<_> = asked.collect();
        moments.dedup();
        moments
    }

    proptest! {
        #[test]
        fn searching_finds_what_asking_every_anchor_does(
            gaps in prop::collection::vec((1u64..500, -600i64..600, any::<bool>()), 0..20),
            first in 0u64..100,
        ) {
            let (mut t, mut utc) = (first, 0);
            let mut anchors = vec![anchor(t, utc, false)];
            for (media_ms, wall_ms, step) in gaps {
                t += media_ms;
                utc += wall_ms;
                anchors.push(anchor(t, utc, step));
            }
            let map = ClockMap::new(anchors.clone()).unwrap();
            let edges = anchors.iter().flat_map(|anchor| {
                let utc = anchor.utc.unix_ms() - BASE;
                [utc - 301, utc - 1, utc, utc + 1, utc + 299]
            });
            for utc in edges.map(|utc| WallTime::from_unix_ms(BASE + utc)) {
                prop_assert_eq!(map.moments_at(utc), moments_one_by_one(&map, utc));
            }
        }

        #[test]
        fn utc_and_back_is_the_identity_outside_repeats(
            gaps in prop::collection::vec((1u64..20_000, 0i64..=20, any::<Option<i32>>()), 1..12),
            t in 0u64..300_000,
        ) {
            let mut anchors = vec![anchor(0, 0, false)];
            let (mut at, mut utc) = (0u64, 0i64);
            for (media_ms, fast_ms, step) in gaps {
                at += media_ms;
                // A wall clock that runs fast keeps every millisecond distinct.
                utc += media_ms as i64 + fast_ms;
                let step = step.map(|ms| i64::from(ms % 100_000));
                utc = (utc + step.unwrap_or(0)).max(-1_000_000_000);
                anchors.push(anchor(at, utc, step.is_some()));
            }
            let map = ClockMap::new(anchors).unwrap();
            let t = MediaTime::from_ms(t);
            let moments = map.moments_at(map.utc_at(t));
            prop_assert!(moments.contains(&t), "{t:?} not among {moments:?}");
        }

        #[test]
        fn a_slow_wall_clock_is_off_by_its_rounding_at_most(t in 0u64..20_000, slow in 1i64..=20) {
            let map = ClockMap::new(vec![anchor(0, 0, false), anchor(10_000, 10_000 - slow, false)])
                .unwrap();
            let t = MediaTime::from_ms(t);
            let moments = map.moments_at(map.utc_at(t));
            prop_assert_eq!(moments.len(), 1);
            prop_assert!(moments[0].ms().abs_diff(t.ms()) <= 1);
        }
    }
}
