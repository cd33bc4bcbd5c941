//! Which frame belongs to a trace, a row or a clock time? Candidates with their exact frame
//! (api.md, `/api/v1/resolve`).

use std::collections::{HashMap, hash_map::Entry};

use capture::{
    Gap, MediaTime, SessionId, WallTime,
    trace::{SpanId, TraceId},
};
use serde::Serialize;

use crate::{
    At, Timeline,
    catalog::{Catalog, CatalogError, LinkedRow, MAX_PAGE_SESSIONS, SessionQuery, Sort},
};

/// The most candidates one answer gives.
pub const MAX_CANDIDATES: usize = 100;

/// A moment that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The session.
    pub session: SessionId,
    /// The moment in it.
    pub t: MediaTime,
    /// What the wall clock showed.
    pub utc: WallTime,
    /// How far the wall clock may have been off, by its own account.
    pub error_ms: Option<u32>,
    /// When the frame shown at `t` began to be shown; `None` before the first.
    pub frame_t: Option<MediaTime>,
    /// The stretch without picture that `t` lies in.
    pub gap: Option<Gap>,
    /// The viewer's page for it.
    pub url: String,
}

/// Why there is no candidate.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The session is unknown.
    #[error("session {session} is not known")]
    UnknownSession {
        /// The session.
        session: SessionId,
    },
    /// The row is unknown.
    #[error("event {id:?} is not known")]
    UnknownEvent {
        /// The row's id, shortened.
        id: String,
    },
    /// The row is known but belongs to no session yet.
    #[error("event {id:?} belongs to no recorded session")]
    Unlinked {
        /// The row's id, shortened.
        id: String,
    },
    /// Nothing recorded carries the trace.
    #[error("no recorded session carries trace {trace}")]
    UnknownTrace {
        /// The trace.
        trace: TraceId,
    },
    /// No session belongs to the run.
    #[error("no session belongs to run {run:?}")]
    UnknownRun {
        /// The run, shortened.
        run: String,
    },
    /// The moment lies outside the session.
    #[error("the time lies outside session {session}, which is 0..{duration} ({start} to {end})")]
    Outside {
        /// The session.
        session: SessionId,
        /// Its length.
        duration: MediaTime,
        /// When it began.
        start: WallTime,
        /// When it ended, or how far it is committed.
        end: WallTime,
    },
    /// The session goes on, and has not been committed that far.
    #[error("session {session} is live and committed up to {committed} only")]
    NotYet {
        /// The session.
        session: SessionId,
        /// How far it is committed.
        committed: MediaTime,
    },
    /// The catalogue failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// The moments of one row: one, or two where the clock repeats.
///
/// # Errors
/// When the row is unknown, waits for its session, or lies outside it.
pub async fn by_event(
    catalog: &dyn Catalog,
    id: &str,
    now: WallTime,
) -> Result<Vec<Candidate>, ResolveError> {
    let short = || id.chars().take(64).collect();
    let row = catalog.event(id).await?;
    let row = row.ok_or_else(|| ResolveError::UnknownEvent { id: short() })?;
    let Some(session) = row.session else {
        return Err(ResolveError::Unlinked { id: short() });
    };
    let view = View::open(catalog, session, now).await?;
    view.at_utc(row.row.time, Some(&row.row.id))
}

/// The moments of a trace's rows, or of one span's, in time order; of sessions that carry the
/// trace without a row, their start. At most [`MAX_CANDIDATES`].
///
/// # Errors
/// [`ResolveError::UnknownTrace`] when nothing recorded carries it; when all of it lies outside
/// its sessions, as [`by_event`].
pub async fn by_trace(
    catalog: &dyn Catalog,
    trace: TraceId,
    span: Option<SpanId>,
    now: WallTime,
) -> Result<Vec<Candidate>, ResolveError> {
    let mut views = HashMap::new();
    let mut found = Vec::new();
    let mut outside = None;
    for LinkedRow { row, session, .. } in catalog.by_trace(trace, span).await? {
        let Some(session) = session.filter(|_| found.len() < MAX_CANDIDATES) else {
            continue;
        };
        let view = match views.entry(session) {
            Entry::Occupied(opened) => opened.into_mut(),
            Entry::Vacant(new) => new.insert(View::open(catalog, session, now).await?),
        };
        match view.at_utc(row.time, Some(&row.id)) {
            Ok(moments) => found.extend(moments),
            Err(error) => outside = Some(error),
        }
    }
    if span.is_none() {
        for link in catalog.trace_links(trace).await? {
            if link.rows == 0 && found.len() < MAX_CANDIDATES {
                let view = View::open(catalog, link.session, now).await?;
                found.push(view.candidate(MediaTime::ZERO, None));
            }
        }
    }
    found.truncate(MAX_CANDIDATES);
    match (found.is_empty(), outside) {
        (false, _) => Ok(found),
        (true, Some(error)) => Err(error),
        (true, None) => Err(ResolveError::UnknownTrace { trace }),
    }
}

