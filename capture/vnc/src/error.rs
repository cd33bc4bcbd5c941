//! Why a session ends before the operator ends it.

use capture::{
    GapReason, Rect, Size, framebuffer::SizeError, pixels::PixelFormatError, source::ErrorKind,
};

use crate::{clipboard::ClipboardError, limits};

/// What ended a session. The texts hold nothing a peer said; where it said something, that is in
/// a field: hostile text, bounded, not escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what it is")]
pub enum Error {
    #[error("server did not finish the handshake within {} s", limits::HANDSHAKE_MS / 1000)]
    HandshakeTimeout,
    #[error("server fell silent for {} s inside a message", limits::MESSAGE_SILENCE_MS / 1000)]
    MessageTimeout,
    #[error("server closed the connection{}", if *.inside_message { " inside a message" } else { "" })]
    Closed { inside_message: bool },

    #[error("server asks for a password and none is configured")]
    PasswordRequired,
    #[error("server asks for a user's name and none is configured")]
    UserRequired,
    #[error("user's name or password is longer than the server can take")]
    CredentialsTooLong,
    #[error("server refused the password")]
    PasswordRefused { said: String },
    #[error("server refuses for now because of too many attempts")]
    TooManyAttempts { said: String },
    #[error("server refused the connection")]
    Refused { said: String },
    #[error("server offers only security types {offered:?}, none of them supported")]
    SecurityUnsupported { offered: Vec<u8> },

    #[error("server offers only VeNCrypt types {offered:?}, none of them supported")]
    VencryptUnsupported { offered: Vec<u32> },

    #[error("peer does not speak RFB")]
    NotRfb,
    #[error("server speaks RFB {major}.{minor}, which is not supported")]
    VersionUnsupported { major: u16, minor: u16 },
    #[error("server chose security type {kind}, which was not offered to it")]
    SecurityChoice { kind: u32 },
    #[error("server speaks VeNCrypt {major}.{minor}, which is not supported")]
    VencryptVersion { major: u8, minor: u8 },
    #[error("server refused the VeNCrypt type it had offered")]
    VencryptRefused,
    #[error("peer spoke before the connection was encrypted")]
    UnencryptedBytes,
    #[error("server's sign-in has keys of {key_bytes} bytes, which is not supported")]
    AppleKeyLength { key_bytes: u16 },
    #[error("server's sign-in has a prime that is even or too short")]
    ApplePrime,
    #[error("server's sign-in has the generator {generator}, which generates nothing")]
    AppleGenerator { generator: u16 },
    #[error("server's sign-in has a public key that gives its secret away")]
    AppleKey,
    #[error("server sent the unknown sign-in result {code}")]
    SecurityResult { code: u32 },
    #[error(
        "desktop name of {len_bytes} bytes is longer than {}",
        limits::NAME_BYTES
    )]
    NameTooLong { len_bytes: u32 },
    #[error("server sent the unknown message {kind}")]
    UnknownMessage { kind: u8 },
    #[error("server sent encoding {encoding}, which it was not asked for")]
    UnknownEncoding { encoding: i32 },
    #[error("rectangle {rect:?} leaves the screen of {size}")]
    RectOutside { rect: Rect, size: Size },
    #[error("cursor of {size} is larger than accepted")]
    CursorTooLarge { size: Size },
    #[error("JPEG picture of {size} is larger than accepted")]
    JpegTooLarge { size: Size },
    #[error("compressed rectangle of {len_bytes} bytes is longer than {limit_bytes}")]
    CompressedTooLong { len_bytes: u32, limit_bytes: u64 },
    #[error("compressed data is corrupt")]
    Zlib,
    #[error("compressed rectangle ends before its last pixel")]
    PixelsMissing,
    #[error("compressed rectangle holds more than its pixels")]
    PixelsExceeded,
    #[error("tile has the unknown subencoding {subencoding}")]
    TileSubencoding { subencoding: u8 },
    #[error("tile's run is longer than the tile")]
    TileRun,
    #[error("rectangle in a tile leaves the tile")]
    TileSubrect,
    #[error("pixel has colour {index} of a palette of {len}")]
    PaletteIndex { index: u8, len: usize },
    #[error("rectangle is written in the unknown way {kind} of Tight")]
    TightKind { kind: u8 },
    #[error("rectangle has the unknown Tight filter {filter}")]
    TightFilter { filter: u8 },
    #[error("JPEG picture is corrupt")]
    Jpeg,
    #[error("JPEG picture has not the size of its rectangle")]
    JpegSize,
    #[error("server sent a JPEG picture for a screen of colour indices")]
    JpegIndexed,
    #[error("cursor with alpha is in encoding {encoding}, which is not supported")]
    CursorEncoding { encoding: i32 },
    #[error(transparent)]
    PixelFormat(#[from] PixelFormatError),
    #[error("server has a colour map for pixels of {bits_per_pixel} bits, which is not supported")]
    ColourMapBits { bits_per_pixel: u8 },

    #[error(transparent)]
    Size(#[from] SizeError),
    #[error("server sent more than {} pixels a second", limits::PIXELS_PER_S)]
    PixelBudget,
    #[error(
        "server changed its size more than {} times a second",
        limits::RESIZES_PER_S
    )]
    ResizeBudget,
    #[error(transparent)]
    Clipboard(#[from] ClipboardError),
}

