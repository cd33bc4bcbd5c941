//! The end record: how a session ended and everything it consists of.

use capture::{MediaTime, SessionId, WallTime};
use serde::{Deserialize, Serialize};

use crate::Sha256;

/// `end.json`: the body as the exact text that was hashed, and the note that signs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndRecord {
    /// An [`EndBody`] as JSON text.
    pub body: String,
    /// A signed note whose last leaf is the body; `None` until signing is on.
    pub checkpoint: Option<String>,
}

/// What an end record says. With the objects it lists, a catalogue can be built again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndBody {
    /// The format's version: 1.
    pub format: u32,
    /// The session.
    pub session: SessionId,
    /// Why it ended.
    pub reason: EndReason,
    /// Whether the record was written by recovery, after the recorder died.
    pub recovered: bool,
    /// The session's length.
    pub duration: MediaTime,
    /// The wall clock at that moment.
    pub end: WallTime,
    /// Every object the recorder wrote, in leaf order: the head, then for each number its sprite
    /// sheet (if any) and its segment or idle record.
    pub objects: Vec<ObjectEntry>,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// The recorder was asked to stop.
    Stopped,
    /// The asked duration passed.
    DurationReached,
    /// The source was lost and did not come back in time.
    SourceLost,
    /// The recorder died and its spool was recovered.
    Crash,
    /// The policy ended it.
    Policy,
    /// Who drove the machine through the recorder has gone.
    DriverLeft,
    /// Who was to drive the machine through the recorder was not let in, or said what could not be
    /// recorded.
    DriverRefused,
}

impl EndReason {
    /// The word used in records and the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::DurationReached => "duration-reached",
            Self::SourceLost => "source-lost",
            Self::Crash => "crash",
            Self::Policy => "policy",
            Self::DriverLeft => "driver-left",
            Self::DriverRefused => "driver-refused",
        }
    }
}

/// One object of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectEntry {
    /// Its key, without the store's prefix.
    pub key: String,
    /// SHA-256 of its stored bytes.
    pub sha256: Sha256,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where it begins in the session.
    pub from: MediaTime,
    /// Where it ends.
    pub to: MediaTime,
}
