//! The calls as a document for programs, made from the code that answers them.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Playhead",
        description = "Recorded desktop sessions: what is there, what was shown at a moment, and \
                       what is known about it. Times are integer ms since session start, or UTC. \
                       Errors are {\"error\":{\"code\":…,\"message\":…}}.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    paths(
        super::sessions::list,
        super::sessions::one,
        super::runs::run,
        super::timeline::timeline,
        super::density::density,
        super::events::events,
        super::intake::events,
        super::media::part,
        super::hls::index,
        super::frame::frame,
        super::clip::clip,
        super::thumbs::index,
        super::thumbs::sheet,
        super::resolve::resolve,
        super::health::healthz,
        super::health::readyz,
        super::metered::metrics_text,
    )
)]
struct Document;

/// The OpenAPI document, as it is checked into the repository.
#[must_use]
pub fn document() -> String {
    // The derived document is plain data with text keys, which always serialises.
    let text = Document::openapi().to_pretty_json().unwrap_or_default();
    text + "\n"
}

pub(super) async fn openapi() -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], document()).into_response()
}
