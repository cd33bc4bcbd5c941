//! What is shown when? Everything a player needs to seek exactly, with repetitions expanded.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use capture::{Anchor, Gap};
use index::timeline::{InitAt, Placed, Timeline};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, params, sessions::MaskSpan};
use crate::archive::Archive;

/// A session on one clock. All times are ms since session start.
#[derive(Serialize, ToSchema)]
pub(super) struct TimelineAnswer {
    duration_ms: u64,
    /// Whether more may come.
    live: bool,
    inits: Vec<SegmentInit>,
    fragments: Vec<ShownFragment>,
    gaps: Vec<GapSpan>,
    anchors: Vec<ClockAnchor>,
    masks: Vec<MaskSpan>,
}

/// What decodes the media of one segment.
#[derive(Serialize, ToSchema)]
pub(super) struct SegmentInit {
    seq: u64,
    /// As RFC 6381 names it.
    codec: String,
    /// The coded width in pixels.
    width: u32,
    /// The coded height in pixels.
    height: u32,
    /// The true screen within it, when its size is odd: left, top, width and height.
    crop: Option<[u32; 4]>,
}

/// A closed group of pictures where it is shown.
#[derive(Serialize, ToSchema)]
pub(super) struct ShownFragment {
    /// The segment that holds it.
    seq: u64,
    /// Which of its fragments it is, from 0.
    fragment: u32,
    /// When it begins to be shown.
    t: u64,
    /// How long it is shown.
    dur: u64,
    /// What to ask a repetition for, so that it is placed there; null for one in its own place.
    at: Option<u64>,
    /// Until when, as `at`.
    to: Option<u64>,
    /// Its size in bytes.
    bytes: u64,
    /// When each picture begins to be shown.
    samples: Vec<u64>,
}

/// A stretch without picture.
#[derive(Serialize, ToSchema)]
pub(super) struct GapSpan {
    from: u64,
    to: u64,
    reason: String,
}

/// One reading of both clocks.
#[derive(Serialize, ToSchema)]
pub(super) struct ClockAnchor {
    t: u64,
    utc: String,
    /// The wall clock's own estimate of its error; null when it has none.
    error_ms: Option<u32>,
    /// Whether the wall clock jumped here.
    step: bool,
}

/// A session on one clock.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/timeline", tag = "sessions",
    params(("session" = String, Path)),
    responses((status = 200, body = TimelineAnswer), (status = 404)),
)]
pub(super) async fn timeline(
    State(archive): State<Arc<Archive>>,
    Path(session): Path<String>,
) -> Result<Json<TimelineAnswer>, ApiError> {
    let (_, timeline) = params::timeline(&archive, &session).await?;
    Ok(Json((&*timeline).into()))
}

impl From<&Timeline> for TimelineAnswer {
    fn from(timeline: &Timeline) -> Self {
        Self {
            duration_ms: timeline.duration.ms(),
            live: timeline.live,
            inits: timeline.inits.iter().map(Into::into).collect(),
            fragments: timeline.fragments.iter().map(Into::into).collect(),
            gaps: timeline.gaps.iter().map(Into::into).collect(),
            anchors: timeline.clock.anchors().iter().map(Into::into).collect(),
            masks: timeline.masks.iter().map(Into::into).collect(),
        }
    }
}

impl From<&InitAt> for SegmentInit {
    fn from(init: &InitAt) -> Self {
        Self {
            seq: init.seq,
            codec: init.codec.clone(),
            width: init.width,
            height: init.height,
            crop: init.crop.map(Into::into),
        }
    }
}

impl From<&Placed> for ShownFragment {
    fn from(placed: &Placed) -> Self {
        let repeated = !placed.is_original();
        Self {
            seq: placed.seq,
            fragment: placed.fragment,
            t: placed.at.ms(),
            dur: placed.to.ms_since(placed.at),
            at: repeated.then_some(placed.at.ms()),
            to: repeated.then_some(placed.to.ms()),
            bytes: placed.bytes,
            samples: placed.samples.iter().map(|t| t.ms()).collect(),
        }
    }
}

impl From<&Gap> for GapSpan {
    fn from(gap: &Gap) -> Self {
        Self {
            from: gap.from.ms(),
            to: gap.to.ms(),
            reason: gap.reason.to_string(),
        }
    }
}

impl From<&Anchor> for ClockAnchor {
    fn from(anchor: &Anchor) -> Self {
        Self {
            t: anchor.t.ms(),
            utc: anchor.utc.to_string(),
            error_ms: anchor.error_ms,
            step: anchor.step,
        }
    }
}
