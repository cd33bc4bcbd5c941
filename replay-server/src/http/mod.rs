//! The server's outside: which address answers what (api.md, "HTTP").

mod body;
mod clip;
mod density;
mod error;
mod events;
mod frame;
mod headers;
mod health;
mod hls;
mod intake;
mod media;
mod metered;
mod openapi;
mod params;
mod resolve;
mod runs;
mod sessions;
mod thumbs;
mod timeline;
mod viewer;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use tower_http::compression::{
    CompressionLayer, DefaultPredicate, Predicate,
    predicate::{NotForContentType, SizeAbove},
};

use crate::archive::Archive;

pub(crate) use error::ApiError;
pub use headers::LocalNames;
pub use openapi::document;

/// No request body is larger.
const MAX_BODY_BYTES: usize = 8 << 20;
/// No answer takes longer to begin: the slowest is a picture at the end of the longest queue.
const MAX_ANSWER: Duration = Duration::from_secs(60);
/// Smaller answers are not worth compressing.
const MIN_COMPRESSED_BYTES: u16 = 1024;

/// Everything the server answers, from `archive`, under `names`.
pub fn router(archive: Arc<Archive>, names: LocalNames) -> Router {
    // Media is compressed already, and a compressed body would have no byte ranges.
    let worth = DefaultPredicate::new()
        .and(NotForContentType::const_new("video/"))
        .and(SizeAbove::new(MIN_COMPRESSED_BYTES));
    Router::new()
        .nest("/api/v1", calls())
        .route("/api/openapi.json", get(openapi::openapi))
        .route("/api/{*call}", any(unknown_call))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metered::metrics_text))
        .fallback(viewer::page)
        .method_not_allowed_fallback(wrong_method)
        .layer(CompressionLayer::new().compress_when(worth))
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn_with_state(names, headers::only_local))
        .layer(middleware::map_response(headers::secure))
        .layer(middleware::from_fn(metered::count))
        .with_state(archive)
}

fn calls() -> Router<Arc<Archive>> {
    Router::new()
        .route("/sessions", get(sessions::list))
        .route("/sessions/{session}", get(sessions::one))
        .route("/sessions/{session}/timeline", get(timeline::timeline))
        .route("/sessions/{session}/density", get(density::density))
        .route("/sessions/{session}/events", get(events::events))
        .route("/sessions/{session}/media/{seq}/{part}", get(media::part))
        .route("/sessions/{session}/hls/index.m3u8", get(hls::index))
        .route("/sessions/{session}/frame", get(frame::frame))
        .route("/sessions/{session}/clip.mp4", get(clip::clip))
        .route("/sessions/{session}/thumbs.json", get(thumbs::index))
        .route("/sessions/{session}/thumbs/{sheet}", get(thumbs::sheet))
        .route("/runs/{run}", get(runs::run))
        .route("/resolve", get(resolve::resolve))
        .route("/events", post(intake::events))
}

/// Ends what takes too long.
async fn in_time(request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(MAX_ANSWER, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        let message = "The server could not do this in time; try again later.";
        ApiError::new(StatusCode::GATEWAY_TIMEOUT, "too_slow", message).into_response()
    })
}

async fn unknown_call() -> ApiError {
    ApiError::not_found(
        "unknown_call",
        "There is no such call; /api/openapi.json lists all.",
    )
}

async fn wrong_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong_method",
        "This address does not answer to that method.",
    )
}
