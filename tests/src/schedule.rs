//! When does the painter paint? At irregular moments that a seed decides, never in idle spans.

use std::ops::Range;

/// Shortest and longest pause between two paints, in ms.
const PAUSE_MS: Range<u64> = 40..700;
/// Inside a burst the pauses are this short, in ms.
const BURST_PAUSE_MS: Range<u64> = 40..120;
/// Paints in a burst, and between two bursts.
const RUN: Range<u64> = 3..14;

/// Due times of paints, in ms after the start, in rising order.
#[derive(Clone, Debug)]
pub struct Schedule {
    random: Random,
    at_ms: u64,
    end_ms: u64,
    idle_ms: Vec<Range<u64>>,
    burst: bool,
    left_in_run: u64,
}

impl Schedule {
    /// Paints up to `end_ms`, none within the half-open spans `idle_ms`.
    #[must_use]
    pub fn new(seed: u64, end_ms: u64, idle_ms: Vec<Range<u64>>) -> Self {
        Self {
            random: Random::new(seed),
            at_ms: 0,
            end_ms,
            idle_ms,
            burst: false,
            left_in_run: 0,
        }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            if self.left_in_run == 0 {
                self.burst = !self.burst;
                self.left_in_run = self.random.within(RUN);
            }
            self.left_in_run -= 1;
            let pause = if self.burst { BURST_PAUSE_MS } else { PAUSE_MS };
            self.at_ms += self.random.within(pause);
            if self.end_ms <= self.at_ms {
                return None;
            }
            match self.idle_ms.iter().find(|idle| idle.contains(&self.at_ms)) {
                // The first paint after an idle span still comes at an irregular moment.
                Some(idle) => self.at_ms = idle.end,
                None => return Some(self.at_ms),
            }
        }
    }
}

/// SplitMix64: repeatable, and good enough to choose moments with.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The same `seed` gives the same numbers.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number in the half-open `range`, which must not be empty.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        range.start + (z ^ z >> 31) % (range.end - range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself() {
        let times = |seed| Schedule::new(seed, 60_000, vec![]).collect::<Vec<_>>();
        assert_eq!(times(7), times(7));
        assert_ne!(times(7), times(8));
    }

    #[test]
    fn nothing_is_due_in_an_idle_span_and_work_goes_on_after_it() {
        let idle = 10_000..75_000;
        let times: Vec<u64> = Schedule::new(1, 90_000, vec![idle.clone()]).collect();
        assert!(times.iter().all(|at| !idle.contains(at)));
        assert!(times.iter().any(|at| idle.end <= *at));
    }

    #[test]
    fn pauses_stay_within_their_bounds() {
        let times: Vec<u64> = Schedule::new(3, 120_000, vec![]).collect();
        let pauses = times.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(pauses.clone().all(|pause| PAUSE_MS.contains(&pause)));
        assert!(pauses.clone().any(|pause| pause < 80) && pauses.clone().any(|pause| pause > 400));
    }
}
