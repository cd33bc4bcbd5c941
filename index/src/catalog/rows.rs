//! Event rows as the catalogue takes and gives them.

use capture::{MediaTime, SessionId, trace::TraceId};

use super::Stored;
use crate::row::EventRow;

/// A log object in the store, which holds some rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogObject {
    /// Its key.
    pub key: String,
    /// Digest and size.
    pub stored: Stored,
}

/// What became of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// How many were new.
    pub accepted: u64,
    /// How many were known.
    pub duplicate: u64,
}

/// A row and the moment it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedRow {
    /// The row.
    pub row: EventRow,
    /// The session it is linked to; `None` while it waits for one.
    pub session: Option<SessionId>,
    /// When that was in the session, the earlier moment where the clock repeats. `None` without
    /// a session and for what came before its start. It may lie past the session's length.
    pub t: Option<MediaTime>,
}

/// A session that a trace passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLink {
    /// The trace.
    pub trace: TraceId,
    /// The session.
    pub session: SessionId,
    /// Whether the session's head or a row that names the session says so.
    pub told: bool,
    /// The earliest and latest moment of its rows; `None` when it has none within the session.
    pub moments: Option<(MediaTime, MediaTime)>,
    /// How many rows of the trace are linked to the session.
    pub rows: u64,
}
