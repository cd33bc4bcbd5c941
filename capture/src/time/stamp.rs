//! Strictly increasing stamps out of a monotonic clock.

use super::MediaTime;

/// Turns readings of a monotonic clock into media times that never repeat.
///
/// Two readings in one millisecond, or one that went back, move up by 1 ms and are counted, so
/// order is kept and a writer never sees two samples at one time.
#[derive(Clone, Debug, Default)]
pub struct Stamper {
    last: Option<MediaTime>,
    ties: u64,
}

impl Stamper {
    /// A stamper whose first stamp comes after `last`.
    #[must_use]
    pub const fn after(last: MediaTime) -> Self {
        Self {
            last: Some(last),
            ties: 0,
        }
    }

    /// The stamp for a reading of `t`.
    pub fn stamp(&mut self, t: MediaTime) -> MediaTime {
        let t = match self.last {
            Some(last) if t <= last => {
                self.ties += 1;
                last.plus_ms(1)
            }
            _ => t,
        };
        self.last = Some(t);
        t
    }

    /// How many stamps had to move up.
    #[must_use]
    pub const fn ties(&self) -> u64 {
        self.ties
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_steps_back_move_up_and_are_counted() {
        let mut stamper = Stamper::default();
        let stamps: Vec<u64> = [0, 0, 0, 1, 50, 7, 60]
            .into_iter()
            .map(|ms| stamper.stamp(MediaTime::from_ms(ms)).ms())
            .collect();
        assert_eq!(stamps, [0, 1, 2, 3, 50, 51, 60]);
        assert_eq!(stamper.ties(), 4);
    }
}
