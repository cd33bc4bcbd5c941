//! How late is this machine? A thread that wants to wake and write at short intervals, and how late
//! it had: so that a busy processor or disk is not taken for a slow recorder.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::utc_ms;

const INTERVAL: Duration = Duration::from_millis(50);
/// Beats that are remembered: some minutes.
const REMEMBERED: usize = 6_000;

/// A pulse. It ends when it is dropped.
#[derive(Debug, Default)]
pub struct Pulse {
    beats: Arc<Mutex<VecDeque<Beat>>>,
}

/// When something was durable that could have been so earlier.
#[derive(Clone, Copy, Debug)]
struct Beat {
    due_ms: u64,
    done_ms: u64,
}

impl Pulse {
    /// Starts one that writes to `folder`.
    ///
    /// # Errors
    /// When it cannot write there.
    pub fn start(folder: &Path) -> std::io::Result<Self> {
        let mut file = File::create(folder.join("pulse"))?;
        let pulse = Self::default();
        let beats = Arc::downgrade(&pulse.beats);
        std::thread::spawn(move || {
            let interval = u64::try_from(INTERVAL.as_millis()).unwrap_or(u64::MAX);
            while let Some(beats) = beats.upgrade() {
                let due_ms = utc_ms() + interval;
                std::thread::sleep(INTERVAL);
                // A disk that is full is not late.
                let _ = file.write_all(b".").and_then(|()| file.sync_data());
                let done_ms = utc_ms();
                let mut beats = beats.lock().unwrap_or_else(PoisonError::into_inner);
                beats.push_back(Beat { due_ms, done_ms });
                if REMEMBERED < beats.len() {
                    beats.pop_front();
                }
            }
        });
        Ok(pulse)
    }

    /// The latest that anything was in that span, in ms since 1970: by how many ms.
    #[must_use]
    pub fn late_ms(&self, span: Range<u64>) -> u64 {
        let beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let within = beats
            .iter()
            .filter(|beat| beat.due_ms < span.end && span.start <= beat.done_ms);
        let late = within.map(|beat| beat.done_ms.saturating_sub(beat.due_ms));
        late.max().unwrap_or(0)
    }
}
