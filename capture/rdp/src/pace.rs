//! When to ask the server whether the picture stands, and what its answers prove.
//!
//! An RDP server sends what changes unasked, and nothing while nothing does; so silence may be
//! stillness or the end. Therefore, once nothing was shown for a while, a corner of the screen is
//! asked for anew (a Refresh Rect, MS-RDPBCGR section 2.2.11.2). What a server sends is in order: a
//! picture that arrives after the question was asked, be it the answer or a change that crossed
//! it, comes behind all that the server had to show before. If it is the corner alone, the picture
//! stands.
//!
//! What servers here make of the question, asked once a second of a screen at rest:
//! - xrdp 0.9.21 before a VNC server asks that server in turn, and sends the corner within 10 ms
//!   in a message of 65 bytes. This proves all that is between the screen and us.
//! - FreeRDP's shadow server 2.11.7 sends 4×4 pixels of its own copy of the screen within 10 ms in
//!   a message of 45 bytes. This proves the server, and the screen as of its last look at it, 16
//!   times a second. It takes the corner's right and lower edges for the first ones outside, so
//!   that one pixel is nothing to it and is never answered: [`CORNER`] is of two.
//!
//! Pictures that were not asked for prove themselves. Those of a busy screen come so often that
//! nothing is asked beside them.

use capture::Rect;

use crate::limits;

/// What is asked for as proof.
pub(crate) const CORNER: Rect = Rect::new(0, 0, 2, 2);

/// Keeps the questions of one connection.
#[derive(Debug)]
pub(crate) struct Pace {
    proof_every_ms: u64,
    /// Since when there is a desktop of which nothing is painted.
    blank_since_ms: Option<u64>,
    /// Since when an answer is owed.
    owed_since_ms: Option<u64>,
    last_proof_ms: Option<u64>,
}

impl Pace {
    /// A desktop of which nothing is painted yet.
    pub(crate) const fn new(proof_every_ms: u64, now_ms: u64) -> Self {
        Self {
            proof_every_ms,
            blank_since_ms: Some(now_ms),
            owed_since_ms: Some(now_ms),
            last_proof_ms: None,
        }
    }

    /// All that was painted is gone.
    pub(crate) const fn resized(&mut self, now_ms: u64) {
        self.blank_since_ms = Some(now_ms);
        self.owed_since_ms = Some(now_ms);
    }

    /// Pictures were painted. True when an answer was owed, which they are.
    pub(crate) const fn painted(&mut self, now_ms: u64) -> bool {
        self.blank_since_ms = None;
        self.last_proof_ms = Some(now_ms);
        self.owed_since_ms.take().is_some()
    }

    /// A proof is wanted now. Whether to ask for it: not while an answer is owed already.
    pub(crate) const fn request_proof(&mut self, now_ms: u64) -> bool {
        let ask = self.owed_since_ms.is_none();
        if ask {
            self.owed_since_ms = Some(now_ms);
        }
        ask
    }

    /// Whether to ask now that nobody called for it; once until an answer comes.
    pub(crate) fn due(&mut self, now_ms: u64) -> bool {
        self.due_ms().is_some_and(|due| due <= now_ms) && self.request_proof(now_ms)
    }

    /// When [`due`](Self::due) may next have something.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        if self.owed_since_ms.is_some() {
            return None;
        }
        Some(self.last_proof_ms?.saturating_add(self.proof_every_ms))
    }

    /// When the desktop has been blank for too long.
    pub(crate) fn blank_until_ms(&self) -> Option<u64> {
        Some(
            self.blank_since_ms?
                .saturating_add(limits::FIRST_PICTURE_MS),
        )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_overdue_after_silence_or_a_long_trickle() {
        let mut pace = Pace::new(900, 0);
        pace.painted(100);
        assert_eq!(pace.stalled_from_ms(100), None);
        assert!(pace.due(1000));
        assert_eq!(pace.stalled_from_ms(0), Some(1000 + limits::STALL_MS));
        assert_eq!(pace.stalled_from_ms(2500), Some(2500 + limits::STALL_MS));
        let trickle = pace.stalled_from_ms(60_000);
        assert_eq!(trickle, Some(1000 + limits::UNPROVEN_MS));
    }
}
