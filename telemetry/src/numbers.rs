//! How are a program's numbers told? As OpenMetrics text, which Prometheus reads.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// What [`answer`] gives, as HTTP names it.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The labels of one number, of which each has few values.
pub type Labels<const N: usize> = [(&'static str, String); N];

/// Counts one more under `value`.
pub fn count(family: &Family<Labels<1>, Counter>, label: &'static str, value: &str) {
    family.get_or_create(&[(label, value.to_owned())]).inc();
}

/// All numbers in `registry`.
#[must_use]
pub fn answer(registry: &Registry) -> Response {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, registry);
    let kind = HeaderValue::from_static(CONTENT_TYPE);
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
