//! How is the recorder doing, in numbers? What happens is counted where it happens; what stands is
//! looked at when somebody asks. One set for all sessions of the process.
//!
//! Every label has few values, and none of them is a session's: what comes and goes would grow
//! without end in whoever collects it.

pub(crate) mod endpoint;
mod meter;
mod readiness;

use std::sync::{LazyLock, Mutex, atomic::AtomicU64};

use axum::response::Response;
use capture::{GapReason, WallTime};
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use telemetry::numbers::{self, Labels, count};

use self::meter::Living;
pub(crate) use self::meter::Meter;
use crate::{
    clock::BootTime,
    delivery::{Attempt, retry::FaultKind},
    spool::Backlog,
};

/// The states of a session's source.
const SOURCE_STATES: [&str; 7] = [
    "ok",
    "black",
    "stalled",
    "flood",
    "disconnected",
    "permission-lost",
    "driver-refused",
];
/// All other events of health that have a name of their own here. A child tells them, and it may
/// be in a stranger's hands: what it makes up is one more.
const OTHER_STATES: [&str; 15] = [
    "catalog-available",
    "catalog-unavailable",
    "child-died",
    "disk-full",
    "disk-low",
    "disk-ok",
    "enforced",
    "input-back",
    "input-lost",
    "input-unseen",
    "spool-damaged",
    "spool-unreadable",
    "store-available",
    "store-unavailable",
    "unenforced",
];

type Float = Gauge<f64, AtomicU64>;

/// What is counted and what stands.
pub(crate) struct Metrics {
    registry: Registry,
    frames: Family<Labels<1>, Counter>,
    gaps: Family<Labels<1>, Counter>,
    health: Family<Labels<1>, Counter>,
    restarts: Counter,
    attempts: Family<Labels<2>, Counter>,
    stored: Counter,
    sessions: Family<Labels<1>, Gauge>,
    unrecorded: Gauge,
    drivers: Gauge,
    proof_age: Family<Labels<1>, Float>,
    waiting: Float,
    waiting_bytes: Float,
    unsent_age: Float,
    rows_owed: Float,
    free: Float,
    reserve: Float,
    living: Mutex<Living>,
}

/// This process's numbers.
pub(crate) fn metrics() -> &'static Metrics {
    static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
    &METRICS
}

impl Metrics {
    fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("playhead_agent"),
            frames: Family::default(),
            gaps: Family::default(),
            health: Family::default(),
            restarts: Counter::default(),
            attempts: Family::default(),
            stored: Counter::default(),
            sessions: Family::default(),
            unrecorded: Gauge::default(),
            drivers: Gauge::default(),
            proof_age: Family::default(),
            waiting: Float::default(),
            waiting_bytes: Float::default(),
            unsent_age: Float::default(),
            rows_owed: Float::default(),
            free: Float::default(),
            reserve: Float::default(),
            living: Mutex::default(),
        };
        metrics.register_counts();
        metrics.register_what_stands();
        metrics
    }

    fn register_counts(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "frames",
            "Pictures of the source: taken as a frame, or merged into the next one since they came \
             faster than --fps-max",
            self.frames.clone(),
        );
        registry.register(
            "gaps",
            "Times without a picture that began, by their reason",
            self.gaps.clone(),
        );
        registry.register(
            "health_events",
            "Changes of health that were told, by what it became",
            self.health.clone(),
        );
        registry.register(
            "child_restarts",
            "Recording processes that died and were started again",
            self.restarts.clone(),
        );
        registry.register(
            "delivery_attempts",
            "Steps from spool to store (session, object, end) and to the catalogue (rows), by what \
             became of them",
            self.attempts.clone(),
        );
        registry.register_with_unit(
            "stored",
            "Size of the objects that the store has taken and given back",
            Unit::Bytes,
            self.stored.clone(),
        );
    }

    fn register_what_stands(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "sessions",
            "Sessions being recorded, by the health of their source",
            self.sessions.clone(),
        );
        registry.register(
            "unrecorded",
            "Sessions of which nothing is recorded, for want of room",
            self.unrecorded.clone(),
        );
        registry.register(
            "drivers",
            "Clients connected to this recorder's proxies",
            self.drivers.clone(),
        );
        registry.register_with_unit(
            "source_proof_age",
            "Time since the source last proved its picture: in the session where that is longest",
            Unit::Seconds,
            self.proof_age.clone(),
        );
        registry.register(
            "spool_objects",
            "Objects in the spool, of all its recorders, that are not in the store: those being \
             written and those of recorders that died as well",
            self.waiting.clone(),
        );
        registry.register_with_unit(
            "spool_used",
            "Size of these objects",
            Unit::Bytes,
            self.waiting_bytes.clone(),
        );
        registry.register_with_unit(
            "spool_free",
            "Room on the spool's disk",
            Unit::Bytes,
            self.free.clone(),
        );
        registry.register_with_unit(
            "spool_reserve",
            "Room on that disk below which nothing is recorded",
            Unit::Bytes,
            self.reserve.clone(),
        );
        registry.register_with_unit(
            "oldest_unsent_age",
            "Age of the oldest moment in the spool that is not in the store; 0 when all is",
            Unit::Seconds,
            self.unsent_age.clone(),
        );
        registry.register(
            "rows_owed",
            "Objects in the store that the catalogue is still to be told of",
            self.rows_owed.clone(),
        );
    }

    /// Pictures were taken as frames, and merged into later ones.
    fn pictured(&self, taken: u64, merged: u64) {
        for (outcome, n) in [("taken", taken), ("merged", merged)] {
            let labels = [("outcome", outcome.to_owned())];
            self.frames.get_or_create(&labels).inc_by(n);
        }
    }

    /// There is no picture any more.
    pub(crate) fn gap(&self, reason: GapReason) {
        count(&self.gaps, "reason", reason.as_str());
    }

    /// The health of a session became `state`.
    pub(crate) fn health(&self, state: &str) {
        count(&self.health, "state", known(state));
    }

    /// A child that died is started again.
    pub(crate) fn restarted(&self) {
        self.restarts.inc();
    }

    /// A step of a delivery succeeded.
    pub(crate) fn sent(&self, what: Attempt) {
        self.attempted(what, "ok");
    }

    /// An object of that size is in the store.
    pub(crate) fn stored(&self, bytes: u64) {
        self.sent(Attempt::Object);
        self.stored.inc_by(bytes);
    }

    /// A step of a delivery failed.
    pub(crate) fn failed(&self, what: Attempt, fault: FaultKind) {
        self.attempted(what, fault.as_str());
    }

    fn attempted(&self, what: Attempt, outcome: &str) {
        let step = ("step", what.as_str().to_owned());
        let labels = [step, ("outcome", outcome.to_owned())];
        self.attempts.get_or_create(&labels).inc();
    }

    /// All numbers, with what stands at `now`; of a spool that cannot be looked at nothing is known.
    fn answer(&self, now: (BootTime, WallTime), spool: Option<&Backlog>) -> Response {
        let living = self.living();
        for state in SOURCE_STATES {
            let labels = [("state", state.to_owned())];
            self.sessions
                .get_or_create(&labels)
                .set(living.in_state(state));
        }
        self.unrecorded.set(living.unrecorded());
        self.drivers.set(living.drivers());
        self.proof_age.clear();
        for (source, age_ms) in living.proof_ages(now.0) {
            let labels = [("source", source)];
            self.proof_age.get_or_create(&labels).set(seconds(age_ms));
        }
        drop(living);
        let set = |gauge: &Float, value: fn(&Backlog) -> u64| {
            gauge.set(spool.map_or(f64::NAN, |spool| float(value(spool))));
        };
        set(&self.waiting, |spool| spool.objects);
        set(&self.waiting_bytes, |spool| spool.bytes);
        set(&self.rows_owed, |spool| spool.rows_owed);
        set(&self.free, |spool| spool.free_bytes);
        set(&self.reserve, |spool| spool.reserve_bytes);
        let age_ms = spool.map(|spool| spool.age_ms(now.1));
        self.unsent_age.set(age_ms.map_or(f64::NAN, seconds));
        numbers::answer(&self.registry)
    }
}

