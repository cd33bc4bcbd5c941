//! Why did a step of a delivery fail? Told apart by who has to mend it.

use std::io;

use index::{commit::CommitError, scan::ScanError};
use store::StoreError;

use super::retry::FaultKind;
use crate::metrics::metrics;

/// A step that failed. Every step can be tried again.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) cause: anyhow::Error,
}

impl Fault {
    /// The spool failed.
    pub(super) fn spool(error: io::Error) -> Self {
        Self {
            kind: FaultKind::Spool,
            cause: anyhow::Error::from(error).context("using the spool"),
        }
    }

    /// The catalogue failed.
    pub(super) fn catalog(error: impl Into<anyhow::Error>) -> Self {
        Self {
            kind: FaultKind::Catalog,
            cause: error.into(),
        }
    }

    /// The work itself was cancelled, or cannot be done.
    pub(super) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self {
            kind: FaultKind::Spool,
            cause: error.into(),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Exists { .. } => FaultKind::Taken,
            StoreError::Damaged { .. } => FaultKind::ReadBack,
            StoreError::Silent { .. } => FaultKind::Silent,
            _ => FaultKind::Store,
        };
        Self {
            kind,
            cause: error.into(),
        }
    }
}

impl From<CommitError> for Fault {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Store(error) => error.into(),
            CommitError::Catalog(error) => Self::catalog(error),
            CommitError::ReadBack { .. } => Self {
                kind: FaultKind::ReadBack,
                cause: error.into(),
            },
            CommitError::Sheet { .. } | CommitError::Json(_) => Self::internal(error),
        }
    }
}

impl From<ScanError> for Fault {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Store(error) => error.into(),
            ScanError::Head { .. } => Self {
                kind: FaultKind::ReadBack,
                cause: error.into(),
            },
        }
    }
}

impl From<Fault> for anyhow::Error {
    fn from(fault: Fault) -> Self {
        fault.cause.context(match fault.kind {
            FaultKind::Spool => "delivering from the spool",
            FaultKind::Catalog => "telling the catalogue",
            _ => "delivering to the store",
        })
    }
}

/// What a step of a delivery is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The session's head, and to learn where its objects end in the store.
    Session,
    /// An object and its sheet.
    Object,
    /// The end record.
    End,
    /// A row of the catalogue.
    Rows,
}

impl Attempt {
    /// As it is counted.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Object => "object",
            Self::End => "end",
            Self::Rows => "rows",
        }
    }

    /// Counts that it succeeded or failed.
    pub(super) fn tried<T>(self, done: Result<T, Fault>) -> Result<T, Fault> {
        match &done {
            Ok(_) => metrics().sent(self),
            Err(fault) => metrics().failed(self, fault.kind),
        }
        done
    }
}
