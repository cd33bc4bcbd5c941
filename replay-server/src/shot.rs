//! Which frame answers a question about a moment, and when is there none? (api.md, `frame`)

use capture::{Gap, MediaTime, WallTime};
use index::{At, Timeline, timeline::FrameAt};

/// The frame of a moment, and what must be said beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    /// The moment asked for.
    pub t: MediaTime,
    /// The frame shown then: the last one before a gap when the moment lies in one.
    pub frame: FrameAt,
    /// What the wall clock showed when that frame began.
    pub utc: WallTime,
    /// How far that clock may have been off, as it said itself.
    pub error_ms: Option<u32>,
    /// The gap that the moment lies in.
    pub gap: Option<Gap>,
}

/// Why a moment has no frame to show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShotError {
    /// The session does not reach there.
    #[error("{t} lies outside the session, which runs from 0:00:00.000 to before {duration}")]
    Outside {
        /// The moment.
        t: MediaTime,
        /// The session's length.
        duration: MediaTime,
    },
    /// The wall clock showed that before the session began.
    #[error("{utc} lies before the session, which began at {start}")]
    TooEarly {
        /// The moment.
        utc: WallTime,
        /// The session's start.
        start: WallTime,
    },
    /// The session is going on and its recording does not reach there yet.
    #[error("{t} is not stored yet: the recording reaches to {duration} so far")]
    NotYet {
        /// The moment.
        t: MediaTime,
        /// Where the recording ends so far.
        duration: MediaTime,
    },
    /// The wall clock was set back, so the same time came twice.
    #[error("the clock showed {utc} {} times, at {}", moments.len(), list(moments))]
    Ambiguous {
        /// The moment.
        utc: WallTime,
        /// When that was.
        moments: Vec<MediaTime>,
    },
    /// No frame had come yet.
    #[error("there is no picture at {t}: the first one came {}", first.map_or_else(
        || "never".to_owned(), |first| format!("at {first}")))]
    BeforeFirstFrame {
        /// The moment.
        t: MediaTime,
        /// When the first frame came.
        first: Option<MediaTime>,
    },
}

fn list(moments: &[MediaTime]) -> String {
    let texts: Vec<String> = moments.iter().map(ToString::to_string).collect();
    texts.join(" and ")
}

/// The frame at `at`.
///
/// # Errors
/// When the moment is not in the session, not unique, or before any picture.
pub fn shot(timeline: &Timeline, at: At) -> Result<Shot, ShotError> {
    let t = moment(timeline, at)?;
    let frame = timeline.frame_at(t).ok_or_else(|| {
        let first = timeline.fragments.first().map(|placed| placed.at);
        ShotError::BeforeFirstFrame { t, first }
    })?;
    Ok(Shot {
        t,
        frame,
        utc: timeline.clock.utc_at(frame.t),
        error_ms: timeline.clock.error_ms_at(frame.t),
        gap: timeline.gap_at(t),
    })
}

/// The one moment of the session that `at` means.
///
/// # Errors
/// When the moment is not in the session, or not unique.
pub fn moment(timeline: &Timeline, at: At) -> Result<MediaTime, ShotError> {
    let t = match at {
        At::Media(t) => t,
        At::Utc(utc) => at_utc(timeline, utc)?,
    };
    let duration = timeline.duration;
    if timeline.contains(t) {
        Ok(t)
    } else if timeline.live {
        Err(ShotError::NotYet { t, duration })
    } else {
        Err(ShotError::Outside { t, duration })
    }
}

/// The one moment at which the wall clock showed `utc`.
fn at_utc(timeline: &Timeline, utc: WallTime) -> Result<MediaTime, ShotError> {
    let moments = timeline.clock.moments_at(utc);
    // After the last anchor the clock runs on, so a moment past the end still has its `t`.
    let within = moments.iter().filter(|&&t| timeline.contains(t));
    let within: Vec<MediaTime> = within.copied().collect();
    match (within.as_slice(), moments.as_slice()) {
        (&[t], _) | ([], &[t, ..]) => Ok(t),
        ([], []) => Err(ShotError::TooEarly {
            utc,
            start: timeline.clock.utc_at(MediaTime::ZERO),
        }),
        _ => Err(ShotError::Ambiguous {
            utc,
            moments: within,
        }),
    }
}

/// How long the screen must stand still for something to have taken effect.
const SETTLED_MS: u64 = 300;
/// What takes longer than this to show is no longer taken for an effect.
const MAX_SETTLE_MS: u64 = 5_000;

