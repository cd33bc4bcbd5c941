//! Is the process up, and can it answer?

use std::sync::Arc;

use axum::{extract::State, response::Response};
use telemetry::health;

use crate::{archive::Archive, readiness::Readiness};

/// The process is up. Says nothing of what it depends on.
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200)))]
pub(super) async fn healthz() -> &'static str {
    health::ALIVE
}

/// The store answers, the catalogue can be read and written, and they belong together: as of the
/// last second.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness)),
)]
pub(super) async fn readyz(State(archive): State<Arc<Archive>>) -> Response {
    let readiness = archive.probe.ask(&archive).await;
    health::answer(readiness.ready, &readiness)
}
