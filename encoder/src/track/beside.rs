//! What happens beside the picture waits until the picture is proven that far: only then is it
//! known which object it falls into.

use std::collections::VecDeque;

use capture::{Anchor, MediaTime, event::Event};
use segment::Record;

/// More than a second of the fastest input. Beyond it the oldest go to the open object at once …
const HELD_MAX: usize = 4096;
/// … and beyond this: a clipboard's text may have a megabyte.
const HELD_BYTES_MAX: usize = 4 << 20;

/// An event or an anchor that waits.
pub(super) struct Held {
    pub(super) t: MediaTime,
    /// How much it adds to an object's events.
    pub(super) bytes: usize,
    pub(super) record: Record,
}

impl From<Event> for Held {
    fn from(event: Event) -> Self {
        Self {
            t: event.t,
            // An event is what JSON says, so it always has a length.
            bytes: serde_json::to_string(&event).map_or(0, |json| json.len() + 1),
            record: Record::Event(event),
        }
    }
}

impl From<Anchor> for Held {
    fn from(anchor: Anchor) -> Self {
        Self {
            t: anchor.t,
            bytes: 0,
            record: Record::Anchor(anchor),
        }
    }
}

/// What waits, in the order it came.
#[derive(Default)]
pub(super) struct Beside {
    held: VecDeque<Held>,
    bytes: usize,
}

impl Beside {
    /// Takes one more.
    pub(super) fn hold(&mut self, held: Held) {
        self.bytes += held.bytes;
        self.held.push_back(held);
    }

    /// Takes out the oldest when there is no room for all.
    pub(super) fn take_excess(&mut self) -> Option<Held> {
        if self.held.len() <= HELD_MAX && self.bytes <= HELD_BYTES_MAX {
            return None;
        }
        let oldest = self.held.pop_front()?;
        self.bytes -= oldest.bytes;
        Some(oldest)
    }

    /// Takes out what happened before `t`.
    pub(super) fn take_before(&mut self, t: MediaTime) -> VecDeque<Held> {
        let (before, after) = self.held.drain(..).partition(|held| held.t < t);
        self.held = after;
        self.bytes = self.held.iter().map(|held| held.bytes).sum();
        before
    }
}