/// The moment at which the effect of what happened at `t` shows: the first later frame that
/// stands for 300 ms, looked for up to 5 s and up to the next gap.
#[must_use]
pub fn settled_after(timeline: &Timeline, t: MediaTime) -> MediaTime {
    let Some(before) = timeline.frame_at(t) else {
        return t;
    };
    let end = timeline
        .gaps
        .iter()
        .map(|gap| gap.from)
        .find(|&from| t < from)
        .unwrap_or(timeline.duration)
        .min(t.plus_ms(MAX_SETTLE_MS));
    let samples = timeline.fragments.iter().skip(before.placed);
    let mut later = samples
        .flat_map(|placed| placed.samples.iter().copied())
        .skip_while(|&start| start <= t)
        .take_while(|&start| start < end)
        .peekable();
    let mut settled = t;
    while let Some(frame) = later.next() {
        settled = frame;
        let next = later.peek().copied().unwrap_or(end);
        if next.ms_since(frame) >= SETTLED_MS {
            break;
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use capture::{Anchor, ClockMap, GapReason};
    use index::timeline::Placed;

    use super::*;

    const START: i64 = 1_796_029_200_000;

    fn ms(ms: u64) -> MediaTime {
        MediaTime::from_ms(ms)
    }

    fn anchor(t: u64, utc: i64, step: bool) -> Anchor {
        Anchor {
            t: ms(t),
            utc: WallTime::from_unix_ms(START + utc),
            error_ms: Some(3),
            step,
        }
    }

    fn placed(starts: &[u64], to: u64) -> Placed {
        let samples: Vec<MediaTime> = starts.iter().copied().map(ms).collect();
        Placed {
            seq: 0,
            fragment: 0,
            t: samples[0],
            dur: to - starts[0],
            at: samples[0],
            to: ms(to),
            bytes: 1,
            samples,
        }
    }

    /// A clock set back by a second at 4 s; no picture from 5 s to 8 s.
    fn timeline() -> Timeline {
        Timeline {
            duration: ms(10_000),
            live: false,
            inits: vec![],
            fragments: vec![
                placed(&[100, 1_000, 1_050, 1_100, 2_000], 5_000),
                placed(&[8_000], 10_000),
            ],
            gaps: vec![Gap {
                from: ms(5_000),
                to: ms(8_000),
                reason: GapReason::Stalled,
            }],
            clock: ClockMap::new(vec![anchor(0, 0, false), anchor(4_000, 3_000, true)]).unwrap(),
            masks: vec![],
            thumbs: vec![],
            activity: vec![],
        }
    }

    fn utc(ms: i64) -> At {
        At::Utc(WallTime::from_unix_ms(START + ms))
    }

    #[test]
    fn a_frame_is_told_with_its_own_time() {
        let shot = shot(&timeline(), At::Media(ms(1_099))).unwrap();
        assert_eq!(shot.frame.t, ms(1_050));
        assert_eq!(shot.utc.unix_ms(), START + 1_050);
        assert_eq!((shot.error_ms, shot.gap), (Some(3), None));
    }

    #[test]
    fn in_a_gap_it_is_the_last_frame_before() {
        let shot = shot(&timeline(), At::Media(ms(6_000))).unwrap();
        assert_eq!(shot.frame.t, ms(2_000));
        assert_eq!(shot.gap.unwrap().reason, GapReason::Stalled);
    }

    #[test]
    fn moments_without_a_frame_say_why() {
        let refused = |at| shot(&timeline(), at).unwrap_err();
        let (t, duration) = (ms(10_000), ms(10_000));
        assert_eq!(refused(At::Media(t)), ShotError::Outside { t, duration });
        let first = Some(ms(100));
        assert_eq!(
            refused(At::Media(ms(99))),
            ShotError::BeforeFirstFrame { t: ms(99), first }
        );
        assert!(matches!(refused(utc(-1)), ShotError::TooEarly { .. }));
        let moments = vec![ms(3_500), ms(4_500)];
        assert!(
            matches!(refused(utc(3_500)), ShotError::Ambiguous { moments: m, .. } if m == moments)
        );
    }

    #[test]
    fn a_live_session_may_reach_there_later() {
        let live = Timeline {
            live: true,
            ..timeline()
        };
        let error = shot(&live, At::Media(ms(10_000))).unwrap_err();
        assert!(matches!(error, ShotError::NotYet { .. }));
    }

    #[test]
    fn an_effect_shows_once_the_screen_stands_still() {
        let after = |t| settled_after(&timeline(), ms(t)).ms();
        assert_eq!(after(950), 1_100);
        assert_eq!(after(1_100), 2_000);
        assert_eq!(after(2_000), 2_000, "nothing more before the gap");
    }
}
