//! Serves the exact picture of a moment.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use capture::{MediaTime, Rect, WallTime};
use index::{At, Timeline, catalog::SessionSummary};
use serde::Deserialize;

use super::{ApiError, body::Recorded, error, params, params::Params};
use crate::{
    archive::Archive,
    decode::{PictureFormat, View, picture::ViewError},
    media::PictureError,
    shot::{Shot, ShotError, settled_after, shot},
};

/// Which moment, and how its picture is wanted.
#[derive(Clone, Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// In ms since session start.
    #[serde(default, deserialize_with = "params::time")]
    #[param(value_type = Option<u64>)]
    t: Option<MediaTime>,
    /// By the wall clock, in UTC.
    #[param(value_type = Option<String>)]
    at: Option<WallTime>,
    /// The moment of this event.
    event: Option<String>,
    /// Beside `event`: the picture `before` it (default) or once its effect shows.
    #[param(value_type = Option<String>)]
    side: Option<Side>,
    /// `jpeg` (default), `png` or `webp`.
    format: Option<String>,
    /// Scaled down to this width in pixels.
    width: Option<u32>,
    /// Only this part of the screen: `x,y,w,h` in pixels.
    #[serde(default, deserialize_with = "params::rect")]
    #[param(value_type = Option<String>)]
    rect: Option<Rect>,
    /// `refuse` answers 409 for a moment without picture.
    #[param(value_type = Option<String>)]
    gap: Option<InGap>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Side {
    Before,
    After,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InGap {
    /// The last picture before the gap.
    Last,
    Refuse,
}

/// The picture of a moment.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/frame", tag = "media",
    params(("session" = String, Path), Asked),
    responses(
        (status = 200, content_type = "image/jpeg", headers(
            ("X-Playhead-Frame-T" = u64, description = "when the frame began to be shown, ms"),
            ("X-Playhead-Frame-UTC" = String),
            ("X-Playhead-Error-Ms" = String, description = "a number, or unknown"),
            ("X-Playhead-Gap" = String, description = "reason; from; to"),
        )),
        (status = 304), (status = 400), (status = 404), (status = 409), (status = 503),
    ),
)]
pub(super) async fn frame(
    State(archive): State<Arc<Archive>>,
    Path(session): Path<String>,
    Params(asked): Params<Asked>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (summary, timeline) = params::timeline(&archive, &session).await?;
    let (format, view) = wanted(&asked)?;
    let at = moment(&archive, &summary, &timeline, &asked).await?;
    let shot = shot(&timeline, at).map_err(|error| refuse(error, &timeline))?;
    if let (Some(gap), Some(InGap::Refuse)) = (shot.gap, asked.gap) {
        let message = format!("There is no picture then: {}.", gap.reason);
        return Err(ApiError::new(StatusCode::CONFLICT, "in_gap", message)
            .with("gap", serde_json::json!(gap)));
    }

    let source = archive.source(summary.id, &timeline, &shot).await?;
    let recorded = Recorded {
        etag: etag(&source.0.stored.sha256, source.1, &shot, &asked),
        content_type: format.content_type(),
        no_store: summary.masks > 0,
    };
    let mut response = match recorded.unchanged(&headers) {
        Some(unchanged) => unchanged,
        None => {
            let picture = archive.picture(&source, &shot).await;
            let picture = picture.map_err(|error| undecoded(&error))?;
            let file = archive.media.work(move || -> Result<_, ApiError> {
                let shown = picture.view(view);
                let shown = shown.map_err(|error| unviewed(&error))?;
                let file = shown.encode(format);
                file.map_err(|error| ApiError::internal(&error))
            });
            let file = file.await.map_err(|error| undecoded(&error))??;
            recorded.answer(&headers, file.into())
        }
    };
    tell(&mut response, &shot);
    Ok(response)
}

fn wanted(asked: &Asked) -> Result<(PictureFormat, View), ApiError> {
    let format = asked.format.as_deref().unwrap_or("jpeg").parse();
    let format = format.map_err(|error: crate::decode::picture::FormatError| {
        ApiError::parameter("format", error)
    })?;
    if asked.width == Some(0) {
        return Err(ApiError::parameter("width", "must be at least 1"));
    }
    let view = View {
        rect: asked.rect,
        width_px: asked.width,
    };
    Ok((format, view))
}

