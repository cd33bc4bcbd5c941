//! Which sessions are there, and what is known of one? (`S` in api.md)

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, RawQuery, State},
};
use capture::WallTime;
use index::{
    Timeline,
    catalog::{Cursor, SessionQuery, SessionSummary, Sort},
    row::Outcome,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, params, timeline::GapSpan};
use crate::archive::Archive;

/// What is known of a session. Times are UTC with milliseconds.
#[derive(Serialize, ToSchema)]
pub(super) struct Facts {
    id: String,
    run: Option<String>,
    title: Option<String>,
    request: Option<String>,
    actor: Option<String>,
    /// `agent`, `person` or `service`.
    actor_kind: Option<String>,
    on_behalf_of: Option<String>,
    /// `linux`, `windows` or `macos`.
    os: Option<String>,
    /// `vnc`, `rdp` or `screen`.
    protocol: String,
    source: String,
    labels: BTreeMap<String, String>,
    start: String,
    end: Option<String>,
    /// `live`, `ended`, `lost`, `interrupted` or `deleted`.
    state: String,
    end_reason: Option<String>,
    duration_ms: u64,
    bytes: u64,
    /// Width and height in pixels at the start.
    size: [u32; 2],
    /// Rows by outcome.
    outcomes: BTreeMap<String, u64>,
    trace_ids: Vec<String>,
    /// SHA-256 of the redaction policy in force.
    policy: Option<String>,
    holds: Vec<String>,
    delete_at: Option<String>,
    /// What proves it: `unsigned` until signatures are on.
    integrity: String,
    /// Whether everything is in and late rows have had their time.
    settled: bool,
}

impl From<SessionSummary> for Facts {
    fn from(session: SessionSummary) -> Self {
        let utc = |time: WallTime| time.to_string();
        Self {
            id: session.id.to_string(),
            run: session.run,
            title: session.title,
            request: session.request,
            actor: session.actor,
            actor_kind: session.actor_kind.map(|kind| kind.as_str().to_owned()),
            on_behalf_of: session.on_behalf_of,
            os: session.os.map(|os| os.as_str().to_owned()),
            protocol: session.protocol.as_str().to_owned(),
            source: session.source,
            labels: session.labels,
            start: utc(session.start),
            end: session.end.map(utc),
            state: session.state.as_str().to_owned(),
            end_reason: session.end_reason,
            duration_ms: session.duration_ms,
            bytes: session.bytes,
            size: session.size,
            outcomes: session.outcomes,
            trace_ids: session.trace_ids.iter().map(ToString::to_string).collect(),
            policy: session.policy,
            holds: session.holds,
            delete_at: session.delete_at.map(utc),
            integrity: session.integrity.to_owned(),
            settled: session.settled,
        }
    }
}

/// A session in a list.
#[derive(Serialize, ToSchema)]
pub(super) struct Session {
    #[serde(flatten)]
    facts: Facts,
    /// How many stretches have no picture.
    gaps: u64,
    /// How many different regions were masked.
    masks: u64,
}

impl From<SessionSummary> for Session {
    fn from(session: SessionSummary) -> Self {
        Self {
            gaps: session.gaps,
            masks: session.masks,
            facts: session.into(),
        }
    }
}

/// One page of sessions.
#[derive(Serialize, ToSchema)]
pub(super) struct SessionList {
    sessions: Vec<Session>,
    /// By facet and value, how many of all matching sessions have it.
    facets: BTreeMap<String, BTreeMap<String, u64>>,
    /// Asks for the next page; null at the end.
    next: Option<String>,
}

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
    let query = parse(query.as_deref().unwrap_or_default())?;
    let page = archive.catalog.sessions(&query, (archive.now)()).await?;
    Ok(Json(SessionList {
        sessions: page.sessions.into_iter().map(Into::into).collect(),
        facets: page.facets,
        next: page.next.map(|Cursor(next)| next),
    }))
}

fn parse(query: &str) -> Result<SessionQuery, ApiError> {
    let mut asked = SessionQuery::default();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if value.is_empty() {
            continue;
        }
        let value = value.into_owned();
        match &*name {
            "q" => asked.q = Some(value),
            "actor" => asked.actor = Some(value),
            "os" => asked.os = Some(value),
            "protocol" => asked.protocol = Some(value),
            "run" => asked.run = Some(value),
            "outcome" => asked.outcome = Some(outcome(&value)?),
            "from" => asked.from = Some(utc("from", &value)?),
            "to" => asked.to = Some(utc("to", &value)?),
            "live" => asked.live = Some(parsed("live", &value, "true or false")?),
            "sort" => asked.sort = sort(&value)?,
            "limit" => asked.limit = parsed("limit", &value, "a number")?,
            "cursor" => asked.cursor = Some(Cursor(value)),
            other => match other.strip_prefix("label.") {
                Some(label) if !label.is_empty() => {
                    asked.labels.insert(label.to_owned(), value);
                }
                _ => {
                    let problem = format!("{other:.64?} is no filter of sessions");
                    return Err(ApiError::parameter("query", problem));
                }
            },
        }
    }
    Ok(asked)
}

fn parsed<T: std::str::FromStr>(name: &str, value: &str, form: &str) -> Result<T, ApiError> {
    let parsed = value.parse();
    parsed.map_err(|_| ApiError::parameter(name, format!("must be {form}")))
}

fn utc(name: &str, value: &str) -> Result<WallTime, ApiError> {
    value
        .parse()
        .map_err(|error: capture::time::ParseWallTimeError| ApiError::parameter(name, error))
}

fn outcome(value: &str) -> Result<Outcome, ApiError> {
    Outcome::from_word(value).ok_or_else(|| {
        let words: Vec<&str> = Outcome::ALL.iter().map(|word| word.as_str()).collect();
        ApiError::parameter("outcome", format!("must be one of {}", words.join(", ")))
    })
}

fn sort(value: &str) -> Result<Sort, ApiError> {
    match value {
        "newest" => Ok(Sort::Newest),
        "oldest" => Ok(Sort::Oldest),
        "longest" => Ok(Sort::Longest),
        "largest" => Ok(Sort::Largest),
        _ => Err(ApiError::parameter(
            "sort",
            "must be one of newest, oldest, longest, largest",
        )),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_and_empty_ones_match_all() {
        let asked = parse("q=two+words&actor=&label.team=a%20b&live=false&sort=oldest").unwrap();
        assert_eq!(asked.q.as_deref(), Some("two words"));
        assert_eq!((asked.actor, asked.live), (None, Some(false)));
        assert_eq!(asked.labels["team"], "a b");
        assert_eq!(asked.sort, Sort::Oldest);
    }

    #[test]
    fn a_filter_that_is_wrong_is_refused() {
        for query in [
            "actr=a",
            "label.=x",
            "outcome=denied",
            "from=yesterday",
            "live=1",
            "limit=-1",
            "sort=best",
        ] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}
