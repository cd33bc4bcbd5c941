//! A session as lists and pages show it: `S` in api.md.

use std::collections::BTreeMap;

use capture::{
    SessionId, WallTime,
    session::{ActorKind, Os},
    source::Protocol,
    trace::TraceId,
};
use serde::Serialize;

/// A session, as the API gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionSummary {
    /// Its id.
    pub id: SessionId,
    /// The run it belongs to.
    pub run: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// What was asked.
    pub request: Option<String>,
    /// Who operated the machine.
    pub actor: Option<String>,
    /// What kind of actor that is.
    pub actor_kind: Option<ActorKind>,
    /// On whose behalf.
    pub on_behalf_of: Option<String>,
    /// The machine's operating system.
    pub os: Option<Os>,
    /// How its pictures reached the recorder.
    pub protocol: Protocol,
    /// The source's URL.
    pub source: String,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// When media time was zero.
    pub start: WallTime,
    /// When it ended; `None` while it has not.
    pub end: Option<WallTime>,
    /// How it stands.
    pub state: State,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// Its length so far, in milliseconds.
    pub duration_ms: u64,
    /// What the recorder stored, in bytes.
    pub bytes: u64,
    /// The screen's width and height at the start, in pixels.
    pub size: [u32; 2],
    /// How many stretches have no picture.
    pub gaps: u64,
    /// How many different regions were masked.
    pub masks: u64,
    /// How many rows have each outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// The traces that pass through it, at most 100.
    pub trace_ids: Vec<TraceId>,
    /// The digest of its redaction policy.
    pub policy: Option<String>,
    /// The holds on it.
    pub holds: Vec<String>,
    /// When it will be deleted.
    pub delete_at: Option<WallTime>,
    /// What proves it: `unsigned` until signatures are on.
    pub integrity: &'static str,
    /// Whether everything is in and late rows have had their time.
    pub settled: bool,
}

/// A session whose recorder is not heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent {
    /// The session.
    pub id: SessionId,
    /// When media time was zero.
    pub start: WallTime,
    /// When the recorder was last heard of; `None` when the catalogue does not know.
    pub seen_at: Option<WallTime>,
    /// The number of the latest note of an interruption.
    pub noted: Option<u64>,
}

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// An agent records it.
    Live,
    /// It ended and its end record is in.
    Ended,
    /// No agent has been heard of for a minute.
    Lost,
    /// The server noted that its recorder is gone.
    Interrupted,
    /// Its objects were deleted.
    Deleted,
}

impl State {
    /// The word used in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Ended => "ended",
            Self::Lost => "lost",
            Self::Interrupted => "interrupted",
            Self::Deleted => "deleted",
        }
    }
}
