//! Which sessions are there, and what is known of one?

mod facts;
mod query;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, RawQuery, State},
};
use index::{
    Timeline,
    catalog::{Cursor, SessionSummary},
    owner,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, params, timeline::GapSpan};
use telemetry::fault;

use crate::archive::Archive;
use facts::Facts;

pub(super) use facts::Session;

/// One page of sessions.
#[derive(Serialize, ToSchema)]
pub(super) struct SessionList {
    sessions: Vec<Session>,
    /// By facet and value, how many of all matching sessions have it.
    facets: BTreeMap<String, BTreeMap<String, u64>>,
    /// Asks for the next page; null at the end.
    next: Option<String>,
    /// Why nothing is listed though sessions are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<Notice>,
}

/// Something that whoever looks at an answer should know.
#[derive(Serialize, ToSchema)]
pub(super) struct Notice {
    code: &'static str,
    message: &'static str,
}

const EMPTY: Notice = Notice {
    code: "catalogue_empty",
    message: fault::EMPTY,
};

/// Lists sessions.
#[utoipa::path(
    get, path = "/api/v1/sessions", tag = "sessions",
    params(
        ("q" = Option<String>, Query, description = "words that must all occur"),
        ("actor" = Option<String>, Query), ("os" = Option<String>, Query),
        ("protocol" = Option<String>, Query), ("run" = Option<String>, Query),
        ("outcome" = Option<String>, Query, description = "some row has this outcome"),
        ("label.K" = Option<String>, Query, description = "label K has this value"),
        ("from" = Option<String>, Query, description = "UTC: went on at or after this"),
        ("to" = Option<String>, Query, description = "UTC: began before this"),
        ("live" = Option<bool>, Query),
        ("sort" = Option<String>, Query, description = "newest, oldest, longest or largest"),
        ("limit" = Option<usize>, Query), ("cursor" = Option<String>, Query),
    ),
    responses((status = 200, body = SessionList)),
)]
pub(super) async fn list(
    State(archive): State<Arc<Archive>>,
    RawQuery(query): RawQuery,
) -> Result<Json<SessionList>, ApiError> {
    let query = query::parse(query.as_deref().unwrap_or_default())?;
    let page = archive.catalog.sessions(&query, (archive.now)()).await?;
    let lost = page.sessions.is_empty()
        && owner::is_lost(&*archive.store, &*archive.catalog)
            .await
            .unwrap_or(false);
    Ok(Json(SessionList {
        sessions: page.sessions.into_iter().map(Into::into).collect(),
        facets: page.facets,
        next: page.next.map(|Cursor(next)| next),
        notice: lost.then_some(EMPTY),
    }))
}

/// One session, with the lists behind its counts.
#[derive(Serialize, ToSchema)]
pub(super) struct SessionInFull {
    #[serde(flatten)]
    facts: Facts,
    /// Stretches without picture.
    gaps: Vec<GapSpan>,
    /// Each rule that masked something, and how often.
    masks: Vec<MaskCount>,
    /// Where and when it did.
    mask_spans: Vec<MaskSpan>,
    rights: Rights,
}

/// How often a rule masked something.
#[derive(Serialize, ToSchema)]
pub(super) struct MaskCount {
    rule: String,
    count: u64,
}

/// A region whose pixels were never stored.
#[derive(Serialize, ToSchema)]
pub(super) struct MaskSpan {
    /// Left, top, width and height in pixels.
    rect: [u32; 4],
    from: u64,
    to: u64,
    rule: String,
    /// `fixed`, `mark` or `text`.
    kind: String,
}

/// Who asks, and what they may do.
#[derive(Serialize, ToSchema)]
pub(super) struct Rights {
    identity: &'static str,
    roles: &'static [&'static str],
}

/// Without sign-in, on a loopback address, everyone is `local` and has every role.
const LOCAL: Rights = Rights {
    identity: "local",
    roles: &["judge", "reviewer", "auditor", "retention", "admin"],
};

/// One session.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}", tag = "sessions",
    params(("session" = String, Path)),
    responses((status = 200, body = SessionInFull), (status = 404), (status = 410)),
)]
pub(super) async fn one(
    State(archive): State<Arc<Archive>>,
    Path(session): Path<String>,
) -> Result<Json<SessionInFull>, ApiError> {
    let (summary, timeline) = params::timeline(&archive, &session).await?;
    Ok(Json(in_full(summary, &timeline)))
}

fn in_full(summary: SessionSummary, timeline: &Timeline) -> SessionInFull {
    let mut counts = BTreeMap::<&str, u64>::new();
    for mask in &timeline.masks {
        *counts.entry(&mask.rule).or_default() += 1;
    }
    let masks = counts.into_iter().map(|(rule, count)| MaskCount {
        rule: rule.to_owned(),
        count,
    });
    SessionInFull {
        facts: summary.into(),
        gaps: timeline.gaps.iter().map(Into::into).collect(),
        masks: masks.collect(),
        mask_spans: timeline.masks.iter().map(Into::into).collect(),
        rights: LOCAL,
    }
}

impl From<&segment::manifest::Mask> for MaskSpan {
    fn from(mask: &segment::manifest::Mask) -> Self {
        Self {
            rect: mask.rect.into(),
            from: mask.from.ms(),
            to: mask.to.ms(),
            rule: mask.rule.clone(),
            kind: mask.kind.clone(),
        }
    }
}
