//! Why a session ends before the operator ends it.

use capture::{GapReason, Rect, Size, framebuffer::SizeError, source::ErrorKind};

use crate::{clipboard::ClipboardError, limits};

/// What ended a session. The texts hold nothing a peer said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's text says what it is")]
pub enum Error {
    #[error("server did not finish the handshake within {} s", limits::HANDSHAKE_MS / 1000)]
    HandshakeTimeout,
    #[error("server fell silent for {} s inside a message", limits::MESSAGE_SILENCE_MS / 1000)]
    MessageTimeout,
    #[error("server closed the connection{}", if *.inside_message { " inside a message" } else { "" })]
    Closed { inside_message: bool },
    #[error("server ended the session: {0}")]
    Ended(End),

    #[error("signing in takes a user's name and none is configured")]
    UserRequired,
    #[error("signing in takes a password and none is configured")]
    PasswordRequired,
    #[error("user's name is none that could be signed in with")]
    UserUnusable,
    #[error("desktop of {size} with {monitors} monitors is none that could be asked for")]
    DesktopUnusable { size: Size, monitors: usize },
    #[error(
        "server has no network level authentication: where its certificate is checked, TLS alone \
         can be allowed"
    )]
    NlaMissing,
    #[error("server insists on network level authentication, which is not allowed: allow it")]
    NlaRequired,
    #[error("server refuses TLS, and nothing else is spoken")]
    TlsRefused,
    #[error("server refuses how we would connect, with code {code}")]
    NegotiationRefused { code: u32 },
    #[error("server's certificate holds no key that a sign-in could be bound to")]
    Certificate,
    #[error("server refused the user or the password")]
    PasswordRefused,
    #[error("server ended the sign-in, as some do when user or password is wrong")]
    SignInCutShort,
    #[error("server does not let the user in for now, with status {status:#010x}")]
    AccountRefused { status: u32 },
    #[error("server knows the user, who may not connect")]
    AccessDenied,
    #[error("server did not prove to know the password, or is not who it encrypts with")]
    ServerUnproven,
    #[error("server gave no licence")]
    LicenceRefused,
    #[error("server sends us to another one, which is not followed: record that one")]
    Redirected,

    #[error("peer does not speak RDP")]
    NotRdp,
    #[error("peer spoke before the connection was encrypted")]
    UnencryptedBytes,
    #[error("server's part in the {0} is broken")]
    Handshake(Phase),
    #[error(
        "message of {len_bytes} bytes is longer than {}",
        limits::MESSAGE_BYTES
    )]
    MessageTooLong { len_bytes: usize },
    #[error("message is broken")]
    Message,
    #[error("update is longer than {} bytes", limits::UPDATE_BYTES)]
    UpdateTooLong,
    #[error("update lacks its beginning or its end")]
    UpdateParts,
    #[error("update is of the kind {code}, which was not asked for")]
    UpdateUnknown { code: u8 },
    #[error("compressed data is corrupt")]
    Compression,
    #[error("picture of {bits} bits a pixel is not supported")]
    PictureDepth { bits: u16 },
    #[error("picture is corrupt")]
    Picture,
    #[error("picture of {rect:?} leaves the screen of {size}")]
    PictureOutside { rect: Rect, size: Size },
    #[error("pointer has number {index} of {}", limits::POINTERS)]
    PointerIndex { index: u16 },
    #[error("pointer of {size} is larger than accepted")]
    PointerTooLarge { size: Size },
    #[error(transparent)]
    Clipboard(#[from] ClipboardError),
    #[error("decoding failed in a way that it must not")]
    Panicked,

    #[error(
        "server showed nothing for {} s: it may draw in ways that are not spoken",
        limits::FIRST_PICTURE_MS / 1000
    )]
    NoGraphics,
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error("server sent more than {} pixels a second", limits::PIXELS_PER_S)]
    PixelBudget,
    #[error(
        "server changed its size more than {} times a second",
        limits::RESIZES_PER_S
    )]
    ResizeBudget,
}

