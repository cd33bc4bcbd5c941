//! Counts what is asked and answered.

use axum::{
    body::Body,
    extract::{MatchedPath, Request},
    http::Method,
    middleware::Next,
    response::Response,
};
use http_body_util::BodyExt as _;

use crate::{clock, metrics::metrics};

/// What the viewer's own addresses, and unknown ones, are counted under.
const NO_ROUTE: &str = "viewer";

/// The server's numbers as Prometheus text.
#[utoipa::path(
    get, path = "/metrics", tag = "health",
    responses((status = 200, body = String, content_type = "application/openmetrics-text")),
)]
pub(super) async fn metrics_text() -> Response {
    metrics().answer()
}

/// Counts the request, its answer and the bytes of that as they go out.
pub(super) async fn count(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = method(request.method());
    let began = clock::monotonic();
    let response = next.run(request).await;
    let seconds = began.elapsed().as_secs_f64();
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    let sent = metrics().answered(route, method, response.status().as_u16(), seconds);
    let (parts, body) = response.into_parts();
    let counted = body.map_frame(move |frame| {
        if let Some(data) = frame.data_ref() {
            sent.inc_by(data.len() as u64);
        }
        frame
    });
    Response::from_parts(parts, Body::new(counted))
}

/// The method's name; one for all that are not served.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        _ => "other",
    }
}
