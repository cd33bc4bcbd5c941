//! Serves a session's HLS playlist.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};

use super::{
    ApiError,
    params::{self, Params, Span},
};
use crate::{
    archive::Archive,
    hls::{Clip, playlist},
};

/// A session, or the whole fragments around a part of it, for any HLS player.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/hls/index.m3u8", tag = "media",
    params(("session" = String, Path), Span),
    responses(
        (status = 200, content_type = "application/vnd.apple.mpegurl"),
        (status = 400), (status = 404),
    ),
)]
pub(super) async fn index(
    State(archive): State<Arc<Archive>>,
    Path(session): Path<String>,
    Params(span): Params<Span>,
) -> Result<Response, ApiError> {
    let (_, timeline) = params::timeline(&archive, &session).await?;
    let Span { from, to } = span.check(&timeline)?;
    let text = playlist(&timeline, Clip { from, to });
    let content_type = (header::CONTENT_TYPE, "application/vnd.apple.mpegurl");
    Ok(([content_type], text).into_response())
}
