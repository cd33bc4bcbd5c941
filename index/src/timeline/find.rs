//! What is shown at `t`: "the sample with the greatest start ≤ `t`".

use capture::{Gap, MediaTime};

use super::{FrameAt, Placed, Timeline};

impl Timeline {
    /// Whether `t` lies within the session: `0..duration`.
    #[must_use]
    pub fn contains(&self, t: MediaTime) -> bool {
        t < self.duration
    }

    /// The frame shown at `t`: the sample with the greatest start ≤ `t`. Inside a gap that is the
    /// last frame before it. `None` before the first frame.
    #[must_use]
    pub fn frame_at(&self, t: MediaTime) -> Option<FrameAt> {
        let placed = self.last_begun(t)?;
        let samples = &self.fragments.get(placed)?.samples;
        let sample = samples
            .partition_point(|&start| start <= t)
            .checked_sub(1)?;
        Some(FrameAt {
            t: *samples.get(sample)?,
            placed,
            sample,
        })
    }

    /// The fragment shown at `t`; `None` in a gap.
    #[must_use]
    pub fn fragment_at(&self, t: MediaTime) -> Option<&Placed> {
        let placed = self.fragments.get(self.last_begun(t)?)?;
        (t < placed.to).then_some(placed)
    }

    /// The gap that `t` lies in.
    #[must_use]
    pub fn gap_at(&self, t: MediaTime) -> Option<Gap> {
        let next = self.gaps.partition_point(|gap| gap.from <= t);
        let gap = self.gaps.get(next.checked_sub(1)?)?;
        (t < gap.to).then_some(*gap)
    }

