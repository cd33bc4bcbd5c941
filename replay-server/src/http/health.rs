//! Is the process up, and can it answer?

use std::{sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
};

use super::ApiError;
use crate::archive::Archive;

/// A store or catalogue that answers later than this is as good as away.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process is up.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200)))]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// The store and the catalogue can be reached.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses((status = 200), (status = 503)),
)]
pub(super) async fn readyz(State(archive): State<Arc<Archive>>) -> Result<&'static str, ApiError> {
    let store = async { archive.store.list("v1/", None, 1).await.is_ok() };
    let catalog = async { archive.catalog.store_id().await.is_ok() };
    for (what, reached) in [
        ("store", tokio::time::timeout(PATIENCE, store).await),
        ("catalogue", tokio::time::timeout(PATIENCE, catalog).await),
    ] {
        if reached != Ok(true) {
            let message = format!("The {what} cannot be reached.");
            let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", message);
            return Err(error.with_header(header::RETRY_AFTER, HeaderValue::from_static("5")));
        }
    }
    Ok("ready\n")
}
