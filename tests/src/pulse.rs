//! How late is this machine? A thread that wants to wake at short intervals, and how late it did:
//! so that a busy machine is not taken for a slow recorder.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::utc_ms;

const INTERVAL: Duration = Duration::from_millis(20);
/// Wakings that are remembered: two minutes.
const REMEMBERED: usize = 6_000;

/// A pulse. It ends when it is dropped.
#[derive(Debug, Default)]
pub struct Pulse {
    beats: Arc<Mutex<VecDeque<(u64, u64)>>>,
}

impl Pulse {
    /// Starts one.
    #[must_use]
    pub fn start() -> Self {
        let pulse = Self::default();
        let beats = Arc::downgrade(&pulse.beats);
        std::thread::spawn(move || {
            let interval = u64::try_from(INTERVAL.as_millis()).unwrap_or(u64::MAX);
            loop {
                let due = utc_ms() + interval;
                std::thread::sleep(INTERVAL);
                let Some(beats) = beats.upgrade() else { return };
                let mut beats = beats.lock().unwrap_or_else(PoisonError::into_inner);
                let now = utc_ms();
                beats.push_back((now, now.saturating_sub(due)));
                if REMEMBERED < beats.len() {
                    beats.pop_front();
                }
            }
        });
        pulse
    }

    /// The latest that it woke in that span, in ms since 1970: by how many ms.
    #[must_use]
    pub fn late_ms(&self, span: Range<u64>) -> u64 {
        let beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let within = beats.iter().filter(|(woken, late)| {
            let due = woken - late;
            due < span.end && span.start <= *woken
        });
        within.map(|&(_, late)| late).max().unwrap_or(0)
    }
}
