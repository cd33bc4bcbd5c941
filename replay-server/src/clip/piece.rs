//! What does a clip show, span by span? Every span of it is one piece of the timeline: a fragment,
//! or no picture. So pieces tile the clip, and its length is exact by construction.

use capture::{Gap, MediaTime};
use index::Timeline;

/// A span in which a clip shows one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) from: MediaTime,
    /// Later than `from`.
    pub(super) to: MediaTime,
    pub(super) shows: Shows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// [`Timeline::fragments`] at this index.
    Fragment(usize),
    /// No picture, because of the gap; `None` where nothing says why.
    Nothing(Option<Gap>),
}

impl Piece {
    /// The piece of a clip that begins at `at`, before its end at `to`.
    pub(super) fn at(timeline: &Timeline, at: MediaTime, to: MediaTime) -> Self {
        let next = timeline.fragments.partition_point(|placed| placed.at <= at);
        let shown = next
            .checked_sub(1)
            .and_then(|index| Some((index, timeline.fragments.get(index)?)))
            .filter(|(_, placed)| at < placed.to);
        let (end, shows) = if let Some((index, placed)) = shown {
            (placed.to, Shows::Fragment(index))
        } else {
            let gap = timeline.gap_at(at);
            let fragment = timeline.fragments.get(next).map(|placed| placed.at);
            let next_gap = timeline.gaps.partition_point(|gap| gap.from <= at);
            let next_gap = timeline.gaps.get(next_gap).map(|gap| gap.from);
            let ends = [gap.map(|gap| gap.to), fragment, next_gap];
            let end = ends.into_iter().flatten().min().unwrap_or(to);
            (end, Shows::Nothing(gap))
        };
        Self {
            from: at,
            to: end.min(to),
            shows,
        }
    }

    /// The pieces of a clip `from..to`, in order.
    pub(super) fn all(
        timeline: &Timeline,
        from: MediaTime,
        to: MediaTime,
    ) -> impl Iterator<Item = Self> {
        let piece = move |at| (at < to).then(|| Self::at(timeline, at, to));
        std::iter::successors(piece(from), move |last| piece(last.to))
    }
}

#[cfg(test)]
mod tests {
    use capture::{ClockMap, GapReason, WallTime};
    use index::timeline::{Placed, start_anchor};

    use super::*;

    fn ms(ms: u64) -> MediaTime {
        MediaTime::from_ms(ms)
    }

    fn placed(at: u64, to: u64) -> Placed {
        Placed {
            seq: 0,
            fragment: 0,
            t: ms(at),
            dur: to - at,
            at: ms(at),
            to: ms(to),
            bytes: 1,
            samples: vec![ms(at)],
        }
    }

    fn timeline(shown: &[[u64; 2]], gaps: &[[u64; 2]], duration: u64) -> Timeline {
        let gap = |&[from, to]: &[u64; 2]| Gap {
            from: ms(from),
            to: ms(to),
            reason: GapReason::Disconnected,
        };
        Timeline {
            duration: ms(duration),
            live: false,
            inits: vec![],
            fragments: shown.iter().map(|&[at, to]| placed(at, to)).collect(),
            gaps: gaps.iter().map(gap).collect(),
            clock: ClockMap::new(vec![start_anchor(WallTime::from_unix_ms(0))]).unwrap(),
            masks: vec![],
            thumbs: vec![],
            activity: vec![],
        }
    }

    /// Each piece as its bounds and what it shows: a fragment's number, `-` for a gap, `?`.
    fn check(timeline: &Timeline, [from, to]: [u64; 2], expected: &str) {
        let told: Vec<String> = Piece::all(timeline, ms(from), ms(to))
            .map(|Piece { from, to, shows }| {
                let shows = match shows {
                    Shows::Fragment(index) => index.to_string(),
                    Shows::Nothing(Some(_)) => "-".to_owned(),
                    Shows::Nothing(None) => "?".to_owned(),
                };
                format!("{}:{shows}:{}", from.ms(), to.ms())
            })
            .collect();
        assert_eq!(told.join(" "), expected);
    }

    #[test]
    fn a_clip_begins_and_ends_within_pieces() {
        let timeline = timeline(&[[0, 100], [100, 250], [400, 500]], &[[250, 400]], 500);
        check(&timeline, [30, 60], "30:0:60");
        check(&timeline, [100, 450], "100:1:250 250:-:400 400:2:450");
        check(&timeline, [300, 310], "300:-:310");
    }

    #[test]
    fn what_no_gap_explains_is_a_piece_too() {
        let timeline = timeline(&[[100, 200], [300, 400]], &[[220, 280]], 500);
        let all = "0:?:100 100:0:200 200:?:220 220:-:280 280:?:300 300:1:400 400:?:500";
        check(&timeline, [0, 500], all);
    }

    #[test]
    fn ten_reconnects_in_a_minute_leave_no_piece_out() {
        let shown: Vec<[u64; 2]> = (0..10).map(|n| [n * 6_000, n * 6_000 + 4_500]).collect();
        let gaps: Vec<[u64; 2]> = shown.iter().map(|[_, to]| [*to, to + 1_500]).collect();
        let timeline = timeline(&shown, &gaps, 60_000);
        let pieces: Vec<Piece> = Piece::all(&timeline, ms(1_234), ms(59_321)).collect();
        assert_eq!(pieces.len(), 20);
        assert_eq!(pieces[0].from, ms(1_234));
        assert!(pieces.windows(2).all(|two| two[0].to == two[1].from));
        assert_eq!(pieces[19].to, ms(59_321));
    }
}
