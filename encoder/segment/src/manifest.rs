//! The manifest: what a segment's last box says about it, and its little sibling, the idle record.

use std::ops::Range;

use capture::{Anchor, Gap, MediaTime, Rect, SessionId, Size, event::Event};
use serde::{Deserialize, Serialize};

use crate::Sha256;

mod validate;

pub use validate::InvalidManifest;

/// The format this crate writes. Readers refuse any other and ignore fields they do not know.
pub const FORMAT: u32 = 1;

/// What every object of a recording says: where it lies and what stands beside the picture.
///
/// `from..to` is half-open. It begins where the object before it ended, so a session's objects
/// tile its whole length. Inside, first come gaps or repeats, then the object's own fragments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The session.
    pub session: SessionId,
    /// The object's number, from 0, without holes across segments and idle records.
    pub seq: u64,
    /// Which run of the recorder wrote it, from 1; a restart begins a new one.
    pub run: u32,
    /// Where it begins.
    pub from: MediaTime,
    /// Where it ends.
    pub to: MediaTime,
    /// SHA-256 of the object before it: of `session.json` for the first.
    pub prev: Sha256,
    /// Stretches in which an earlier fragment's picture stands, over and over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeat>,
    /// Stretches without a picture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// The clock anchors read during it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    /// The masks that were burnt in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<Mask>,
    /// The changed share of the screen by second: only seconds with a change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activity: Vec<Activity>,
    /// A signed note over every recorder leaf before this one, once signing is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// "From `from` to `to` the picture is fragment `fragment` of segment `seq`, repeated."
///
/// Repetition `k` begins at `from` plus `k` times that fragment's length; the last is cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// The segment that holds the idle GOP.
    pub seq: u64,
    /// Which of its fragments it is, from 0.
    pub fragment: u32,
    /// Where the stretch begins.
    pub from: MediaTime,
    /// Where it ends.
    pub to: MediaTime,
}

/// A region whose pixels were never stored. Carries the rule, never what it hid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// Where, in true screen pixels, as it was painted.
    pub rect: Rect,
    /// From when.
    pub from: MediaTime,
    /// Until when.
    pub to: MediaTime,
    /// The name of the rule.
    pub rule: String,
    /// Why it applied: `fixed`, `mark` or `text`.
    pub kind: String,
}

/// How much of the screen changed in one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u16)", into = "(u64, u16)")]
pub struct Activity {
    /// The second since session start.
    pub second: u64,
    /// The changed share, summed over its frames, in thousandths, at most 1000.
    pub permille: u16,
}

impl From<(u64, u16)> for Activity {
    fn from((second, permille): (u64, u16)) -> Self {
        Self { second, permille }
    }
}

impl From<Activity> for (u64, u16) {
    fn from(activity: Activity) -> Self {
        (activity.second, activity.permille)
    }
}

/// The manifest of an MP4 segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format's version: [`FORMAT`].
    pub format: u32,
    /// Where the segment lies.
    #[serde(flatten)]
    pub span: Span,
    /// The bytes a player needs before any fragment.
    pub init: Init,
    /// The closed GOPs, in order and without a hole.
    pub fragments: Vec<Fragment>,
    /// The box of recorded events.
    pub events: EventsBox,
    /// The sprite sheet that belongs to it, an object of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbs: Option<Thumbs>,
    /// How long frames were held for text rules before they were encoded; 0 without such rules.
    #[serde(default)]
    pub hold_back_ms: u64,
}

/// `ftyp` and `moov`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    /// Where they begin in the file.
    pub offset: u64,
    /// Their length in bytes.
    pub len: u64,
    /// The codec as RFC 6381 names it, such as `avc1.640028`.
    pub codec: String,
    /// The coded width in pixels: even.
    pub width: u32,
    /// The coded height in pixels: even.
    pub height: u32,
    /// The true screen within the coded picture, when its size is odd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crop: Option<Rect>,
}

impl Init {
    /// Which bytes of the file it takes.
    #[must_use]
    pub const fn byte_range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len)
    }

    /// The size of the coded picture.
    #[must_use]
    pub const fn coded(&self) -> Size {
        Size::new(self.width, self.height)
    }

    /// The true size of the recorded screen.
    #[must_use]
    pub fn screen(&self) -> Size {
        self.crop
            .map_or(self.coded(), |crop| Size::new(crop.w, crop.h))
    }
}

/// One closed GOP: a `moof` and its `mdat`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragment {
    /// Where its first sample lies in the session.
    pub t: MediaTime,
    /// Its exact length in milliseconds: up to the next fragment, gap or the end.
    pub dur: u64,
    /// Where the `moof` begins in the file.
    pub offset: u64,
    /// The length of `moof` and `mdat` in bytes.
    pub len: u64,
    /// How many of its samples show a change; 0 for an idle GOP.
    pub changed: u32,
    /// Each sample's distance from the fragment's start in milliseconds, and its size in bytes.
    pub samples: Vec<(u64, u32)>,
}

impl Fragment {
    /// The first instant after it.
    #[must_use]
    pub const fn end(&self) -> MediaTime {
        self.t.plus_ms(self.dur)
    }

    /// Which bytes of the file it takes.
    #[must_use]
    pub const fn byte_range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len)
    }
}

/// Where the events box lies and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsBox {
    /// Where the box begins in the file.
    pub offset: u64,
    /// The whole box's length in bytes.
    pub len: u64,
    /// How many events it holds.
    pub count: u64,
    /// SHA-256 of its compressed payload.
    pub sha256: Sha256,
}

impl EventsBox {
    /// Which bytes of the file it takes.
    #[must_use]
    pub const fn byte_range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len)
    }
}

/// A sprite sheet: one small picture for each key frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thumbs {
    /// SHA-256 of the sheet.
    pub sha256: Sha256,
    /// The sheet's size in bytes.
    pub bytes: u64,
    /// A picture's size in pixels.
    pub tile: Size,
    /// How many pictures stand side by side.
    pub columns: u32,
    /// When each was taken, in reading order.
    pub times: Vec<MediaTime>,
}

/// An object without media: an idle stretch, or a gap at the end of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleRecord {
    /// The format's version: [`FORMAT`].
    pub format: u32,
    /// Where it lies.
    #[serde(flatten)]
    pub span: Span,
    /// What was recorded beside the picture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
}
