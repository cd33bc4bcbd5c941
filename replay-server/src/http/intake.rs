//! Takes in event rows from other systems (api.md, "Event rows").

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use index::{commit::CommitError, import::ImportError};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, MAX_BODY_BYTES};
use crate::archive::Archive;

/// What became of the rows.
#[derive(Serialize, ToSchema)]
pub(super) struct Intake {
    /// How many were new.
    accepted: u64,
    /// How many were known.
    duplicate: u64,
    refused: Vec<Refused>,
    /// How many more were refused than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_more: Option<u64>,
}

/// A row that was not taken.
#[derive(Serialize, ToSchema)]
pub(super) struct Refused {
    /// Its line in the body, from 1.
    line: u64,
    /// The field that is wrong; empty when it is the line as a whole.
    field: String,
    message: String,
}

/// Rows as NDJSON, one a line. Good rows beside bad ones are kept.
#[utoipa::path(
    post, path = "/api/v1/events", tag = "events",
    request_body(content = String, content_type = "application/x-ndjson"),
    responses(
        (status = 200, body = Intake),
        (status = 207, body = Intake, description = "some rows were refused"),
        (status = 400, body = Intake, description = "all rows were refused"),
        (status = 413),
        (status = 503, description = "store or catalogue fail; sending all again is harmless"),
    ),
)]
pub(super) async fn events(
    State(archive): State<Arc<Archive>>,
    body: Body,
) -> Result<Response, ApiError> {
    let too_large = || {
        let message = format!(
            "The body is larger than {MAX_BODY_BYTES} bytes; send the rows in several requests."
        );
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    };
    let rows = axum::body::to_bytes(body, MAX_BODY_BYTES).await;
    let rows = rows.map_err(|_| too_large())?;
    let report = archive.import(&rows, 1, None).await;
    let report = report.map_err(|error| match error {
        ImportError::Catalog(error) | ImportError::Commit(CommitError::Catalog(error)) => {
            error.into()
        }
        ImportError::Commit(CommitError::Store(error)) => error.into(),
        other => ApiError::internal(&other),
    })?;
    let refused: Vec<Refused> = report.refused.into_iter().map(Into::into).collect();
    let kept = report.accepted + report.duplicate;
    let status = match (refused.is_empty(), kept) {
        (true, _) => StatusCode::OK,
        (false, 0) => StatusCode::BAD_REQUEST,
        (false, _) => StatusCode::MULTI_STATUS,
    };
    let intake = Intake {
        accepted: report.accepted,
        duplicate: report.duplicate,
        refused,
        refused_more: (report.refused_more > 0).then_some(report.refused_more),
    };
    Ok((status, Json(intake)).into_response())
}

impl From<index::row::Refusal> for Refused {
    fn from(refusal: index::row::Refusal) -> Self {
        Self {
            line: refusal.line,
            field: refusal.field,
            message: refusal.message,
        }
    }
}
