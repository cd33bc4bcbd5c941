//! What does a session show at `t`? Every object's spans laid on one clock, repetitions expanded
//! (recording.md, "Time", "Heartbeat and idle").
//!
//! Times are looked up among recorded starts; nothing sums durations to find one.

mod build;
mod find;

pub use build::start_anchor;

use capture::{Anchor, ClockMap, Gap, MediaTime, Rect};
use segment::manifest::{Activity, Fragment, Init, Mask, Repeat, Thumbs};
use serde::Serialize;

/// The most fragments, repetitions counted, that one timeline holds: two weeks of steady work.
/// Bounds what a damaged repeat can ask for.
pub const MAX_PLACED: usize = 300_000;
/// The most samples, repetitions counted, that one timeline holds: a week at 15 frames a second.
pub const MAX_SAMPLES: usize = 10_000_000;

/// What the timeline needs of one object, in `seq` order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectSpans {
    /// Its number.
    pub seq: u64,
    /// Where it ends.
    pub to: MediaTime,
    /// The bytes a player needs before its fragments; `None` for an idle record.
    pub init: Option<Init>,
    /// Its fragments.
    pub fragments: Vec<Fragment>,
    /// Its stretches of an earlier fragment.
    pub repeats: Vec<Repeat>,
    /// Its stretches without picture.
    pub gaps: Vec<Gap>,
    /// Its clock anchors.
    pub anchors: Vec<Anchor>,
    /// Its masks.
    pub masks: Vec<Mask>,
    /// Its sprite sheet.
    pub thumbs: Option<Thumbs>,
    /// The changed share of the screen by second.
    pub activity: Vec<Activity>,
}

/// A session on one clock. Everything is sorted by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The session's length so far.
    pub duration: MediaTime,
    /// Whether more may come.
    pub live: bool,
    /// What players need, one for each segment.
    pub inits: Vec<InitAt>,
    /// Fragments where they are shown, repetitions expanded.
    pub fragments: Vec<Placed>,
    /// Stretches without picture; one that runs on into the next object is one.
    pub gaps: Vec<Gap>,
    /// Readings of both clocks, and the way between them.
    pub clock: ClockMap,
    /// Burnt-in masks; one that runs on into the next object is one.
    pub masks: Vec<Mask>,
    /// Sprite sheets.
    pub thumbs: Vec<ThumbsAt>,
    /// The changed share of the screen, for seconds with a change.
    pub activity: Vec<Activity>,
}

/// The codec parameters of one segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitAt {
    /// The segment.
    pub seq: u64,
    /// The codec as RFC 6381 names it.
    pub codec: String,
    /// The coded width in pixels.
    pub width: u32,
    /// The coded height in pixels.
    pub height: u32,
    /// The true screen within it, when its size is odd.
    pub crop: Option<Rect>,
}

/// One fragment where it is shown. `at..to` is shorter than the fragment for the last, cut
/// repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// The segment that holds it.
    pub seq: u64,
    /// Which of its fragments it is, from 0.
    pub fragment: u32,
    /// Where it was recorded.
    pub t: MediaTime,
    /// Its recorded length in milliseconds.
    pub dur: u64,
    /// Where it is shown from.
    pub at: MediaTime,
    /// Until when it is shown.
    pub to: MediaTime,
    /// Its size in bytes.
    pub bytes: u64,
    /// When each sample is shown: strictly increasing, from `at`, before `to`.
    pub samples: Vec<MediaTime>,
}

impl Placed {
    /// Whether it stands where it was recorded.
    #[must_use]
    pub fn is_original(&self) -> bool {
        self.at == self.t
    }
}

/// A sprite sheet of one segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThumbsAt {
    /// The segment.
    pub seq: u64,
    /// The sheet.
    #[serde(flatten)]
    pub thumbs: Thumbs,
}

/// The frame shown at a time: one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameAt {
    /// When the frame began to be shown.
    pub t: MediaTime,
    /// The index into [`Timeline::fragments`].
    pub placed: usize,
    /// Which sample of that fragment it is, from 0.
    pub sample: usize,
}

/// Spans that make no timeline.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimelineError {
    /// More fragments or samples than any session has.
    #[error(
        "object {seq} brings the timeline past {MAX_PLACED} fragments or {MAX_SAMPLES} samples"
    )]
    TooLong {
        /// The object.
        seq: u64,
    },
    /// A fragment's or repeat's times cannot be.
    #[error("object {seq}: {problem}")]
    Broken {
        /// The object.
        seq: u64,
        /// What cannot be.
        problem: &'static str,
    },
    /// There is no clock anchor, or they are out of order.
    #[error(transparent)]
    Clock(#[from] capture::time::ClockMapError),
}
