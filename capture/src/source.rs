//! What every source of pictures tells the recorder, whatever protocol it speaks.

use serde::{Deserialize, Serialize};

use crate::{Damage, GapReason, Point, Size, cursor::CursorShape, input::Clipboard};

/// How the pictures reach the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// RFB (RFC 6143): VNC, and macOS Screen Sharing.
    Vnc,
    /// RDP (MS-RDPBCGR).
    Rdp,
    /// The machine's own screen.
    Screen,
}

impl Protocol {
    /// The word used in records and the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vnc => "vnc",
            Self::Rdp => "rdp",
            Self::Screen => "screen",
        }
    }
}

/// Something a source reports. It carries no time: the recorder stamps it when bytes arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceEvent {
    /// The connection is up and the framebuffer has its size. Nothing is painted yet.
    Start {
        /// The screen's size.
        size: Size,
        /// The name the server gives the desktop: hostile text, bounded, not escaped.
        server_name: String,
    },
    /// One protocol update is painted whole.
    Update {
        /// Where it may have changed something.
        damage: Damage,
    },
    /// The screen has a new size; the framebuffer is black and a full update follows.
    Resize(Size),
    /// The pointer's shape or place changed; the source does not paint it.
    Cursor {
        /// Where it is now, if the source says.
        at: Option<Point>,
        /// Its new shape, if that changed.
        shape: Option<CursorShape>,
    },
    /// The source has just proved that the picture still stands as painted.
    Proof,
    /// Something was put on the recorded machine's clipboard.
    Clipboard(Clipboard),
    /// The source rang its bell.
    Bell,
}

/// What kind of failure it is, and so what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The server does not let us in: another try with the same credentials is no use.
    Refused,
    /// The connection ended.
    Closed,
    /// The peer stopped answering.
    Stalled,
    /// The peer broke the protocol, or speaks one that is not supported.
    Protocol,
    /// The peer passed a limit of size or rate.
    Budget,
}

impl ErrorKind {
    /// The reason that the gap which follows carries, where the error knows no better one.
    #[must_use]
    pub const fn reason(self) -> GapReason {
        match self {
            Self::Refused | Self::Closed | Self::Protocol => GapReason::Disconnected,
            Self::Stalled => GapReason::Stalled,
            Self::Budget => GapReason::BudgetExceeded,
        }
    }
}
