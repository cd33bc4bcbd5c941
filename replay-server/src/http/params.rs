//! Reads what a client asks for out of an address, and names what is wrong with it.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Query, rejection::QueryRejection},
    http::request::Parts,
};
use capture::{MediaTime, Rect, SessionId};
use index::{Timeline, catalog::SessionSummary};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use super::{ApiError, error};
use crate::archive::Archive;

/// The query of an address. Unknown names are refused, for a misspelt filter would be a wrong
/// answer that looks right.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(params) = Query::from_request_parts(parts, state).await.map_err(
            |rejection: QueryRejection| {
                let text = rejection.body_text();
                let cause = text
                    .rsplit_once("query string: ")
                    .map_or(&*text, |(_, c)| c);
                ApiError::parameter("query", cause)
            },
        )?;
        Ok(Self(params))
    }
}

/// The session that `text` names.
pub(super) async fn session(archive: &Archive, text: &str) -> Result<SessionSummary, ApiError> {
    use index::catalog::State;
    let id = session_id(text)?;
    let found = archive.session(id).await?;
    let summary = found.ok_or_else(|| error::unknown_session(&id))?;
    if summary.state == State::Deleted {
        let message = format!("Session {id} was deleted.");
        return Err(ApiError::new(
            axum::http::StatusCode::GONE,
            "deleted",
            message,
        ));
    }
    Ok(summary)
}

/// The session that `text` names, on one clock.
pub(super) async fn timeline(
    archive: &Archive,
    text: &str,
) -> Result<(SessionSummary, Arc<Timeline>), ApiError> {
    let summary = session(archive, text).await?;
    let timeline = archive.timeline(&summary).await?;
    let timeline = timeline.ok_or_else(|| error::unknown_session(&summary.id))?;
    Ok((summary, timeline))
}

/// A session id. What is no id names no session.
pub(super) fn session_id(text: &str) -> Result<SessionId, ApiError> {
    let parsed = text.parse();
    parsed.map_err(|error: capture::id::ParseIdError| {
        ApiError::not_found(
            "unknown_session",
            format!("There is no such session: {error}."),
        )
    })
}

/// No time is later, in ms since session start: the largest integer that JSON numbers hold
/// exactly everywhere (RFC 8259 section 6).
pub(super) const MAX_TIME_MS: u64 = (1 << 53) - 1;

/// Reads a time in ms since session start.
pub(super) fn time<'de, D>(deserializer: D) -> Result<Option<MediaTime>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    let ms = text.parse().ok().filter(|&ms| ms <= MAX_TIME_MS);
    let ms = ms.ok_or_else(|| {
        let form = "a time is whole milliseconds since session start, at most 2^53 - 1";
        serde::de::Error::custom(form)
    })?;
    Ok(Some(MediaTime::from_ms(ms)))
}

/// A span `from..to` of session time, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Span {
    /// From here, in ms since session start.
    #[serde(default, deserialize_with = "time")]
    #[param(value_type = Option<u64>)]
    pub(super) from: Option<MediaTime>,
    /// Up to and without here, in ms since session start.
    #[serde(default, deserialize_with = "time")]
    #[param(value_type = Option<u64>)]
    pub(super) to: Option<MediaTime>,
}

impl Span {
    /// Refuses a span that is empty or begins outside the session.
    pub(super) fn check(self, timeline: &Timeline) -> Result<Self, ApiError> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && to <= from
        {
            return Err(ApiError::parameter("to", "must be later than from"));
        }
        match self.from {
            Some(from) if !timeline.contains(from) => Err(outside(timeline)),
            _ => Ok(self),
        }
    }
}

/// A time that the session does not reach.
pub(super) fn outside(timeline: &Timeline) -> ApiError {
    let ms = timeline.duration.ms();
    let message = format!("The time lies outside the session, which runs from 0 to {ms} ms.");
    ApiError::new(
        axum::http::StatusCode::BAD_REQUEST,
        "time_outside_session",
        message,
    )
    .with("range", vec![0, ms])
}

/// Reads `x,y,w,h` in pixels.
pub(super) fn rect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rect>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let numbers: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[x, y, w, h]) => Ok(Some(Rect::new(x, y, w, h))),
        _ => Err(serde::de::Error::custom(
            "rect is four numbers of pixels: x,y,w,h",
        )),
    }
}
