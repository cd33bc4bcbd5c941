//! Why a source cannot be reached, or no longer.

use std::fmt::Display;

use capture::{GapReason, source::ErrorKind};

use crate::wire::Refusal;

/// A source that cannot be reached, or no longer.
#[derive(Debug)]
pub(super) struct Lost {
    /// The reason that the gap carries.
    pub(super) reason: GapReason,
    /// Whether the source refused who we are.
    pub(super) refused: bool,
    /// What happened, for the operator.
    pub(super) detail: String,
}

impl Lost {
    /// How a first connection that failed like this is reported.
    pub(super) const fn refusal(&self) -> Refusal {
        if self.refused {
            Refusal::Authentication
        } else {
            Refusal::Unreachable
        }
    }

    /// As lost to another client.
    pub(super) fn taken_over(self) -> Self {
        Self {
            reason: GapReason::TakenOver,
            detail: format!("{}, as soon as it was opened again", self.detail),
            ..self
        }
    }

    /// For a `reason` that a protocol gives, because it failed so; `advice` says which option
    /// would help.
    pub(super) fn failed(
        kind: ErrorKind,
        reason: GapReason,
        error: &impl Display,
        advice: Option<&str>,
    ) -> Self {
        let refused = kind == ErrorKind::Refused;
        Self {
            reason: match reason {
                GapReason::Disconnected if refused => GapReason::PermissionLost,
                reason => reason,
            },
            refused,
            detail: match advice {
                Some(advice) => format!("{error}; {advice}"),
                None => error.to_string(),
            },
        }
    }

    /// It keeps the connection and does not answer.
    pub(super) fn silent() -> Self {
        Self::stalled("source does not answer")
    }

    /// It keeps the connection and takes nothing.
    pub(super) fn deaf() -> Self {
        Self::stalled("source takes no bytes")
    }

    fn stalled(detail: &str) -> Self {
        Self {
            reason: GapReason::Stalled,
            refused: false,
            detail: detail.to_owned(),
        }
    }

    /// There is no connection, for a reason that says nothing about who we are.
    pub(super) const fn disconnected(detail: String) -> Self {
        Self {
            reason: GapReason::Disconnected,
            refused: false,
            detail,
        }
    }
}
