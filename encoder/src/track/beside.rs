//! What happens beside the picture waits until the picture is proven that far: only then is it
//! known which object it falls into.

use std::collections::VecDeque;

use capture::{Anchor, MediaTime, event::Event};
use segment::Record;

/// More than a second of the fastest input. Beyond it the oldest go to the open object at once.
const HELD_MAX: usize = 4096;

/// An event or an anchor that waits.
pub(super) enum Held {
    Event(Event),
    Anchor(Anchor),
}

impl Held {
    pub(super) fn record(self) -> Record {
        match self {
            Self::Event(event) => Record::Event(event),
            Self::Anchor(anchor) => Record::Anchor(anchor),
        }
    }

    const fn t(&self) -> MediaTime {
        match self {
            Self::Event(event) => event.t,
            Self::Anchor(anchor) => anchor.t,
        }
    }
}

/// What waits, in the order it came.
#[derive(Default)]
pub(super) struct Beside {
    held: VecDeque<Held>,
}

impl Beside {
    /// Takes one more and gives back what there is no room for.
    pub(super) fn hold(&mut self, held: Held) -> Option<Held> {
        self.held.push_back(held);
        (self.held.len() > HELD_MAX)
            .then(|| self.held.pop_front())
            .flatten()
    }

    /// Takes out what happened before `t`.
    pub(super) fn take_before(&mut self, t: MediaTime) -> VecDeque<Held> {
        let (before, after) = self.held.drain(..).partition(|held| held.t() < t);
        self.held = after;
        before
    }
}
