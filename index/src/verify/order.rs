//! Do the objects follow each other? Numbers without holes, spans that tile the session, each
//! naming the one before, and an end record that agrees.

use capture::MediaTime;
use segment::end::{EndBody, ObjectEntry};

use super::{Check, FaultKind, Link, is_numbered};

impl Check<'_> {
    /// Numbers without holes, spans that tile the session, and each naming the one before.
    pub(super) fn order(&mut self, chain: &[Link], end: Option<&EndBody>) {
        for link in chain {
            if link.span.session != self.session || link.span.seq != link.seq {
                let detail = format!("it is object {} of {}", link.span.seq, link.span.session);
                self.fault(&link.key, FaultKind::Swapped, detail);
            }
        }
        let mut next = 0;
        for link in chain {
            if link.seq < next {
                self.fault(&link.key, FaultKind::Repeated, "its number is taken");
            }
            for seq in next..link.seq.min(next + 1000) {
                let key = self.keys.segment(seq);
                let idle = self.keys.idle(seq);
                if !self
                    .faults
                    .iter()
                    .any(|f| f.object == key || f.object == idle)
                {
                    self.fault(&key, FaultKind::Missing, "its number is left out");
                }
            }
            next = next.max(link.seq.saturating_add(1));
        }
        for pair in chain.windows(2) {
            let [before, after] = pair else { continue };
            if after.seq != before.seq.saturating_add(1) {
                continue; // told above
            }
            if after.span.prev != before.sha256 {
                let detail = format!("the object after it names {}", after.span.prev);
                self.fault(&before.key, FaultKind::Changed, detail);
            }
            if after.span.from != before.span.to {
                let (from, to) = (after.span.from, before.span.to);
                let detail = format!("it begins at {from}, and the one before it ends at {to}");
                self.fault(&after.key, FaultKind::Changed, detail);
            }
        }
        if chain
            .first()
            .is_some_and(|link| link.seq == 0 && link.span.from != MediaTime::ZERO)
        {
            self.fault(
                &chain[0].key,
                FaultKind::Changed,
                "the first does not begin at 0",
            );
        }
        if let (Some(end), Some(last)) = (end, chain.last()) {
            self.end_agrees(end, last, chain);
        }
    }

    /// Holds what the end record says against the objects.
    fn end_agrees(&mut self, end: &EndBody, last: &Link, chain: &[Link]) {
        let key = self.keys.end();
        let last_is_there = end
            .objects
            .iter()
            .rev()
            .find(|entry| is_numbered(&entry.key))
            .is_some_and(|entry| entry.key == last.key);
        if last_is_there && end.duration != last.span.to {
            let detail = format!(
                "it says {}, and the last object ends at {}",
                end.duration, last.span.to
            );
            self.fault(&key, FaultKind::Changed, detail);
        }
        for link in chain {
            let entry = end.objects.iter().find(|entry| entry.key == link.key);
            let agrees =
                |entry: &ObjectEntry| (entry.from, entry.to) == (link.span.from, link.span.to);
            if entry.is_some_and(|entry| !agrees(entry)) {
                let detail = format!("it gives {} another place", link.key);
                self.fault(&key, FaultKind::Changed, detail);
            }
        }
    }
}
