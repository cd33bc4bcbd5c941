//! When to ask the server for what, and what its answers prove.
//!
//! The client pulls: one request for the whole screen's changes is with the server at a time, and
//! the caller says when the next may follow. Such a request may stay unanswered for hours while
//! nothing changes, so silence proves nothing. Therefore, once nothing was proven for a while, one
//! pixel is asked for unconditionally *beside* the waiting request. The server answers at once,
//! with all it knows to have changed; if that is only the pixel, the picture stands.
//!
//! Two habits of servers shape this:
//! - Any update counts as the answer to all that was asked before it, even one without pixels
//!   (a size notice, sent before the pixels of every unconditional request by a widespread
//!   server). Such an update proves nothing and the request is repeated.
//! - An update may cross the question on the wire. It is then the proof; the pixel that follows
//!   it was perhaps sent while no request for the whole screen waited, and proves nothing more.

use crate::limits;

/// What to ask of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Every pixel, changed or not.
    Whole,
    /// What has changed since the last answer, when something has.
    Changes,
    /// The first pixel, at once.
    FirstPixel,
}

/// What an update brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    /// No pixels: sizes or cursors at most.
    Nothing,
    /// The first pixel alone or its nearest neighbours with it, all as they were.
    FirstPixel,
    /// Pixels that may have changed; whether the first is among them does not matter.
    Pixels,
}

/// Keeps the requests of one connection.
#[derive(Debug)]
pub(crate) struct Pace {
    proof_every_ms: u64,
    /// A request for the whole screen's changes waits at the server.
    asked: bool,
    /// The next such request must bring every pixel.
    whole_next: bool,
    /// Since when an answer is owed that no server may hold back.
    owed_since_ms: Option<u64>,
    last_proof_ms: Option<u64>,
    /// When to repeat a request that brought nothing, and the last time that was done.
    repeat_at_ms: Option<u64>,
    repeated_ms: Option<u64>,
    /// The answer that is awaited is to a check of the whole picture.
    checking: bool,
    checks: usize,
    last_whole_ms: u64,
    check_at_ms: u64,
}

impl Pace {
    /// A connection that has just sent its first request, for the whole screen.
    pub(crate) const fn new(proof_every_ms: u64, now_ms: u64) -> Self {
        Self {
            proof_every_ms,
            asked: true,
            whole_next: false,
            owed_since_ms: Some(now_ms),
            last_proof_ms: None,
            repeat_at_ms: None,
            repeated_ms: None,
            checking: false,
            checks: 0,
            last_whole_ms: now_ms,
            check_at_ms: now_ms.saturating_add(limits::CHECK_AFTER_MS[0]),
        }
    }

    /// The caller has consumed the last update. What to ask next, unless that is asked already.
    pub(crate) fn request(&mut self, now_ms: u64) -> Option<Ask> {
        if self.asked {
            return None;
        }
        self.repeat_at_ms = None;
        Some(self.ask(now_ms))
    }

    /// A proof is wanted now. What to ask for it, beside the request that waits: nothing when an
    /// answer is owed already.
    pub(crate) fn request_proof(&mut self, now_ms: u64) -> Option<Ask> {
        if self.owed_since_ms.is_some() {
            return None;
        }
        self.owed_since_ms = Some(now_ms);
        Some(Ask::FirstPixel)
    }

    fn ask(&mut self, now_ms: u64) -> Ask {
        self.asked = true;
        if !std::mem::take(&mut self.whole_next) {
            return Ask::Changes;
        }
        self.owed_since_ms.get_or_insert(now_ms);
        self.last_whole_ms = now_ms;
        Ask::Whole
    }

    /// The screen has a new size: what was painted is gone and must all be asked for.
    pub(crate) const fn resized(&mut self) {
        self.whole_next = true;
    }

