//! How often a peer may do something costly: a bucket that refills with time.

/// A bucket of units that refills at a steady rate up to its capacity.
#[derive(Debug)]
pub struct Budget {
    capacity: u64,
    per_s: u64,
    left: u64,
    at_ms: u64,
}

impl Budget {
    /// `per_s` units a second, of which `window_s` seconds' worth may be spent at once.
    #[must_use]
    pub const fn new(per_s: u64, window_s: u64, now_ms: u64) -> Self {
        let capacity = per_s.saturating_mul(window_s);
        Self {
            capacity,
            per_s,
            left: capacity,
            at_ms: now_ms,
        }
    }

    /// Takes `units` out; false, and takes nothing, when fewer are left.
    #[must_use]
    pub fn spend(&mut self, now_ms: u64, units: u64) -> bool {
        let earned = now_ms.saturating_sub(self.at_ms).saturating_mul(self.per_s) / 1000;
        // The clock of the bucket moves only when it earned something, so fractions are not lost.
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(self.capacity);
            self.at_ms = now_ms;
        }
        let Some(left) = self.left.checked_sub(units) else {
            return false;
        };
        self.left = left;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_refills_with_time() {
        let mut budget = Budget::new(10, 1, 0);
        assert!(budget.spend(0, 10));
        assert!(!budget.spend(99, 1));
        assert!(budget.spend(100, 1));
        assert!(!budget.spend(100, 1));
    }

    #[test]
    fn it_never_holds_more_than_its_window() {
        let mut budget = Budget::new(10, 2, 0);
        assert!(!budget.spend(1_000_000, 21));
        assert!(budget.spend(1_000_000, 20));
    }
}
