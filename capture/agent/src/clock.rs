//! The recorder's clocks: the only place in this crate that reads them.

use capture::WallTime;
use rustix::time::{ClockId, clock_gettime};

/// Milliseconds on the clock that counts through suspend, since the machine's boot.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub(crate) struct BootTime(u64);

impl BootTime {
    /// Now.
    pub(crate) fn now() -> Self {
        Self::from_ms(milliseconds(clock_gettime(ClockId::Boottime)))
    }

    /// The instant `ms` after boot.
    pub(crate) const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since boot: the unit in which sources are driven.
    pub(crate) const fn ms(self) -> u64 {
        self.0
    }

    /// The instant `ms` later; saturates.
    pub(crate) const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds since `earlier`; 0 if `earlier` is later.
    pub(crate) const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// What the wall clock shows now.
pub(crate) fn wall() -> WallTime {
    let ms = milliseconds(clock_gettime(ClockId::Realtime));
    WallTime::from_unix_ms(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// The same instant on both clocks. Between reading one and the other a busy machine may let this
/// process wait, which would look as if the wall clock had been moved.
pub(crate) fn both() -> (BootTime, WallTime) {
    let readings = (0..READINGS_MAX).map(|_| {
        let at = BootTime::now();
        let utc = wall();
        (BootTime::now().ms_since(at), (at, utc))
    });
    closest(readings).unwrap_or_else(|| (BootTime::now(), wall()))
}

/// A machine that is this busy between all readings gets the best of them.
const READINGS_MAX: usize = 16;
/// What lies between two readings of clocks that count in ms, when nothing came between.
const TOGETHER_MS: u64 = 1;

/// The first of `readings` that took no time, or the one that took the least.
fn closest<T>(readings: impl Iterator<Item = (u64, T)>) -> Option<T> {
    let mut best: Option<(u64, T)> = None;
    for (took_ms, reading) in readings {
        if best
            .as_ref()
            .is_none_or(|(least_ms, _)| took_ms < *least_ms)
        {
            best = Some((took_ms, reading));
        }
        if took_ms <= TOGETHER_MS {
            break;
        }
    }
    best.map(|(_, reading)| reading)
}

/// The kernel's own bound on the wall clock's error, or `None` where nothing disciplines it.
#[expect(
    unsafe_code,
    reason = "no safe wrapper of adjtimex(2) is in the dependency graph"
)]
pub(crate) fn wall_error_ms() -> Option<u32> {
    // SAFETY: all of `timex` is plain integers, for which zero is a value; `modes` 0 only reads.
    let (state, timex) = unsafe {
        let mut timex: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut timex), timex)
    };
    let unsynchronised = state < 0 || state == libc::TIME_ERROR;
    if unsynchronised || timex.status & libc::STA_UNSYNC != 0 {
        return None;
    }
    u32::try_from(timex.maxerror.div_euclid(1000) + 1).ok()
}

fn milliseconds(time: rustix::time::Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let fraction = u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000;
    seconds.saturating_mul(1_000).saturating_add(fraction)
}

/// Names this boot, so that a reading of [`BootTime`] is never compared across a restart.
pub(crate) fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Random bytes from the kernel.
pub(crate) fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    use std::io::Read as _;
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_that_was_interrupted_is_taken_again() {
        let check = |took_ms: &[u64], taken: Option<usize>, asked: usize| {
            let mut count = 0;
            let readings = took_ms.iter().enumerate().map(|(at, ms)| {
                count += 1;
                (*ms, at)
            });
            assert_eq!(closest(readings), taken);
            assert_eq!(count, asked, "{took_ms:?}");
        };
        check(&[0, 5], Some(0), 1);
        check(&[44, 1, 0], Some(1), 2);
        check(&[44, 12, 30], Some(1), 3);
        check(&[], None, 0);
    }
}
