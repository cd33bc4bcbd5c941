//! What time is it? The one place of this package that reads the clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01 UTC.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the clock's own module")]
pub fn utc_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A clock that only runs forward, for due times and deadlines.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the clock's own module")]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// How often a condition is looked at while it is waited for.
const POLL: Duration = Duration::from_millis(20);

/// Waits until `condition` gives a value. `what` is named when `limit` passes first.
///
/// # Errors
/// The condition's own error, or that it was not met within `limit`.
pub fn wait_for<T>(
    what: &str,
    limit: Duration,
    mut condition: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let deadline = monotonic() + limit;
    loop {
        if let Some(value) = condition()? {
            return Ok(value);
        }
        anyhow::ensure!(monotonic() < deadline, "{what}: not within {limit:?}");
        std::thread::sleep(POLL);
    }
}

/// Lets real time pass up to the moment `utc`, in milliseconds since 1970: for recordings that
/// must be a certain time long, never as a guess that something has happened.
pub fn pass_until_utc_ms(utc: u64) {
    while let Some(left) = utc.checked_sub(utc_ms()).filter(|&left| left > 0) {
        std::thread::sleep(Duration::from_millis(left));
    }
}