    /// An update is complete. True when it answers the question whether the picture stands.
    pub(crate) fn answered(&mut self, now_ms: u64, brought: Brought) -> bool {
        let whole_screen = std::mem::take(&mut self.asked);
        if brought != Brought::Pixels {
            let earliest = self
                .repeated_ms
                .map_or(now_ms, |last| last.saturating_add(limits::REPEAT_MS));
            self.repeat_at_ms = Some(now_ms.max(earliest));
        }
        if brought == Brought::Nothing {
            return false;
        }
        let owed = self.owed_since_ms.take().is_some();
        if owed || whole_screen {
            self.last_proof_ms = Some(now_ms);
        }
        if std::mem::take(&mut self.checking) {
            self.checks = self.checks.saturating_add(1);
            self.check_at_ms = now_ms.saturating_add(check_after_ms(self.checks));
        } else if brought == Brought::Pixels {
            let at_least = self.last_whole_ms.saturating_add(limits::CHECK_AT_LEAST_MS);
            self.checks = 0;
            self.check_at_ms = now_ms
                .saturating_add(check_after_ms(0))
                .min(at_least.max(now_ms));
        }
        owed
    }

    /// What is to be asked now that nobody called for; at most once until an answer comes.
    pub(crate) fn due(&mut self, now_ms: u64) -> Option<Ask> {
        if self.check_is_possible() && self.check_at_ms <= now_ms {
            self.whole_next = true;
            self.checking = true;
            self.repeat_at_ms = None;
            return Some(self.ask(now_ms));
        }
        if self.repeat_at_ms.is_some_and(|at| at <= now_ms) {
            self.repeat_at_ms = None;
            self.repeated_ms = Some(now_ms);
            return Some(self.ask(now_ms));
        }
        if self.proof_at_ms().is_some_and(|at| at <= now_ms) {
            self.owed_since_ms = Some(now_ms);
            return Some(Ask::FirstPixel);
        }
        None
    }

    /// When [`due`](Self::due) may next have something.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        let check = self.check_is_possible().then_some(self.check_at_ms);
        [check, self.repeat_at_ms, self.proof_at_ms()]
            .into_iter()
            .flatten()
            .min()
    }

    /// A check replaces the waiting request, so it is made only beside one: while the caller
    /// still consumes an update, it can wait.
    const fn check_is_possible(&self) -> bool {
        self.asked && self.owed_since_ms.is_none()
    }

    /// When the next proof is due: only beside a waiting request for the whole screen, because
    /// else the server would answer for the one pixel alone.
    fn proof_at_ms(&self) -> Option<u64> {
        if !self.asked || self.owed_since_ms.is_some() {
            return None;
        }
        let last = self.last_proof_ms?;
        Some(last.saturating_add(self.proof_every_ms))
    }

    /// When the picture was last proven to be the server's own.
    pub(crate) const fn last_proof_ms(&self) -> Option<u64> {
        self.last_proof_ms
    }

    /// From when on the owed answer is overdue, if the last byte came at `last_byte_ms` and no
    /// other follows.
    pub(crate) fn stalled_from_ms(&self, last_byte_ms: u64) -> Option<u64> {
        let since = self.owed_since_ms?;
        let silent = since.max(last_byte_ms).saturating_add(limits::STALL_MS);
        Some(silent.min(since.saturating_add(limits::UNPROVEN_MS)))
    }
}

