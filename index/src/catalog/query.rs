//! What can be asked of the catalogue, page by page.

use std::collections::BTreeMap;

use capture::{MediaTime, WallTime};
use serde::Serialize;

use super::{LinkedRow, SessionSummary};
use crate::row::{Kind, Outcome};

/// Which sessions to list. What is `None` or empty matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Words in title, request, actor, source, labels and ids; all must occur.
    pub q: Option<String>,
    /// The actor.
    pub actor: Option<String>,
    /// The operating system's word.
    pub os: Option<String>,
    /// The protocol's word.
    pub protocol: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// At least one row has this outcome.
    pub outcome: Option<Outcome>,
    /// Labels and their values.
    pub labels: BTreeMap<String, String>,
    /// Sessions that were still going on at or after this.
    pub from: Option<WallTime>,
    /// Sessions that began before this.
    pub to: Option<WallTime>,
    /// Only live ones, or only others.
    pub live: Option<bool>,
    /// The order.
    pub sort: Sort,
    /// How many at most; 0 stands for 50. No more than
    /// [`MAX_PAGE_SESSIONS`](super::MAX_PAGE_SESSIONS).
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<Cursor>,
}

/// The order of a session list. Ties are broken by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By start, latest first.
    #[default]
    Newest,
    /// By start, earliest first.
    Oldest,
    /// By length, longest first.
    Longest,
    /// By stored bytes, most first.
    Largest,
}

/// Where a page ended. Opaque to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cursor(pub String);

/// One page of sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// By facet and value, how many of all matching sessions have it. Facets: `actor os protocol
    /// state outcome`.
    pub facets: BTreeMap<String, BTreeMap<String, u64>>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Cursor>,
}

/// Which rows of a session to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// From this time on.
    pub from: Option<MediaTime>,
    /// Before this time.
    pub to: Option<MediaTime>,
    /// Of these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// Containing this text, whatever its case.
    pub q: Option<String>,
    /// How many at most; 0 stands for 1000. No more than
    /// [`MAX_PAGE_ROWS`](super::MAX_PAGE_ROWS).
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<Cursor>,
}

/// One page of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The rows.
    pub rows: Vec<LinkedRow>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Cursor>,
}
