//! Serves a part of a session as one MP4 file, written while it is sent.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Path, State},
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use index::At;
use tokio::sync::mpsc;

use super::{
    ApiError, error,
    frame::{refuse, undecoded},
    params::{self, Params, Span},
};
use crate::{
    archive::Archive,
    clip::{Clip, ClipError, ClipSpan, SpanError},
};

/// Parts of a file that wait for the client: it takes one while the next is made.
const PARTS_AHEAD: usize = 1;
/// A client that takes nothing for so long loses its place.
const MAX_STALL: Duration = Duration::from_secs(60);

/// A part of a session as an MP4 file of exactly that length, beginning with the picture shown at
/// `from`. It is made while it is sent, so it has neither a length nor ranges.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/clip.mp4", tag = "media",
    params(("session" = String, Path), Span),
    responses(
        (status = 200, content_type = "video/mp4"),
        (status = 400), (status = 404), (status = 409), (status = 410), (status = 503),
    ),
)]
pub(super) async fn clip(
    State(archive): State<Arc<Archive>>,
    Path(session): Path<String>,
    Params(Span { from, to }): Params<Span>,
    method: Method,
) -> Result<Response, ApiError> {
    let (summary, timeline) = params::timeline(&archive, &session).await?;
    let span = ClipSpan::new(&timeline, from.map(At::Media), to.map(At::Media));
    let span = span.map_err(|error| match error {
        SpanError::From(error) => refuse(error, &timeline).with("field", "from"),
        SpanError::To(error) => refuse(error, &timeline).with("field", "to"),
        SpanError::Empty => ApiError::parameter("to", "must be later than from"),
    })?;
    let body = if method == Method::HEAD {
        // Like the file itself, of no stated length.
        Body::from_stream(futures::stream::empty::<Part>())
    } else {
        let place = archive.clips.clone().try_acquire_owned();
        let place = place.map_err(|_| busy())?;
        let clip = Clip::begin(&archive, summary.id, timeline, span).await;
        let clip = clip.map_err(unmade)?;
        let (parts, body) = mpsc::channel(PARTS_AHEAD);
        tokio::spawn(async move {
            send(clip, &archive, &parts).await;
            drop(place);
        });
        let next = async |mut body: mpsc::Receiver<_>| Some((body.recv().await?, body));
        Body::from_stream(futures::stream::unfold(body, next))
    };
    let (from, to) = (span.from.ms(), span.to.ms());
    let name = format!(
        "attachment; filename=\"playhead-{}-{from}-{to}.mp4\"",
        summary.id
    );
    let headers = [
        (header::CONTENT_TYPE, "video/mp4"),
        (header::ACCEPT_RANGES, "none"),
        (header::CONTENT_DISPOSITION, &*name),
    ];
    let mut response = body.into_response();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

/// What goes into the body: the error breaks it off, so that nobody takes a part for the whole.
type Part = Result<Bytes, ClipError>;

/// Makes the clip as fast as the client takes it.
async fn send(mut clip: Clip, archive: &Archive, parts: &mpsc::Sender<Part>) {
    while let Some(part) = clip.next(archive).await.transpose() {
        let failed = part.is_err();
        if let Err(error) = &part {
            // The client sees a broken transfer; why, the log says.
            let error: &(dyn std::error::Error + 'static) = error;
            tracing::error!(error, "A clip broke off");
        }
        let sent = tokio::time::timeout(MAX_STALL, parts.send(part)).await;
        if failed || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

fn busy() -> ApiError {
    let message = "Too many clips are being made at once.";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
        .with_header(header::RETRY_AFTER, super::frame::RETRY_AFTER_S)
}

fn unmade(error: ClipError) -> ApiError {
    match error {
        ClipError::NoPicture => {
            ApiError::new(StatusCode::CONFLICT, "no_picture", format!("{error}."))
        }
        ClipError::Canvas { .. } => ApiError::parameter("to", error),
        ClipError::Catalog(error) => error.into(),
        ClipError::Store(error) => error::unstored(&error),
        ClipError::Cancelled(error) => undecoded(&error),
        ClipError::Read { .. } | ClipError::Parameters { .. } => error::damaged(&error),
        ClipError::Place { .. } | ClipError::Paint { .. } | ClipError::Write(_) => {
            ApiError::internal(&error)
        }
    }
}
