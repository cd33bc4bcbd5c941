//! Why a relay ends.

use capture::{GapReason, source::ErrorKind};

use super::End;
use crate::{
    clipboard::ClipboardError,
    error::{Error, Phase},
    input::InputError,
    limits,
};

/// What ended a relay. The texts hold nothing that either end said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// The machine's doing.
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

/// What a driver did that ends its connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what it is")]
pub enum DriverError {
    #[error("driver did not sign in within {} s", limits::DRIVER_SIGN_IN_MS / 1000)]
    SignInTimeout,
    #[error("driver did not finish the handshake within {} s", limits::HANDSHAKE_MS / 1000)]
    HandshakeTimeout,
    #[error("driver fell silent for {} s inside a message", limits::MESSAGE_SILENCE_MS / 1000)]
    MessageTimeout,
    #[error("driver closed the connection{}", if *.inside_message { " inside a message" } else { "" })]
    Closed { inside_message: bool },
    #[error("driver disconnected")]
    Left,

    #[error("driver does not speak RDP")]
    NotRdp,
    #[error("driver spoke before the connection was encrypted")]
    UnencryptedBytes,
    #[error("driver does not offer TLS, and nothing else is spoken")]
    NoTls,
    #[error("driver does not offer network level authentication, which is insisted on")]
    NlaMissing,
    #[error("own certificate holds no key that a sign-in could be bound to")]
    Certificate,
    #[error("driver gave a wrong user or password")]
    PasswordRefused,
    #[error("driver's part in the {0} is broken")]
    Handshake(Phase),
    #[error(
        "message of {len_bytes} bytes of the driver is longer than {}",
        limits::MESSAGE_BYTES
    )]
    MessageTooLong { len_bytes: usize },
    #[error("driver's message is broken")]
    Message,
    #[error("driver's message is of the kind {kind:#x}, which it may not send")]
    Unexpected { kind: u8 },
    #[error("driver's message is compressed, which was not agreed on")]
    Compressed,
    #[error("driver's {0}")]
    Input(#[from] InputError),
    #[error("driver's {0}")]
    Clipboard(#[from] ClipboardError),
}

impl DriverError {
    /// The driver's part in what reads messages of either end.
    pub(super) fn of(error: &Error) -> Self {
        match *error {
            Error::MessageTooLong { len_bytes } => Self::MessageTooLong { len_bytes },
            _ => Self::Message,
        }
    }

    /// What kind of failure it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NoTls | Self::NlaMissing | Self::Certificate | Self::PasswordRefused => {
                ErrorKind::Refused
            }
            Self::Closed { .. } | Self::Left => ErrorKind::Closed,
            Self::SignInTimeout | Self::HandshakeTimeout | Self::MessageTimeout => {
                ErrorKind::Stalled
            }
            Self::MessageTooLong { .. } => ErrorKind::Budget,
            Self::NotRdp
            | Self::UnencryptedBytes
            | Self::Handshake(_)
            | Self::Message
            | Self::Unexpected { .. }
            | Self::Compressed
            | Self::Input(_)
            | Self::Clipboard(_) => ErrorKind::Protocol,
        }
    }
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
            Self::Driver(error) => error.kind().reason(),
            Self::OutOfTurn { .. } => GapReason::BudgetExceeded,
        }
    }
}