/// A time in a session. A UTC that occurred twice gives both moments.
///
/// # Errors
/// When the session is unknown or the time lies outside it.
pub async fn by_session(
    catalog: &dyn Catalog,
    session: SessionId,
    at: At,
    now: WallTime,
) -> Result<Vec<Candidate>, ResolveError> {
    let view = View::open(catalog, session, now).await?;
    match at {
        At::Media(t) if view.timeline.contains(t) => Ok(vec![view.candidate(t, None)]),
        At::Media(t) => Err(view.outside(Some(t))),
        At::Utc(utc) => view.at_utc(utc, None),
    }
}

/// A time in every session of a run. A media time counts from the start of the run's first.
///
/// # Errors
/// When the run is unknown or none of its sessions was going on.
pub async fn by_run(
    catalog: &dyn Catalog,
    run: &str,
    at: At,
    now: WallTime,
) -> Result<Vec<Candidate>, ResolveError> {
    let query = SessionQuery {
        run: Some(run.to_owned()),
        sort: Sort::Oldest,
        limit: MAX_PAGE_SESSIONS,
        ..SessionQuery::default()
    };
    let sessions = catalog.sessions(&query, now).await?.sessions;
    let Some(first) = sessions.first() else {
        let run = run.chars().take(64).collect();
        return Err(ResolveError::UnknownRun { run });
    };
    let utc = match at {
        At::Utc(utc) => utc,
        At::Media(t) => first
            .start
            .plus_ms(i64::try_from(t.ms()).unwrap_or(i64::MAX)),
    };
    let (mut found, mut outside) = (Vec::new(), None);
    for session in &sessions {
        let view = View::open(catalog, session.id, now).await?;
        match view.at_utc(utc, None) {
            Ok(moments) => found.extend(moments),
            Err(error) => outside = Some(error),
        }
    }
    found.truncate(MAX_CANDIDATES);
    match outside {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// One session with its timeline.
struct View {
    session: SessionId,
    timeline: Timeline,
}

impl View {
    async fn open(
        catalog: &dyn Catalog,
        session: SessionId,
        now: WallTime,
    ) -> Result<Self, ResolveError> {
        let timeline = catalog.timeline(session, now).await?;
        let timeline = timeline.ok_or(ResolveError::UnknownSession { session })?;
        Ok(Self { session, timeline })
    }

    /// Every moment within the session at which the wall clock showed `utc`.
    fn at_utc(&self, utc: WallTime, event: Option<&str>) -> Result<Vec<Candidate>, ResolveError> {
        let moments = self.timeline.clock.moments_at(utc);
        let inside = moments.iter().filter(|&&t| self.timeline.contains(t));
        let found: Vec<_> = inside.map(|&t| self.candidate(t, event)).collect();
        if found.is_empty() {
            Err(self.outside(moments.first().copied()))
        } else {
            Ok(found)
        }
    }

    fn candidate(&self, t: MediaTime, event: Option<&str>) -> Candidate {
        let timeline = &self.timeline;
        Candidate {
            session: self.session,
            t,
            utc: timeline.clock.utc_at(t),
            error_ms: timeline.clock.error_ms_at(t),
            frame_t: timeline.frame_at(t).map(|frame| frame.t),
            gap: timeline.gap_at(t),
            url: viewer_url(self.session, t, event),
        }
    }

    /// The error for a moment at `t`, or before the start.
    fn outside(&self, t: Option<MediaTime>) -> ResolveError {
        let (session, duration) = (self.session, self.timeline.duration);
        if self.timeline.live && t.is_some_and(|t| duration <= t) {
            let committed = duration;
            return ResolveError::NotYet { session, committed };
        }
        ResolveError::Outside {
            session,
            duration,
            start: self.timeline.clock.utc_at(MediaTime::ZERO),
            end: self.timeline.clock.utc_at(duration),
        }
    }
}

/// The viewer's page for a moment, open on an event.
#[must_use]
pub fn viewer_url(session: SessionId, t: MediaTime, event: Option<&str>) -> String {
    let (s, ms) = (t.ms() / 1000, t.ms() % 1000);
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("t", &format!("{s}.{ms:03}"));
    if let Some(event) = event {
        query.append_pair("e", event);
    }
    format!("/s/{session}?{}", query.finish())
}
