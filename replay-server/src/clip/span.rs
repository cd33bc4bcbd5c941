//! Which part of a session is a clip to show? Both ends are exact, or refused.

use capture::MediaTime;
use index::{At, Timeline};

use crate::shot::{ShotError, moment};

/// The part of a session that a clip shows: `from..to`, not empty, within the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClipSpan {
    /// The first moment.
    pub from: MediaTime,
    /// The first moment that is not in it.
    pub to: MediaTime,
}

/// A part of a session that no clip can show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// It begins outside the session.
    #[error("from: {0}")]
    From(#[source] ShotError),
    /// It ends beyond the session.
    #[error("to: {0}")]
    To(#[source] ShotError),
    /// It holds no moment.
    #[error("to: must be later than from")]
    Empty,
}

impl ClipSpan {
    /// The span of `timeline` between two moments: without them from the first picture, and up to
    /// the session's end, or as far as a live one is stored.
    ///
    /// # Errors
    /// When a moment lies outside the session or is not unique, or `to` does not follow `from`.
    pub fn new(timeline: &Timeline, from: Option<At>, to: Option<At>) -> Result<Self, SpanError> {
        let first = timeline.fragments.first().map(|placed| placed.at);
        let from = match from {
            Some(at) => moment(timeline, at).map_err(SpanError::From)?,
            None => first.unwrap_or(MediaTime::ZERO),
        };
        let end = timeline.duration;
        let to = match to {
            None => end,
            Some(at) => match moment(timeline, at) {
                // The end itself lies outside, and a clip ends before its `to`.
                Err(ShotError::Outside { t, .. } | ShotError::NotYet { t, .. }) if t == end => end,
                found => found.map_err(SpanError::To)?,
            },
        };
        if from < to {
            Ok(Self { from, to })
        } else {
            Err(SpanError::Empty)
        }
    }
}

#[cfg(test)]
mod tests {
    use capture::{ClockMap, WallTime};
    use index::timeline::{Placed, start_anchor};

    use super::*;

    const START_MS: i64 = 1_796_029_200_000;

    fn ms(ms: u64) -> MediaTime {
        MediaTime::from_ms(ms)
    }

    /// Ten seconds, the first picture of which came after 120 ms.
    fn timeline(live: bool) -> Timeline {
        let picture = Placed {
            seq: 0,
            fragment: 0,
            t: ms(120),
            dur: 9_880,
            at: ms(120),
            to: ms(10_000),
            bytes: 1,
            samples: vec![ms(120)],
        };
        let start = start_anchor(WallTime::from_unix_ms(START_MS));
        Timeline {
            duration: ms(10_000),
            live,
            inits: vec![],
            fragments: vec![picture],
            gaps: vec![],
            clock: ClockMap::new(vec![start]).unwrap(),
            masks: vec![],
            thumbs: vec![],
            activity: vec![],
        }
    }

    fn media(t: u64) -> Option<At> {
        Some(At::Media(ms(t)))
    }

    fn utc(t: i64) -> Option<At> {
        Some(At::Utc(WallTime::from_unix_ms(START_MS + t)))
    }

    fn check(from: Option<At>, to: Option<At>, [first, end]: [u64; 2]) {
        let span = ClipSpan::new(&timeline(false), from, to).unwrap();
        assert_eq!([span.from.ms(), span.to.ms()], [first, end]);
    }

    #[test]
    fn a_clip_lasts_from_the_first_picture_to_the_end_unless_told() {
        check(None, None, [120, 10_000]);
        check(media(0), media(10_000), [0, 10_000]);
        check(utc(1_500), utc(10_000), [1_500, 10_000]);
        check(media(1_500), media(1_501), [1_500, 1_501]);
    }

    #[test]
    fn a_clip_is_never_shorter_than_was_asked() {
        let refused = |live, from, to| ClipSpan::new(&timeline(live), from, to).unwrap_err();
        assert_eq!(refused(false, media(7), media(7)), SpanError::Empty);
        let (t, duration) = (ms(10_001), ms(10_000));
        let outside = ShotError::Outside { t, duration };
        assert_eq!(refused(false, None, media(10_001)), SpanError::To(outside));
        let not_yet = ShotError::NotYet { t, duration };
        let to = refused(true, None, media(10_001));
        assert_eq!(to, SpanError::To(not_yet.clone()));
        assert_eq!(refused(true, media(10_001), None), SpanError::From(not_yet));
        assert!(ClipSpan::new(&timeline(true), None, None).is_ok());
    }
}
