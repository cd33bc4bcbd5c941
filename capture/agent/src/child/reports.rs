//! Telling the parent.

use std::io::Write as _;

use crate::wire::Report;

/// The child's standard output, one report a line.
#[derive(Debug, Default)]
pub(super) struct Reports {}

impl Reports {
    /// Sends `report`. A parent that no longer reads is noticed on the input side.
    pub(super) fn send(&self, report: &Report) {
        let Ok(mut line) = serde_json::to_vec(report) else {
            return;
        };
        line.push(b'\n');
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}
