//! Where is a trace, an event, or a time?

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode, http::header};
use capture::trace::{SpanId, TraceId};
use index::{
    At,
    resolve::{self, Candidate, ResolveError},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ApiError, frame::RETRY_AFTER_S, params, params::Params, timeline::GapSpan};
use crate::archive::Archive;

/// What to look for: a trace, an event, or a time in a session or run.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// 32 hexadecimal digits.
    trace_id: Option<String>,
    /// Beside `trace_id`: 16 hexadecimal digits.
    span_id: Option<String>,
    /// An event's id.
    event: Option<String>,
    session: Option<String>,
    run: Option<String>,
    /// Beside `session` or `run`: seconds, a clock, or UTC.
    at: Option<String>,
}

/// The moments found.
#[derive(Serialize, ToSchema)]
pub(super) struct Candidates {
    candidates: Vec<Moment>,
}

/// A moment in a session.
#[derive(Serialize, ToSchema)]
pub(super) struct Moment {
    session: String,
    /// In ms since session start.
    t: u64,
    utc: String,
    /// How far the wall clock may have been off; null when it did not say.
    error_ms: Option<u32>,
    /// When the frame shown then began to be shown; null before the first.
    frame_t: Option<u64>,
    /// The stretch without picture that it lies in.
    gap: Option<GapSpan>,
    /// The viewer's page for it.
    url: String,
}

/// Where a trace, an event, or a time is.
#[utoipa::path(
    get, path = "/api/v1/resolve", tag = "events",
    params(Asked),
    responses((status = 200, body = Candidates), (status = 400), (status = 404)),
)]
pub(super) async fn resolve(
    State(archive): State<Arc<Archive>>,
    Params(asked): Params<Asked>,
) -> Result<Json<Candidates>, ApiError> {
    let (catalog, now) = (&*archive.catalog, (archive.now)());
    let found = match Asked::parse(&asked)? {
        Question::Trace(trace, span) => resolve::by_trace(catalog, trace, span, now).await,
        Question::Event(id) => resolve::by_event(catalog, id, now).await,
        Question::Session(id, at) => {
            let session = params::session_id(id)?;
            resolve::by_session(catalog, session, at, now).await
        }
        Question::Run(run, at) => resolve::by_run(catalog, run, at, now).await,
    };
    let candidates = found.map_err(|error| refuse(error, &asked))?;
    Ok(Json(Candidates {
        candidates: candidates.into_iter().map(Into::into).collect(),
    }))
}

enum Question<'a> {
    Trace(TraceId, Option<SpanId>),
    Event(&'a str),
    Session(&'a str, At),
    Run(&'a str, At),
}

impl Asked {
    fn parse(&self) -> Result<Question<'_>, ApiError> {
        let Self {
            trace_id,
            span_id,
            event,
            session,
            run,
            at,
        } = self;
        let question = [trace_id, span_id, event, session, run, at].map(Option::as_deref);
        match question {
            [Some(trace), span, None, None, None, None] => {
                let span = span.map(|span| id("span_id", span)).transpose()?;
                Ok(Question::Trace(id("trace_id", trace)?, span))
            }
            [None, None, Some(event), None, None, None] => Ok(Question::Event(event)),
            [None, None, None, Some(session), None, Some(at)] => {
                Ok(Question::Session(session, id("at", at)?))
            }
            [None, None, None, None, Some(run), Some(at)] => Ok(Question::Run(run, id("at", at)?)),
            _ => Err(ApiError::parameter(
                "query",
                "give trace_id, or trace_id and span_id, or event, or session and at, or run and at",
            )),
        }
    }
}

fn id<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str, text: &str) -> Result<T, ApiError> {
    text.parse()
        .map_err(|error: T::Err| ApiError::parameter(name, error))
}

fn refuse(error: ResolveError, asked: &Asked) -> ApiError {
    let message = format!("{error}.");
    match error {
        ResolveError::UnknownSession { .. } => ApiError::not_found("unknown_session", message),
        ResolveError::UnknownEvent { .. } => ApiError::not_found("unknown_event", message),
        ResolveError::Unlinked { .. } => ApiError::not_found("unlinked_event", message),
        ResolveError::UnknownTrace { .. } => ApiError::not_found("unknown_trace", message),
        ResolveError::UnknownRun { .. } => ApiError::not_found("unknown_run", message),
        ResolveError::NotYet { .. } => {
            ApiError::not_found("not_yet", message).with_header(header::RETRY_AFTER, RETRY_AFTER_S)
        }
        // A time that was asked for is the asker's mistake; a row's own time is not.
        ResolveError::Outside { duration, .. } if asked.at.is_some() => {
            ApiError::new(StatusCode::BAD_REQUEST, "time_outside_session", message)
                .with("range", vec![0, duration.ms()])
        }
        ResolveError::Outside { .. } => ApiError::not_found("time_outside_session", message),
        ResolveError::Catalog(error) => error.into(),
    }
}

impl From<Candidate> for Moment {
    fn from(found: Candidate) -> Self {
        Self {
            session: found.session.to_string(),
            t: found.t.ms(),
            utc: found.utc.to_string(),
            error_ms: found.error_ms,
            frame_t: found.frame_t.map(capture::MediaTime::ms),
            gap: found.gap.as_ref().map(Into::into),
            url: found.url,
        }
    }
}
