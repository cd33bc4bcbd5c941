//! How the agent ends: exit codes are part of its contract.

use std::process::ExitCode;

use crate::wire::Refusal;

/// Why the agent could not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    cause: anyhow::Error,
}

/// Which exit code tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something went wrong that no other code names.
    Internal,
    /// The command line or a configuration is wrong.
    Usage,
    /// The source refused who we are.
    Authentication,
    /// There is no usable source at the address.
    Unreachable,
    /// The store or its catalogue refused.
    Store,
    /// The redaction policy cannot be honoured.
    Policy,
}

impl Kind {
    /// This kind of failure, caused by `cause`.
    pub(crate) fn because(self, cause: impl Into<anyhow::Error>) -> Failure {
        Failure {
            kind: self,
            cause: cause.into(),
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Authentication => 3,
            Self::Unreachable => 4,
            Self::Store => 5,
            Self::Policy => 6,
        }
    }
}

impl From<Refusal> for Kind {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Authentication => Self::Authentication,
            Refusal::Unreachable => Self::Unreachable,
        }
    }
}

impl Failure {
    /// The reason alone.
    pub(crate) fn into_cause(self) -> anyhow::Error {
        self.cause
    }

    /// Prints the reason and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("playhead-agent: {:#}", self.cause);
        ExitCode::from(self.kind.code())
    }
}