/// The name that `state` is counted under.
fn known(state: &str) -> &'static str {
    let mut names = SOURCE_STATES.iter().chain(&OTHER_STATES);
    names
        .find(|name| **name == state)
        .copied()
        .unwrap_or("other")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers for people, of 15 digits"
)]
fn float(n: u64) -> f64 {
    n as f64
}

fn seconds(ms: u64) -> f64 {
    float(ms) / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Status;

    async fn text(now_ms: u64, spool: Option<&Backlog>) -> String {
        let now = (BootTime::from_ms(now_ms), WallTime::from_unix_ms(0));
        let body = metrics().answer(now, spool).into_body();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[track_caller]
    fn says(text: &str, line: &str) {
        let said = text.lines().any(|said| said == line);
        assert!(said, "{line} is not in\n{text}");
    }

    #[tokio::test]
    async fn sessions_are_told_together_and_go_with_their_meters() {
        let status = |t, proven, drivers| Status {
            t: capture::MediaTime::from_ms(t),
            proven: capture::MediaTime::from_ms(proven),
            frames: 10,
            merged: 2,
            drivers,
            ..Status::default()
        };
        let (one, other) = (Meter::new("vnc://a".into()), Meter::new("vnc://a".into()));
        one.status(status(5_000, 4_500, 1), BootTime::from_ms(100));
        one.status(status(6_000, 5_000, 1), BootTime::from_ms(1_100));
        other.status(status(9_000, 9_000, 3), BootTime::from_ms(1_100));
        other.health("stalled");
        other.health("disk-low"); // says nothing of the source
        other.unrecorded(true);
        let spool = Backlog::default();
        let told = text(2_100, Some(&spool)).await;
        for line in [
            "playhead_agent_sessions{state=\"ok\"} 1",
            "playhead_agent_sessions{state=\"stalled\"} 1",
            "playhead_agent_unrecorded 1",
            "playhead_agent_drivers 4",
            "playhead_agent_source_proof_age_seconds{source=\"vnc://a\"} 2.0",
            "playhead_agent_frames_total{outcome=\"taken\"} 20",
            "playhead_agent_frames_total{outcome=\"merged\"} 4",
            "playhead_agent_spool_used_bytes 0.0",
            "playhead_agent_spool_reserve_bytes 0.0",
            "# UNIT playhead_agent_oldest_unsent_age_seconds seconds",
            "# EOF",
        ] {
            says(&told, line);
        }
        other.unrecorded(false);
        says(&text(2_100, None).await, "playhead_agent_unrecorded 0");
        drop((one, other));
        let told = text(2_100, None).await;
        says(&told, "playhead_agent_sessions{state=\"ok\"} 0");
        says(&told, "playhead_agent_drivers 0");
        says(&told, "playhead_agent_spool_objects NaN");
        assert!(!told.contains("vnc://a"), "{told}");
    }

    #[test]
    fn what_a_child_makes_up_is_one_more() {
        assert_eq!(known("store-unavailable"), "store-unavailable");
        assert_eq!(known("hunter2"), "other");
    }
}