impl Error {
    /// What kind of failure it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::PasswordRequired
            | Self::UserRequired
            | Self::CredentialsTooLong
            | Self::VencryptUnsupported { .. }
            | Self::PasswordRefused { .. }
            | Self::TooManyAttempts { .. }
            | Self::Refused { .. }
            | Self::SecurityUnsupported { .. } => ErrorKind::Refused,
            Self::Closed { .. } => ErrorKind::Closed,
            Self::HandshakeTimeout | Self::MessageTimeout => ErrorKind::Stalled,
            Self::Size(_)
            | Self::NameTooLong { .. }
            | Self::CursorTooLarge { .. }
            | Self::JpegTooLarge { .. }
            | Self::CompressedTooLong { .. }
            | Self::PixelBudget
            | Self::ResizeBudget
            | Self::Clipboard(ClipboardError::TooLong { .. }) => ErrorKind::Budget,
            Self::NotRfb
            | Self::VersionUnsupported { .. }
            | Self::SecurityChoice { .. }
            | Self::VencryptVersion { .. }
            | Self::VencryptRefused
            | Self::UnencryptedBytes
            | Self::AppleKeyLength { .. }
            | Self::ApplePrime
            | Self::AppleGenerator { .. }
            | Self::AppleKey
            | Self::SecurityResult { .. }
            | Self::UnknownMessage { .. }
            | Self::UnknownEncoding { .. }
            | Self::RectOutside { .. }
            | Self::Zlib
            | Self::PixelsMissing
            | Self::PixelsExceeded
            | Self::TileSubencoding { .. }
            | Self::TileRun
            | Self::TileSubrect
            | Self::PaletteIndex { .. }
            | Self::TightKind { .. }
            | Self::TightFilter { .. }
            | Self::Jpeg
            | Self::JpegSize
            | Self::JpegIndexed
            | Self::CursorEncoding { .. }
            | Self::PixelFormat(_)
            | Self::Clipboard(_)
            | Self::ColourMapBits { .. } => ErrorKind::Protocol,
        }
    }

    /// What the server said when it refused: hostile text, bounded, not escaped.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        match self {
            Self::PasswordRefused { said }
            | Self::TooManyAttempts { said }
            | Self::Refused { said } => Some(said),
            _ => None,
        }
    }

    /// The reason the gap that follows carries.
    #[must_use]
    pub const fn reason(&self) -> GapReason {
        self.kind().reason()
    }
}
