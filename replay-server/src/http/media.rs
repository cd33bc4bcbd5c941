//! Serves a segment's init part and its fragments, each where it is to be shown.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use bytes::Bytes;
use capture::MediaTime;
use index::catalog::{MediaRow, ObjectRow};
use segment::mp4::{PlaceError, place};
use serde::Deserialize;

use super::{ApiError, body::Recorded, params, params::Params};
use crate::{archive::Archive, media::fragment_row};

/// Where a repetition is to stand, in ms since session start.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Placing {
    /// Where it begins.
    #[serde(default, deserialize_with = "params::time")]
    #[param(value_type = Option<u64>)]
    at: Option<MediaTime>,
    /// Where it is cut.
    #[serde(default, deserialize_with = "params::time")]
    #[param(value_type = Option<u64>)]
    to: Option<MediaTime>,
}

/// `ftyp moov` of a segment (`init.mp4`), or one of its fragments (`0.m4s` and on).
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/media/{seq}/{part}", tag = "media",
    params(
        ("session" = String, Path),
        ("seq" = String, Path, description = "the segment's number"),
        ("part" = String, Path, description = "init.mp4 or {fragment}.m4s"),
        Placing,
    ),
    responses(
        (status = 200, content_type = "video/mp4"), (status = 206), (status = 304),
        (status = 400), (status = 404), (status = 410), (status = 416),
    ),
)]
pub(super) async fn part(
    State(archive): State<Arc<Archive>>,
    Path((session, seq, part)): Path<(String, String, String)>,
    Params(placing): Params<Placing>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let summary = params::session(&archive, &session).await?;
    let object = archive.catalog.object(summary.id, number(&seq)?).await?;
    let no_part = || ApiError::not_found("unknown_media", "The session holds no such media.");
    let object = object.ok_or_else(no_part)?;
    let media = object.media.as_ref().ok_or_else(no_part)?;
    let asked = Part::parse(&part, placing, media)?.ok_or_else(no_part)?;

    let recorded = Recorded {
        etag: asked.etag(&object),
        content_type: asked.content_type(),
        no_store: summary.masks > 0,
    };
    if let Some(unchanged) = recorded.unchanged(&headers) {
        return Ok(unchanged);
    }
    let bytes = asked.read(&archive, &object, media).await?;
    Ok(recorded.answer(&headers, bytes))
}

/// A segment's number, with the generation a later redaction gave it.
fn number(seq: &str) -> Result<u64, ApiError> {
    let (number, generation) = seq.split_once(".g").unwrap_or((seq, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let known = digits(number) && generation.is_empty() && !seq.ends_with(".g");
    let parsed = known.then(|| number.parse().ok()).flatten();
    parsed.ok_or_else(|| ApiError::not_found("unknown_media", "There is no such segment."))
}

/// A part of a segment.
enum Part {
    Init,
    Fragment {
        n: u32,
        place: Option<(MediaTime, MediaTime)>,
    },
}

impl Part {
    /// The part that `name` stands for; `None` when the segment has none of that name.
    fn parse(name: &str, placing: Placing, media: &MediaRow) -> Result<Option<Self>, ApiError> {
        let place = match (placing.at, placing.to) {
            (None, None) => None,
            (Some(at), Some(to)) if at < to => Some((at, to)),
            (Some(_), Some(_)) => {
                return Err(ApiError::parameter("to", "must be later than at"));
            }
            _ => return Err(ApiError::parameter("at", "at and to are given together")),
        };
        if name == "init.mp4" {
            return Ok(Some(Self::Init));
        }
        let n = name.strip_suffix(".m4s").and_then(|n| n.parse().ok());
        let n = n.filter(|&n| fragment_row(media, n).is_some());
        Ok(n.map(|n| Self::Fragment { n, place }))
    }

    /// Equal tags mean equal bytes: the object never changes, and the rest says what of it.
    fn etag(&self, object: &ObjectRow) -> String {
        let digest = object.stored.sha256;
        match self {
            Self::Init => format!("\"{digest}.init\""),
            Self::Fragment { n, place: None } => format!("\"{digest}.{n}\""),
            Self::Fragment {
                n,
                place: Some((at, to)),
            } => format!("\"{digest}.{n}.{}-{}\"", at.ms(), to.ms()),
        }
    }

    const fn content_type(&self) -> &'static str {
        match self {
            Self::Init => "video/mp4",
            Self::Fragment { .. } => "video/iso.segment",
        }
    }

    async fn read(
        &self,
        archive: &Archive,
        object: &ObjectRow,
        media: &MediaRow,
    ) -> Result<Bytes, ApiError> {
        let no_part = || ApiError::not_found("unknown_media", "The session holds no such media.");
        match *self {
            Self::Init => {
                let range = media.init.byte_range();
                Ok(archive.media.part(&object.key, range).await?)
            }
            Self::Fragment { n, place: to_place } => {
                let row = fragment_row(media, n).ok_or_else(no_part)?;
                let bytes = archive.media.part(&object.key, row.byte_range()).await?;
                match to_place {
                    None => Ok(bytes),
                    Some((at, to)) => {
                        let placed = place(&bytes, at, to).map_err(|error| refuse(&error))?;
                        Ok(placed.into())
                    }
                }
            }
        }
    }
}

fn refuse(error: &PlaceError) -> ApiError {
    match error {
        PlaceError::Read(_) | PlaceError::Write(_) => ApiError::internal(error),
        other => ApiError::new(StatusCode::BAD_REQUEST, "bad_place", other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_named_by_its_number() {
        assert_eq!(number("12").ok(), Some(12));
        for name in ["", "x", "-1", "1.g", "1.g2", "1.", "99999999999999999999"] {
            assert!(number(name).is_err(), "{name}");
        }
    }
}
