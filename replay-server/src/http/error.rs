//! What a client is told when something cannot be done, apart from what the operator is told.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use index::catalog::Fault;
use serde_json::{Map, Value, json};
use telemetry::fault::{self, chain};

use crate::{metrics::metrics, recorded::RecordedError};

/// A refusal: `{"error":{"code":"…","message":"…"}}` and whatever the code promises beside.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// A refusal with `status`. `code` is for programs, `message` is a sentence for people.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            details: Map::new(),
            headers: Vec::new(),
        }
    }

    /// A parameter is wrong.
    pub(crate) fn parameter(name: &str, problem: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad_parameter",
            format!("{name}: {problem}"),
        )
    }

    /// There is no such thing.
    pub(crate) fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// The server failed. The client learns nothing but that; `error` goes to the log.
    pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = chain(error), "Request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "The server could not do this; its log says why.",
        )
    }

    /// The same refusal with a further field beside code and message.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// The same refusal with a header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut error = self.details;
        error.insert("code".to_owned(), self.code.into());
        error.insert("message".to_owned(), self.message.into());
        let mut response = (self.status, Json(json!({ "error": error }))).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

impl From<index::CatalogError> for ApiError {
    fn from(error: index::CatalogError) -> Self {
        match error {
            index::CatalogError::Cursor => Self::parameter("cursor", error),
            index::CatalogError::UnknownSession { session } => unknown_session(&session),
            other if other.fault() == Fault::Request => Self::internal(&other),
            failed => uncatalogued(&failed),
        }
    }
}

/// The catalogue failed: the same may be asked again once it is mended.
fn uncatalogued(error: &index::CatalogError) -> ApiError {
    metrics().catalogue_failed(error);
    tracing::warn!(error = chain(error), "The catalogue fails");
    unavailable(fault::of_catalogue(error))
}

fn unavailable((code, message): (&'static str, &'static str)) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
        .with_header(header::RETRY_AFTER, HeaderValue::from_static("5"))
}

impl From<store::StoreError> for ApiError {
    fn from(error: store::StoreError) -> Self {
        unstored(&error)
    }
}

impl From<RecordedError> for ApiError {
    fn from(error: RecordedError) -> Self {
        match error {
            RecordedError::Catalog(error) => error.into(),
            RecordedError::Store(error) => error.into(),
            RecordedError::Segment { .. } | RecordedError::Idle { .. } => damaged(&error),
            RecordedError::Cancelled(error) => super::frame::undecoded(&error),
        }
    }
}

/// The store did not give an object that the catalogue knows, or take one.
pub(crate) fn unstored(error: &store::StoreError) -> ApiError {
    use store::StoreError as Error;
    metrics().store_failed(error);
    match error {
        Error::NotFound { .. }
        | Error::Range { .. }
        | Error::TooLarge { .. }
        | Error::Damaged { .. } => damaged(error),
        Error::Key { .. } | Error::Exists { .. } | Error::Locked { .. } => {
            ApiError::internal(error)
        }
        failed => {
            tracing::warn!(error = chain(failed), "The store fails");
            unavailable(fault::of_store(failed))
        }
    }
}

/// What is stored is not what was recorded.
pub(crate) fn damaged(error: &(dyn std::error::Error + 'static)) -> ApiError {
    tracing::error!(error = chain(error), "Recording is damaged");
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "recording_damaged",
        "What is stored of this is missing or damaged; `playhead verify` says what.",
    )
}

/// There is no session of this name.
pub(crate) fn unknown_session(id: &dyn std::fmt::Display) -> ApiError {
    ApiError::not_found("unknown_session", format!("There is no session {id:.64}."))
}

#[cfg(test)]
mod tests {
    use store::StoreError;

    use super::*;

    fn check(error: &StoreError, status: u16, code: &str) {
        let told = unstored(error);
        assert_eq!((told.status.as_u16(), told.code), (status, code), "{error}");
        let again = told
            .headers
            .iter()
            .any(|(name, _)| name == header::RETRY_AFTER);
        assert_eq!(again, status == 503, "{error}");
        assert!(!told.message.contains("s3://"), "{}", told.message);
    }

    #[test]
    fn a_store_that_fails_is_told_apart_from_a_damaged_recording() {
        let (url, key) = (|| "s3://secret".to_owned(), || "v1/a".to_owned());
        let (doing, reason) = (|| "read v1/a".to_owned(), || "down".to_owned());
        check(
            &StoreError::NotFound { key: key() },
            500,
            "recording_damaged",
        );
        check(
            &StoreError::Damaged { key: key() },
            500,
            "recording_damaged",
        );
        check(&StoreError::Gone { url: url() }, 503, "store_failed");
        check(
            &StoreError::Unfit {
                url: url(),
                reason: reason(),
            },
            503,
            "store_failed",
        );
        let refused = StoreError::Refused {
            url: url(),
            doing: doing(),
            status: 500,
            code: "InternalError".into(),
            advice: "look at its log",
        };
        check(&refused, 503, "store_failed");
        let broken = StoreError::Unreachable {
            url: url(),
            doing: doing(),
            reason: reason(),
        };
        check(&broken, 503, "store_failed");
        let silent = StoreError::Silent {
            url: url(),
            doing: doing(),
            reason: reason(),
        };
        check(&silent, 503, "store_silent");
        let io = StoreError::Io {
            doing: "read",
            path: "/mnt/secret".into(),
            source: std::io::ErrorKind::Other.into(),
        };
        check(&io, 503, "store_failed");
        check(&StoreError::Exists { key: key() }, 500, "internal");
    }
}