/// The one moment that was asked for.
async fn moment(
    archive: &Archive,
    summary: &SessionSummary,
    timeline: &Timeline,
    asked: &Asked,
) -> Result<At, ApiError> {
    if asked.side.is_some() && asked.event.is_none() {
        return Err(ApiError::parameter("side", "is given beside event"));
    }
    let id = match (asked.t, asked.at, &asked.event) {
        (Some(t), None, None) => return Ok(At::Media(t)),
        (None, Some(utc), None) => return Ok(At::Utc(utc)),
        (None, None, Some(id)) => id,
        _ => {
            let problem = "give one of t (ms), at (UTC) and event";
            return Err(ApiError::parameter("t", problem));
        }
    };
    let row = archive.catalog.event(id).await?;
    let row = row.filter(|row| row.session == Some(summary.id));
    let row = row.ok_or_else(|| {
        ApiError::not_found("unknown_event", "The session has no event of this id.")
    })?;
    let t = row.t.ok_or_else(|| params::outside(timeline))?;
    Ok(At::Media(match asked.side {
        Some(Side::After) => settled_after(timeline, t),
        Some(Side::Before) | None => t,
    }))
}

/// How long a client waits before it asks again for what is not stored yet: a fragment ends
/// after a minute at most, and mostly sooner.
pub(super) const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("5");

pub(super) fn refuse(error: ShotError, timeline: &Timeline) -> ApiError {
    let message = format!("{error}.");
    match error {
        ShotError::Outside { .. } | ShotError::TooEarly { .. } => {
            let range = vec![0, timeline.duration.ms()];
            ApiError::new(StatusCode::BAD_REQUEST, "time_outside_session", message)
                .with("range", range)
        }
        ShotError::NotYet { .. } => {
            ApiError::not_found("not_yet", message).with_header(header::RETRY_AFTER, RETRY_AFTER_S)
        }
        ShotError::Ambiguous { moments, .. } => {
            let moments: Vec<u64> = moments.into_iter().map(MediaTime::ms).collect();
            ApiError::new(StatusCode::CONFLICT, "ambiguous_time", message).with("moments", moments)
        }
        ShotError::BeforeFirstFrame { .. } => {
            ApiError::new(StatusCode::CONFLICT, "before_first_frame", message)
        }
    }
}

fn unviewed(error: &ViewError) -> ApiError {
    match error {
        ViewError::Rect { .. } => ApiError::parameter("rect", error),
        ViewError::Scale { .. } => ApiError::internal(error),
    }
}

pub(super) fn undecoded(error: &PictureError) -> ApiError {
    match error {
        PictureError::Busy => ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "Too many pictures are asked for at once.",
        )
        .with_header(header::RETRY_AFTER, HeaderValue::from_static("1")),
        PictureError::Store(error) => error::unstored(error),
        PictureError::Cancelled => ApiError::internal(error),
        PictureError::NoSample { .. } | PictureError::Read { .. } | PictureError::Decode { .. } => {
            error::damaged(error)
        }
    }
}

/// Equal tags mean equal bytes: a sample never changes, and encoders are deterministic.
fn etag(digest: &segment::Sha256, fragment: u32, shot: &Shot, asked: &Asked) -> String {
    let format = asked.format.as_deref().unwrap_or("jpeg");
    let width = asked.width.unwrap_or(0);
    let rect = asked.rect.map_or([0; 4], Into::into);
    let [x, y, w, h] = rect;
    let sample = shot.frame.sample;
    format!("\"{digest}.{fragment}.{sample}.{format}.{width}.{x}-{y}-{w}-{h}\"")
}

/// Says which frame it is, and that there was no picture at the moment itself.
fn tell(response: &mut Response, shot: &Shot) {
    let error_ms = shot.error_ms.map(|ms| ms.to_string());
    let gap = shot.gap.map(|gap| {
        let (from, to) = (gap.from.ms(), gap.to.ms());
        format!("{}; {from}; {to}", gap.reason)
    });
    for (name, value) in [
        ("x-playhead-frame-t", Some(shot.frame.t.ms().to_string())),
        ("x-playhead-frame-utc", Some(shot.utc.to_string())),
        (
            "x-playhead-error-ms",
            Some(error_ms.unwrap_or_else(|| "unknown".to_owned())),
        ),
        ("x-playhead-gap", gap),
    ] {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
}