/// A part of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Phase {
    /// What the connection is to be secured with.
    #[error("negotiation")]
    Negotiation,
    /// Network level authentication.
    #[error("sign-in")]
    SignIn,
    /// Settings and channels.
    #[error("exchange of settings")]
    Settings,
    /// The client's licence.
    #[error("licensing")]
    Licensing,
    /// What each side can do, and the desktop's size.
    #[error("exchange of capabilities")]
    Capabilities,
}

/// Why a server ended a session (MS-RDPBCGR section 2.2.5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// Another client has the session now.
    #[error("another client took it over")]
    TakenOver,
    /// The user logged off, here or by a tool.
    #[error("the user was logged off")]
    LoggedOff,
    /// Nothing was done for too long.
    #[error("its limit of idleness was reached")]
    Idle,
    /// It lasted as long as it may.
    #[error("its limit of time was reached")]
    TimeLimit,
    /// An administrator, or a tool in the session, disconnected us.
    #[error("it was disconnected by a tool")]
    Administrator,
    /// The user may not connect.
    #[error("the connection was denied")]
    Denied,
    /// The server stops.
    #[error("the server shuts down")]
    Shutdown,
    /// There is no licence for us.
    #[error("there is no licence")]
    Licence,
    /// It said goodbye and gave no reason.
    #[error("no reason was given")]
    Goodbye,
    /// Something else.
    #[error("code {0:#x}")]
    Other(u32),
}

impl Error {
    /// Why a user was not let in, by a Windows status (MS-ERREF section 2.3).
    pub(crate) const fn of_status(status: u32) -> Self {
        const NO_SUCH_USER: u32 = 0xc000_0064;
        const WRONG_PASSWORD: u32 = 0xc000_006a;
        const LOGON_FAILURE: u32 = 0xc000_006d;
        /// In place of a status, older servers send what their library said.
        const LOGON_DENIED: u32 = 0x8009_030c;
        match status {
            NO_SUCH_USER | WRONG_PASSWORD | LOGON_FAILURE | LOGON_DENIED => Self::PasswordRefused,
            status => Self::AccountRefused { status },
        }
    }

    /// What kind of failure it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::UserRequired
            | Self::PasswordRequired
            | Self::UserUnusable
            | Self::DesktopUnusable { .. }
            | Self::NlaMissing
            | Self::NlaRequired
            | Self::TlsRefused
            | Self::NegotiationRefused { .. }
            | Self::Certificate
            | Self::PasswordRefused
            | Self::SignInCutShort
            | Self::AccountRefused { .. }
            | Self::AccessDenied
            | Self::ServerUnproven
            | Self::LicenceRefused
            | Self::Redirected
            | Self::Ended(End::Denied | End::Licence) => ErrorKind::Refused,
            Self::Closed { .. } | Self::Ended(_) => ErrorKind::Closed,
            Self::HandshakeTimeout | Self::MessageTimeout => ErrorKind::Stalled,
            Self::Size(_)
            | Self::MessageTooLong { .. }
            | Self::UpdateTooLong
            | Self::PointerTooLarge { .. }
            | Self::PixelBudget
            | Self::ResizeBudget
            | Self::Clipboard(ClipboardError::TooLong { .. } | ClipboardError::Offer) => {
                ErrorKind::Budget
            }
            Self::NotRdp
            | Self::UnencryptedBytes
            | Self::Handshake(_)
            | Self::Message
            | Self::UpdateParts
            | Self::UpdateUnknown { .. }
            | Self::Compression
            | Self::PictureDepth { .. }
            | Self::Picture
            | Self::PictureOutside { .. }
            | Self::PointerIndex { .. }
            | Self::Clipboard(_)
            | Self::Panicked
            | Self::NoGraphics => ErrorKind::Protocol,
        }
    }

    /// The reason the gap that follows carries.
    #[must_use]
    pub const fn reason(&self) -> GapReason {
        match self {
            Self::Ended(End::TakenOver) => GapReason::TakenOver,
            Self::Ended(
                End::Idle | End::TimeLimit | End::Administrator | End::Denied | End::Licence,
            ) => GapReason::PermissionLost,
            _ => self.kind().reason(),
        }
    }
}
