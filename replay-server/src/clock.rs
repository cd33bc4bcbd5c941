//! The only place that reads the clock; everything else is given `now`.

use std::time::{SystemTime, UNIX_EPOCH};

use capture::WallTime;

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
