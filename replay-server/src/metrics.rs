//! How is the server doing, in numbers? Counted where things happen, told as Prometheus text.
//!
//! Every label has few values: routes are patterns, never addresses, and methods nobody serves
//! are one.

use std::sync::LazyLock;

use axum::response::Response;
use index::{CatalogError, catalog::Fault};
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use store::StoreError;
use telemetry::numbers::{self, Labels, count};

/// From an answer out of memory to the longest that is waited for.
const DURATION_BUCKETS_SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 60.0,
];

/// What is counted.
pub struct Metrics {
    registry: Registry,
    requests: Family<Labels<3>, Counter>,
    durations: Family<Labels<1>, Histogram>,
    sent: Family<Labels<1>, Counter>,
    decodes: Family<Labels<1>, Counter>,
    lookups: Family<Labels<2>, Counter>,
    catalogue_errors: Family<Labels<1>, Counter>,
    store_errors: Family<Labels<1>, Counter>,
    sessions: Family<Labels<1>, Gauge>,
    given_up: Family<Labels<1>, Counter>,
}

/// This process's numbers.
#[must_use]
pub fn metrics() -> &'static Metrics {
    static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
    &METRICS
}

impl Metrics {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("playhead");
        let durations = Family::new_with_constructor(duration_buckets as fn() -> Histogram);
        let metrics = Self {
            requests: Family::default(),
            durations,
            sent: Family::default(),
            decodes: Family::default(),
            lookups: Family::default(),
            catalogue_errors: Family::default(),
            store_errors: Family::default(),
            sessions: Family::default(),
            given_up: Family::default(),
            registry: Registry::default(),
        };
        registry.register(
            "http_requests",
            "Requests answered",
            metrics.requests.clone(),
        );
        registry.register_with_unit(
            "http_request_duration",
            "Time until an answer begins",
            Unit::Seconds,
            metrics.durations.clone(),
        );
        registry.register_with_unit(
            "http_response",
            "Bytes of answers sent, as compressed",
            Unit::Bytes,
            metrics.sent.clone(),
        );
        registry.register(
            "frame_decodes",
            "Pictures decoded from segments",
            metrics.decodes.clone(),
        );
        registry.register(
            "cache_lookups",
            "Look-ups in the server's caches",
            metrics.lookups.clone(),
        );
        registry.register(
            "catalogue_errors",
            "Failures of the catalogue",
            metrics.catalogue_errors.clone(),
        );
        registry.register(
            "store_errors",
            "Failures of the object store",
            metrics.store_errors.clone(),
        );
        registry.register(
            "sessions",
            "Sessions in the catalogue by state, twice a minute",
            metrics.sessions.clone(),
        );
        registry.register(
            "recorders_given_up",
            "Silent recorders whose session this server closed or found closed",
            metrics.given_up.clone(),
        );
        Self {
            registry,
            ..metrics
        }
    }

    /// A request to `route` was answered after `seconds`. Gives the counter of the answer's bytes.
    pub(crate) fn answered(
        &self,
        route: &str,
        method: &'static str,
        status: u16,
        seconds: f64,
    ) -> Counter {
        let route = || ("route", route.to_owned());
        let status = ("status", status.to_string());
        let labels = [("method", method.to_owned()), route(), status];
        self.requests.get_or_create(&labels).inc();
        self.durations.get_or_create(&[route()]).observe(seconds);
        self.sent.get_or_create(&[route()]).clone()
    }

    /// A picture was decoded, or could not be.
    pub(crate) fn decoded(&self, ok: bool) {
        let outcome = if ok { "ok" } else { "failed" };
        count(&self.decodes, "outcome", outcome);
    }

    /// The cache `name` was asked.
    pub(crate) fn looked_up(&self, name: &'static str, hit: bool) {
        let outcome = if hit { "hit" } else { "miss" };
        let labels = [("cache", name.to_owned()), ("outcome", outcome.to_owned())];
        self.lookups.get_or_create(&labels).inc();
    }

    /// The catalogue failed; what it merely refused is no failure.
    pub(crate) fn catalogue_failed(&self, error: &CatalogError) {
        match error.fault() {
            Fault::Passing => count(&self.catalogue_errors, "fault", "passing"),
            Fault::Broken => count(&self.catalogue_errors, "fault", "broken"),
            Fault::Request => {}
        }
    }

    /// The store failed.
    pub(crate) fn store_failed(&self, error: &StoreError) {
        let fault = match error {
            StoreError::NotFound { .. } | StoreError::Range { .. } => "missing",
            StoreError::TooLarge { .. } | StoreError::Damaged { .. } => "damaged",
            _ => "unavailable",
        };
        count(&self.store_errors, "fault", fault);
    }

    /// So many sessions are in `state`.
    pub(crate) fn set_sessions(&self, state: &str, n: u64) {
        let labels = [("state", state.to_owned())];
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        self.sessions.get_or_create(&labels).set(n);
    }

    /// A recorder was given up.
    pub(crate) fn gave_up(&self, outcome: &'static str) {
        count(&self.given_up, "outcome", outcome);
    }

    /// All numbers as text.
    #[must_use]
    pub fn answer(&self) -> Response {
        numbers::answer(&self.registry)
    }
}

fn duration_buckets() -> Histogram {
    Histogram::new(DURATION_BUCKETS_SECONDS)
}
