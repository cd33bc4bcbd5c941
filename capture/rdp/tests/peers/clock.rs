//! The clock of this test binary, and how it waits.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Milliseconds since it was started.
pub(crate) struct Clock(Instant);

impl Clock {
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place where this binary reads the clock"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

/// Waits until `condition` gives something.
pub(crate) fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    const LIMIT_MS: u64 = 20_000;
    let clock = Clock::start();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(clock.now_ms() < LIMIT_MS, "waited too long for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
