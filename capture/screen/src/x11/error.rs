//! Why is a display not, or no longer, observed?

use x11rb::{
    errors::{ConnectError, ReplyError},
    protocol::ErrorKind,
};

/// Why a display is not, or no longer, observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserverError {
    /// The name is not one of a display.
    #[error("display {display:?} is not a name like :0 or host:1")]
    Name {
        /// As it was given.
        display: String,
    },
    /// Nothing answers under that name.
    #[error("display {display:?} cannot be reached: {source}")]
    Unreachable {
        /// Which.
        display: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The display lets us in nowhere, or not to its input.
    #[error("display refuses access; its cookie is looked for in XAUTHORITY and ~/.Xauthority")]
    Refused,
    /// The X server was built or started without what we need.
    #[error("display has no {0} extension")]
    Extension(&'static str),
    /// The connection broke, or what came over it was no X11.
    #[error("display is lost: {0}")]
    Lost(String),
}

/// Any failure of a connection that had been made.
pub(super) fn lost(error: impl std::fmt::Display) -> ObserverError {
    ObserverError::Lost(error.to_string())
}

impl From<ReplyError> for ObserverError {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::X11Error(error) if error.error_kind == ErrorKind::Access => Self::Refused,
            // The error names a request and a number, nothing that the server made up.
            ReplyError::X11Error(error) => lost(format_args!("{:?}", error.error_kind)),
            ReplyError::ConnectionError(error) => lost(error),
        }
    }
}

impl From<x11rb::errors::ConnectionError> for ObserverError {
    fn from(error: x11rb::errors::ConnectionError) -> Self {
        lost(error)
    }
}

/// A connection that came up, and a display that does not let us in.
pub(super) fn not_let_in(error: ConnectError) -> ObserverError {
    match error {
        // Its reason is text that the server made up.
        ConnectError::SetupFailed(_) | ConnectError::SetupAuthenticate(_) => ObserverError::Refused,
        error => lost(error),
    }
}
