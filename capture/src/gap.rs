//! Why a span of a session has no picture.

use serde::{Deserialize, Serialize};

use crate::MediaTime;

/// The reason a span has no picture. The words are part of the recorded format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapReason {
    /// The connection to the source broke.
    Disconnected,
    /// The source stopped answering while connected.
    Stalled,
    /// The source delivers nothing but black.
    SourceBlack,
    /// The operating system or the source withdrew the right to look.
    PermissionLost,
    /// The system shows a screen that may not be captured.
    SecureDesktop,
    /// The policy says not to record now.
    PausedByPolicy,
    /// The source exceeded a limit of size, rate or time.
    BudgetExceeded,
    /// The recorder had no room to write.
    DiskFull,
    /// The recorder itself was started again.
    RecorderRestarted,
    /// The recorder's host slept.
    HostSuspended,
    /// The recorded sandbox slept.
    Suspended,
    /// A snapshot of the sandbox was being taken.
    Snapshotting,
    /// Another client took the connection over.
    TakenOver,
    /// Written but not yet durable when the recorder died.
    CrashLost,
    /// Deleted as the retention policy asks.
    DeletedByRetention,
    /// Withheld by a later redaction.
    Redacted,
}

impl GapReason {
    /// The word used in the recorded format, the API and the viewer.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::Stalled => "stalled",
            Self::SourceBlack => "source-black",
            Self::PermissionLost => "permission-lost",
            Self::SecureDesktop => "secure-desktop",
            Self::PausedByPolicy => "paused-by-policy",
            Self::BudgetExceeded => "budget-exceeded",
            Self::DiskFull => "disk-full",
            Self::RecorderRestarted => "recorder-restarted",
            Self::HostSuspended => "host-suspended",
            Self::Suspended => "suspended",
            Self::Snapshotting => "snapshotting",
            Self::TakenOver => "taken-over",
            Self::CrashLost => "crash-lost",
            Self::DeletedByRetention => "deleted-by-retention",
            Self::Redacted => "redacted",
        }
    }
}

impl std::fmt::Display for GapReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A half-open span `from..to` without picture. It starts at the last *proven* picture, not at
/// the moment the loss was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The last proven picture.
    pub from: MediaTime,
    /// The first picture after it, or the end of the session.
    pub to: MediaTime,
    /// Why.
    pub reason: GapReason,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_str_agrees_with_the_serialised_word() {
        for reason in [
            GapReason::SourceBlack,
            GapReason::CrashLost,
            GapReason::Disconnected,
        ] {
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(json, format!("\"{reason}\""));
        }
    }
}