/// How long after the `checks`th check in a row without activity the next one follows.
fn check_after_ms(checks: usize) -> u64 {
    let steps = limits::CHECK_AFTER_MS;
    steps
        .get(checks)
        .copied()
        .unwrap_or(limits::CHECK_AT_LEAST_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection whose first picture came at 0 and whose next request waits.
    fn waiting() -> Pace {
        let mut pace = Pace::new(1000, 0);
        pace.answered(0, Brought::Pixels);
        assert_eq!(pace.request(0), Some(Ask::Changes));
        pace
    }

    #[test]
    fn one_request_waits_at_a_time() {
        let mut pace = waiting();
        assert_eq!(pace.request(1), None);
        pace.answered(2, Brought::Pixels);
        assert_eq!(pace.request(3), Some(Ask::Changes));
    }

    #[test]
    fn stillness_is_asked_for_and_proven_once_a_second() {
        let mut pace = waiting();
        assert_eq!(pace.due_ms(), Some(1000));
        assert_eq!(pace.due(999), None);
        assert_eq!(pace.due(1000), Some(Ask::FirstPixel));
        assert_eq!(pace.due(1500), None);
        assert!(pace.answered(1010, Brought::FirstPixel));
        assert_eq!(pace.last_proof_ms(), Some(1010));
        assert_eq!(pace.due(1010), Some(Ask::Changes));
        assert_eq!(pace.due_ms(), Some(2010));
    }

    #[test]
    fn a_proof_is_asked_for_at_once_but_not_twice() {
        let mut pace = waiting();
        assert_eq!(pace.request_proof(300), Some(Ask::FirstPixel));
        assert_eq!(pace.request_proof(301), None);
        assert_eq!(pace.due(1000), None);
        assert!(pace.answered(302, Brought::FirstPixel));
        assert_eq!(pace.last_proof_ms(), Some(302));
    }

    #[test]
    fn a_pixel_is_not_asked_for_while_the_caller_holds_the_next_request() {
        let mut pace = waiting();
        pace.answered(100, Brought::Pixels);
        assert_eq!(pace.due(5000), None);
        assert_eq!(pace.request(5000), Some(Ask::Changes));
        assert_eq!(pace.due(5000), Some(Ask::FirstPixel));
    }

    #[test]
    fn an_update_without_pixels_proves_nothing_and_is_asked_again() {
        let mut pace = waiting();
        assert_eq!(pace.due(1000), Some(Ask::FirstPixel));
        assert!(!pace.answered(1001, Brought::Nothing));
        assert_eq!(pace.last_proof_ms(), Some(0));
        assert_eq!(pace.due(1001), Some(Ask::Changes));
        assert!(pace.answered(1002, Brought::FirstPixel));
    }

    #[test]
    fn an_update_that_crosses_the_question_is_the_proof() {
        let mut pace = waiting();
        assert_eq!(pace.due(1000), Some(Ask::FirstPixel));
        assert!(pace.answered(1001, Brought::Pixels));
        assert!(!pace.answered(1002, Brought::FirstPixel));
        assert_eq!(pace.last_proof_ms(), Some(1001));
    }

    #[test]
    fn empty_answers_are_not_repeated_without_pause() {
        let mut pace = waiting();
        pace.answered(10, Brought::Nothing);
        assert_eq!(pace.due(10), Some(Ask::Changes));
        pace.answered(11, Brought::Nothing);
        assert_eq!(pace.due(11), None);
        assert_eq!(pace.due_ms(), Some(10 + limits::REPEAT_MS));
    }

    #[test]
    fn an_owed_answer_is_overdue_after_silence_or_too_long_a_trickle() {
        let mut pace = waiting();
        assert_eq!(pace.stalled_from_ms(0), None);
        pace.due(1000);
        assert_eq!(pace.stalled_from_ms(0), Some(1000 + limits::STALL_MS));
        assert_eq!(pace.stalled_from_ms(2500), Some(2500 + limits::STALL_MS));
        let trickle = pace.stalled_from_ms(60_000);
        assert_eq!(trickle, Some(1000 + limits::UNPROVEN_MS));
    }

    #[test]
    fn the_whole_picture_is_asked_for_after_a_resize() {
        let mut pace = waiting();
        pace.resized();
        pace.answered(10, Brought::Nothing);
        assert_eq!(pace.due(10), Some(Ask::Whole));
        assert_eq!(pace.stalled_from_ms(10), Some(10 + limits::STALL_MS));
    }

    /// Runs a server that answers at once and shows `busy` pixels each second until `busy_ms`;
    /// when the whole picture was asked for, in seconds.
    fn checks(busy_ms: u64, until_ms: u64) -> Vec<u64> {
        let mut pace = waiting();
        let mut at = Vec::new();
        for now in (1000..until_ms).step_by(1000) {
            if now <= busy_ms {
                pace.answered(now, Brought::Pixels);
                pace.request(now);
            }
            while let Some(ask) = pace.due(now) {
                match ask {
                    Ask::Whole => {
                        at.push(now / 1000);
                        pace.answered(now, Brought::Pixels);
                        pace.request(now);
                    }
                    Ask::FirstPixel => _ = pace.answered(now, Brought::FirstPixel),
                    Ask::Changes => {}
                }
            }
        }
        at
    }

    #[test]
    fn the_picture_is_checked_after_one_five_and_fifteen_minutes_of_rest() {
        let minutes = |minutes: u64| minutes * 60;
        let expected = [100 + minutes(1), 100 + minutes(6), 100 + minutes(21)];
        assert_eq!(checks(100_000, minutes(30) * 1000), expected);
    }

    #[test]
    fn a_screen_that_never_rests_is_checked_too() {
        assert_eq!(checks(u64::MAX, 2_000_000), [900, 1800]);
    }
}
