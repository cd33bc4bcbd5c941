//! When is something that failed tried again, and what is said of it? Pure: `now` is an argument.
//!
//! An outage is told once for each kind of fault it brings, and once more when it is over: when
//! there was a success and no failure for [`CALM`]. So a store that fails half of the time is one
//! outage and not a flood of them.

use std::time::Duration;

use tokio::time::Instant;

/// The wait before something is tried again; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest such wait: a store that is back is used soon, and one that is away is not pestered.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// An outage is over when nothing has failed for this long: longer than the longest wait, and than
/// the minute in which a quiet session commits one object.
const CALM: Duration = Duration::from_secs(90);

/// In which way something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The spool cannot be read.
    Spool,
    /// The store refused or could not be reached.
    Store,
    /// The store did not answer in time.
    Silent,
    /// The store gave other content back than it was given.
    ReadBack,
    /// The store has other content under an object's name.
    Taken,
    /// The catalogue failed.
    Catalog,
}

impl FaultKind {
    /// As it is counted.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Spool => "spool",
            Self::Store => "store",
            Self::Silent => "silent",
            Self::ReadBack => "read-back",
            Self::Taken => "taken",
            Self::Catalog => "catalogue",
        }
    }
}

/// The state of one thing that is tried until it succeeds.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    /// Failures in a row.
    failures: u32,
    /// When it is tried again; `None` while it does not fail.
    due: Option<Instant>,
    outage: Option<Outage>,
}

#[derive(Debug)]
struct Outage {
    /// What has been told of it: each kind once.
    told: Vec<FaultKind>,
    last_failure: Instant,
}

impl Retry {
    /// It failed. `true` when that is news.
    pub(crate) fn failed(&mut self, now: Instant, kind: FaultKind) -> bool {
        let wait = FIRST_WAIT.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        self.due = Some(now + wait.min(LONGEST_WAIT));
        let outage = self.outage.get_or_insert_with(|| Outage {
            told: Vec::new(),
            last_failure: now,
        });
        outage.last_failure = now;
        let news = !outage.told.contains(&kind);
        if news {
            outage.told.push(kind);
        }
        news
    }

    /// It succeeded.
    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
        self.due = None;
    }

    /// It need not wait: somebody else does, for it.
    pub(crate) fn hurry(&mut self, now: Instant) {
        self.due = self.due.map(|_| now);
    }

    /// Whether it may be tried now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.due.is_none_or(|due| due <= now)
    }

    /// `true`, once, when an outage is over.
    pub(crate) fn is_over(&mut self, now: Instant) -> bool {
        let over = |outage: &mut Outage| outage.last_failure + CALM <= now;
        self.due.is_none() && self.outage.take_if(over).is_some()
    }

    /// When there is something to do: to try again, or to tell that an outage is over.
    pub(crate) fn wake(&self) -> Option<Instant> {
        let over = self
            .outage
            .as_ref()
            .map(|outage| outage.last_failure + CALM);
        self.due.or(over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_half_a_minute() {
        let mut retry = Retry::default();
        let now = Instant::now();
        let waits: Vec<_> = (0..100)
            .map(|_| {
                retry.failed(now, FaultKind::Store);
                retry.wake().unwrap() - now
            })
            .collect();
        assert_eq!(waits[..3], [FIRST_WAIT, SECOND, SECOND * 2]);
        assert!(waits[6..].iter().all(|&wait| wait == LONGEST_WAIT));
        assert!(!retry.is_due(now) && retry.is_due(now + LONGEST_WAIT));
        retry.hurry(now);
        assert!(retry.is_due(now));
    }

    #[tokio::test(start_paused = true)]
    async fn each_kind_of_fault_is_told_once_in_an_outage() {
        let mut retry = Retry::default();
        let mut now = Instant::now();
        let mut news = 0;
        for minute in 0..60 {
            now += SECOND * 60;
            let kind = [FaultKind::Store, FaultKind::Silent][minute % 2];
            news += u32::from(retry.failed(now, kind));
            retry.succeeded(); // it fails half of the time
            assert!(!retry.is_over(now));
        }
        assert_eq!(news, 2);
        assert!(retry.is_over(now + CALM));
        assert!(!retry.is_over(now + CALM));
        assert!(retry.wake().is_none());
        assert!(retry.failed(now + CALM, FaultKind::Store));
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_not_over_while_it_fails() {
        let mut retry = Retry::default();
        let now = Instant::now();
        retry.failed(now, FaultKind::Store);
        assert!(!retry.is_over(now + CALM * 2));
        retry.succeeded();
        assert!(retry.is_over(now + CALM * 2));
    }
}
