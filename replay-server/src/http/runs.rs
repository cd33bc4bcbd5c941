//! What is a run made of? Its sessions on one clock: how they follow and branch.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use index::catalog::{MAX_PAGE_SESSIONS, SessionQuery, Sort};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, sessions::Session};
use crate::archive::Archive;

/// A run: the sessions of one piece of work, earliest first.
#[derive(Serialize, ToSchema)]
pub(super) struct Run {
    run: String,
    sessions: Vec<RunSession>,
}

/// A session within its run.
#[derive(Serialize, ToSchema)]
pub(super) struct RunSession {
    #[serde(flatten)]
    session: Session,
    /// How long after the run's first session it began, in ms.
    offset_ms: u64,
    /// The same on a clock that stands still while no session is recorded.
    collapsed_ms: u64,
    /// The session it branched or was restored from.
    parent: Option<String>,
    /// The snapshot of the parent it began at.
    parent_snapshot: Option<String>,
}

/// The sessions of a run.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}", tag = "sessions",
    params(("run" = String, Path)),
    responses((status = 200, body = Run), (status = 404)),
)]
pub(super) async fn run(
    State(archive): State<Arc<Archive>>,
    Path(run): Path<String>,
) -> Result<Json<Run>, ApiError> {
    let query = SessionQuery {
        run: Some(run.clone()),
        sort: Sort::Oldest,
        limit: MAX_PAGE_SESSIONS,
        ..SessionQuery::default()
    };
    let page = archive.catalog.sessions(&query, (archive.now)()).await?;
    let mut awake = Awake::default();
    let mut sessions = Vec::with_capacity(page.sessions.len());
    for summary in page.sessions {
        let head = archive.catalog.head(summary.id).await?;
        let context = head.map(|head| head.context).unwrap_or_default();
        let (offset_ms, collapsed_ms) = awake.add(summary.start.unix_ms(), summary.duration_ms);
        sessions.push(RunSession {
            offset_ms,
            collapsed_ms,
            parent: context.parent.map(|parent| parent.to_string()),
            parent_snapshot: context.parent_snapshot,
            session: summary.into(),
        });
    }
    if sessions.is_empty() {
        let message = format!("No session belongs to the run {run:.64?}.");
        return Err(ApiError::not_found("unknown_run", message));
    }
    Ok(Json(Run { run, sessions }))
}

/// The time during which any session of the run was going on.
#[derive(Default)]
struct Awake {
    first_ms: Option<i64>,
    /// Until when some session went on, since the run's start.
    until_ms: u64,
    asleep_ms: u64,
}

impl Awake {
    /// When a session began since the run's start, with and without sleep. Sessions come in the
    /// order of their start.
    fn add(&mut self, start_unix_ms: i64, duration_ms: u64) -> (u64, u64) {
        let first_ms = *self.first_ms.get_or_insert(start_unix_ms);
        let offset_ms = u64::try_from(start_unix_ms - first_ms).unwrap_or(0);
        self.asleep_ms += offset_ms.saturating_sub(self.until_ms);
        self.until_ms = self.until_ms.max(offset_ms.saturating_add(duration_ms));
        (offset_ms, offset_ms - self.asleep_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_between_sessions_collapses_and_overlap_does_not_count_twice() {
        let mut awake = Awake::default();
        assert_eq!(awake.add(1_000, 500), (0, 0));
        assert_eq!(awake.add(1_200, 1_000), (200, 200));
        assert_eq!(awake.add(10_000, 5), (9_000, 1_200));
        assert_eq!(awake.add(10_001, 5), (9_001, 1_201));
    }
}
