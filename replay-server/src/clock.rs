//! The only place that reads the clock and takes randomness; everything else is given both.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use capture::WallTime;
use uuid::Uuid;

/// What the wall clock shows.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the binary reads its clock"
)]
pub fn now() -> WallTime {
    let ms = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    WallTime::from_unix_ms(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// What the monotonic clock shows, to measure how long something takes.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the binary reads its clock"
)]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// A name that nothing else has, made of the time and randomness.
#[must_use]
pub fn fresh() -> Uuid {
    Uuid::now_v7()
}
