//! Why a relay ends.

use capture::GapReason;

use super::End;
use crate::{driver::DriverError, error::Error, limits};

/// What ended a relay. The texts hold nothing that either end said; what the server said when it
/// refused is in [`Error::said`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// The server's doing.
    #[error(transparent)]
    Server(#[from] Error),
    /// The driver's doing.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// An end did not wait for the other.
    #[error("{end} said more than {} bytes before its turn", limits::EARLY_BYTES)]
    OutOfTurn {
        /// Which.
        end: End,
    },
}

impl RelayError {
    /// Whose doing it is.
    #[must_use]
    pub const fn end(&self) -> End {
        match self {
            Self::Server(_) => End::Server,
            Self::Driver(_) => End::Driver,
            Self::OutOfTurn { end } => *end,
        }
    }

    /// The reason the gap that follows carries, if one does.
    #[must_use]
    pub const fn reason(&self) -> GapReason {
        match self {
            Self::Server(error) => error.reason(),
            Self::Driver(error) => error.reason(),
            Self::OutOfTurn { .. } => GapReason::BudgetExceeded,
        }
    }

    /// What a driver that waits to be let in is told.
    pub(super) fn explanation(&self) -> String {
        match self {
            Self::Server(error) => match error.said() {
                Some(said) => said.to_owned(),
                None => error.to_string(),
            },
            Self::Driver(_) | Self::OutOfTurn { .. } => self.to_string(),
        }
    }
}