    /// The index of the last fragment that begins at or before `t`.
    fn last_begun(&self, t: MediaTime) -> Option<usize> {
        let next = self.fragments.partition_point(|placed| placed.at <= t);
        next.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use capture::{GapReason, WallTime};
    use proptest::prelude::*;
    use segment::manifest::{Fragment, Repeat};

    use super::*;
    use crate::timeline::{ObjectSpans, TimelineError};

    fn ms(t: u64) -> MediaTime {
        MediaTime::from_ms(t)
    }

    fn fragment(t: u64, starts: &[u64], dur: u64) -> Fragment {
        Fragment {
            t: ms(t),
            dur,
            offset: 0,
            len: 100,
            changed: 0,
            samples: starts.iter().map(|&dt| (dt, 10)).collect(),
        }
    }

    fn build(objects: Vec<ObjectSpans>) -> Result<Timeline, TimelineError> {
        Timeline::new(WallTime::from_unix_ms(0), None, false, objects)
    }

    /// Two seconds recorded, then the second of them repeated to 4 500, a gap to 6 000, a frame.
    fn session() -> Timeline {
        let first = ObjectSpans {
            seq: 0,
            to: ms(2000),
            fragments: vec![
                fragment(0, &[0, 400], 1000),
                fragment(1000, &[0, 600], 1000),
            ],
            ..ObjectSpans::default()
        };
        let idle = ObjectSpans {
            seq: 1,
            to: ms(5000),
            repeats: vec![Repeat {
                seq: 0,
                fragment: 1,
                from: ms(2000),
                to: ms(4500),
            }],
            gaps: vec![Gap {
                from: ms(4500),
                to: ms(5000),
                reason: GapReason::Stalled,
            }],
            ..ObjectSpans::default()
        };
        let last = ObjectSpans {
            seq: 2,
            to: ms(6500),
            gaps: vec![Gap {
                from: ms(5000),
                to: ms(6000),
                reason: GapReason::Stalled,
            }],
            fragments: vec![fragment(6000, &[0], 500)],
            ..ObjectSpans::default()
        };
        build(vec![first, idle, last]).unwrap()
    }

    #[test]
    fn repetitions_begin_a_fragments_length_apart_and_the_last_is_cut() {
        let timeline = session();
        let spans: Vec<_> = timeline
            .fragments
            .iter()
            .map(|placed| (placed.at.ms(), placed.to.ms(), placed.samples.len()))
            .collect();
        assert_eq!(
            spans,
            [
                (0, 1000, 2),
                (1000, 2000, 2),
                (2000, 3000, 2),
                (3000, 4000, 2),
                (4000, 4500, 1),
                (6000, 6500, 1),
            ]
        );
        assert_eq!(timeline.duration, ms(6500));
    }

    #[test]
    fn a_frame_holds_until_the_next_and_through_a_gap() {
        let timeline = session();
        for (t, shown) in [
            (0, 0),
            (399, 0),
            (400, 400),
            (999, 400),
            (1600, 1600),
            (2599, 2000),
            (3600, 3600),
            (4499, 4000),
            (5999, 4000),
            (6000, 6000),
            (99_000, 6000),
        ] {
            assert_eq!(timeline.frame_at(ms(t)).unwrap().t, ms(shown), "at {t}");
        }
    }

    #[test]
    fn a_gap_over_two_objects_is_one_and_half_open() {
        let timeline = session();
        assert_eq!(timeline.gaps.len(), 1);
        assert_eq!(timeline.gap_at(ms(4499)), None);
        assert_eq!(timeline.gap_at(ms(4500)).unwrap().to, ms(6000));
        assert!(timeline.gap_at(ms(5999)).is_some() && timeline.fragment_at(ms(5999)).is_none());
        assert_eq!(timeline.gap_at(ms(6000)), None);
    }

    #[test]
    fn a_repeat_that_never_ends_is_an_error() {
        let mut object = ObjectSpans {
            fragments: vec![fragment(0, &[0], 1)],
            to: ms(1),
            ..ObjectSpans::default()
        };
        let endless = ObjectSpans {
            seq: 1,
            repeats: vec![Repeat {
                seq: 0,
                fragment: 0,
                from: ms(1),
                to: ms(u64::MAX),
            }],
            ..ObjectSpans::default()
        };
        let error = build(vec![object.clone(), endless]).unwrap_err();
        assert_eq!(error, TimelineError::TooLong { seq: 1 });
        object.fragments[0].dur = 0;
        assert!(matches!(
            build(vec![object]),
            Err(TimelineError::Broken { seq: 0, .. })
        ));
    }

    #[test]
    fn a_repeat_of_nothing_is_an_error() {
        let object = ObjectSpans {
            repeats: vec![Repeat {
                seq: 7,
                fragment: 0,
                from: ms(0),
                to: ms(5),
            }],
            ..ObjectSpans::default()
        };
        assert!(matches!(
            build(vec![object]),
            Err(TimelineError::Broken { seq: 0, .. })
        ));
    }

    proptest! {
        /// Objects of random fragments, gaps and repeats, against a search through every sample.
        #[test]
        fn the_frame_found_is_the_greatest_start_not_after_t(
            shape in prop::collection::vec(
                (prop::collection::vec(1u64..400, 1..6), 0u64..900, 0u64..2000), 1..12),
            t in 0u64..30_000,
        ) {
            let mut objects = Vec::new();
            let mut starts = Vec::new();
            let mut now = 0;
            for (seq, (steps, gap, repeat)) in (0u64..).zip(shape) {
                let from = now;
                let mut object = ObjectSpans { seq, ..ObjectSpans::default() };
                if gap > 0 {
                    let reason = GapReason::Disconnected;
                    object.gaps.push(Gap { from: ms(from), to: ms(from + gap), reason });
                    now += gap;
                }
                let begins: Vec<u64> = std::iter::once(0)
                    .chain(steps.iter().scan(0, |sum, step| { *sum += step; Some(*sum) }))
                    .collect();
                let (dur, begins) = begins.split_last().unwrap();
                object.fragments.push(fragment(now, begins, *dur));
                starts.extend(begins.iter().map(|dt| now + dt));
                now += dur;
                object.to = ms(now);
                objects.push(object);
                if repeat > 0 {
                    let to = now + repeat;
                    let source = now - dur;
                    objects.push(ObjectSpans {
                        seq: 100 + seq,
                        to: ms(to),
                        repeats: vec![Repeat { seq, fragment: 0, from: ms(now), to: ms(to) }],
                        ..ObjectSpans::default()
                    });
                    // The picture `e` into the stretch is the one `e mod dur` into the fragment.
                    starts.extend((now..to).filter(|at| begins.contains(&((at - now) % dur))));
                    prop_assert!(source < now);
                    now = to;
                }
            }
            let timeline = build(objects).unwrap();
            let expected = starts.iter().copied().filter(|&start| start <= t).max();
            prop_assert_eq!(timeline.frame_at(ms(t)).map(|frame| frame.t.ms()), expected);
            let covered = timeline.fragments.iter().any(|p| p.at <= ms(t) && ms(t) < p.to);
            prop_assert_eq!(timeline.fragment_at(ms(t)).is_some(), covered);
            prop_assert_eq!(
                timeline.contains(ms(t)),
                covered || timeline.gap_at(ms(t)).is_some()
            );
        }
    }
}
