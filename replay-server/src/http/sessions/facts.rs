//! What a client is told of a session: `S` in api.md.

use std::collections::BTreeMap;

use capture::WallTime;
use index::catalog::SessionSummary;
use serde::Serialize;
use utoipa::ToSchema;

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
pub(in crate::http) struct Session {
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
