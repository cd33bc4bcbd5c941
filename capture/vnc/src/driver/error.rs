//! Why a driver's connection ends.

use capture::{GapReason, pixels::PixelFormatError};

use crate::{clipboard::ClipboardError, limits};

/// What a driver did that ends its connection. The texts hold nothing it said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what it is")]
pub enum DriverError {
    #[error("driver did not finish its part of the handshake in time")]
    HandshakeTimeout,
    #[error("driver fell silent for {} s inside a message", limits::MESSAGE_SILENCE_MS / 1000)]
    MessageTimeout,
    #[error("driver closed the connection{}", if *.inside_message { " inside a message" } else { "" })]
    Closed { inside_message: bool },

    #[error("driver does not speak RFB")]
    NotRfb,
    #[error("driver speaks RFB {major}.{minor}, which is not supported")]
    VersionUnsupported { major: u16, minor: u16 },
    #[error("driver chose security type {kind}, which was not offered to it")]
    SecurityChoice { kind: u8 },
    #[error("driver does not know the password")]
    PasswordWrong,

    #[error("driver sent the unknown message {kind}")]
    UnknownMessage { kind: u8 },
    #[error("driver sent the unknown QEMU message {kind}")]
    UnknownQemuMessage { kind: u8 },
    #[error("driver sent the unknown audio operation {operation}")]
    UnknownAudioOperation { operation: u16 },
    #[error("fence of {len_bytes} bytes is longer than {}", limits::FENCE_BYTES)]
    FenceTooLong { len_bytes: u8 },
    #[error(transparent)]
    Clipboard(#[from] ClipboardError),
    #[error(transparent)]
    PixelFormat(#[from] PixelFormatError),
    #[error("driver asks for indices of a colour map, which are not sent")]
    ColourMap,
}

impl DriverError {
    /// The reason the gap that follows carries, if one does.
    #[must_use]
    pub const fn reason(&self) -> GapReason {
        match self {
            Self::HandshakeTimeout | Self::MessageTimeout => GapReason::Stalled,
            Self::FenceTooLong { .. } | Self::Clipboard(ClipboardError::TooLong { .. }) => {
                GapReason::BudgetExceeded
            }
            Self::Closed { .. }
            | Self::NotRfb
            | Self::VersionUnsupported { .. }
            | Self::SecurityChoice { .. }
            | Self::PasswordWrong
            | Self::UnknownMessage { .. }
            | Self::UnknownQemuMessage { .. }
            | Self::UnknownAudioOperation { .. }
            | Self::Clipboard(_)
            | Self::PixelFormat(_)
            | Self::ColourMap => GapReason::Disconnected,
        }
    }
}
