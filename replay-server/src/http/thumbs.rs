//! Serves the small pictures that were taken while recording.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, body::Recorded, params};
use crate::archive::Archive;

/// Every sprite sheet of a session.
#[derive(Serialize, ToSchema)]
pub(super) struct Thumbs {
    sheets: Vec<Sheet>,
}

/// A sprite sheet: picture `i` is in column `i % columns` and row `i / columns`.
#[derive(Serialize, ToSchema)]
pub(super) struct Sheet {
    /// The segment it belongs to.
    seq: u64,
    url: String,
    /// A picture's width and height in pixels.
    tile: [u32; 2],
    columns: u32,
    /// When each picture was taken, in ms since session start.
    times: Vec<u64>,
}

/// Where the small pictures are.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/thumbs.json", tag = "media",
    params(("session" = String, Path)),
    responses((status = 200, body = Thumbs), (status = 404)),
)]
pub(super) async fn index(
    State(archive): State<Arc<Archive>>,
    Path(session): Path<String>,
) -> Result<Json<Thumbs>, ApiError> {
    let (summary, timeline) = params::timeline(&archive, &session).await?;
    let sheets = timeline.thumbs.iter().map(|sheet| Sheet {
        seq: sheet.seq,
        url: format!("/api/v1/sessions/{}/thumbs/{}.jpg", summary.id, sheet.seq),
        tile: sheet.thumbs.tile.into(),
        columns: sheet.thumbs.columns,
        times: sheet.thumbs.times.iter().map(|t| t.ms()).collect(),
    });
    Ok(Json(Thumbs {
        sheets: sheets.collect(),
    }))
}

/// One sprite sheet.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/thumbs/{sheet}", tag = "media",
    params(
        ("session" = String, Path),
        ("sheet" = String, Path, description = "{seq}.jpg"),
    ),
    responses((status = 200, content_type = "image/jpeg"), (status = 304), (status = 404)),
)]
pub(super) async fn sheet(
    State(archive): State<Arc<Archive>>,
    Path((session, sheet)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let summary = params::session(&archive, &session).await?;
    let no_sheet = || ApiError::not_found("unknown_media", "The session holds no such sheet.");
    let seq = sheet.strip_suffix(".jpg").and_then(|seq| seq.parse().ok());
    let object = archive
        .catalog
        .object(summary.id, seq.ok_or_else(no_sheet)?);
    let thumb = object.await?.and_then(|object| object.thumb);
    let (key, stored) = thumb.ok_or_else(no_sheet)?;
    let recorded = Recorded {
        etag: format!("\"{}\"", stored.sha256),
        content_type: "image/jpeg",
        no_store: summary.masks > 0,
    };
    if let Some(unchanged) = recorded.unchanged(&headers) {
        return Ok(unchanged);
    }
    let bytes = archive.media.part(&key, 0..stored.bytes).await?;
    Ok(recorded.answer(&headers, bytes))
}
