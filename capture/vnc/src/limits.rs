//! How much a peer may ask of this client, and for how long it may keep it waiting.
//!
//! Screen sizes are bounded by [`capture::Framebuffer`], cursors by
//! [`CursorShape::MAX_SIDE_PX`]; everything else is here.

use capture::cursor::CursorShape;

/// From the connection to the desktop's name. A person may have to accept it on the other side,
/// but a server that takes longer is worth another try.
pub const HANDSHAKE_MS: u64 = 10_000;

/// How long a driver may take to choose how it signs in and to do so: a person may have to type
/// the password.
pub const DRIVER_SIGN_IN_MS: u64 = 60_000;

/// The longest silence inside a message: more than any retransmission of a living network.
pub const MESSAGE_SILENCE_MS: u64 = 15_000;

/// An answer that no server may hold back is overdue after this silence. The recorded format
/// promises that a source which stops is a gap within 2 s.
pub const STALL_MS: u64 = 2_000;

/// An answer still incomplete after this is overdue although bytes trickle in: the picture has
/// not been proven all that time.
pub const UNPROVEN_MS: u64 = 15_000;

/// The shortest time between two requests the session repeats on its own, so that a peer cannot
/// make it talk without pause.
pub const REPEAT_MS: u64 = 20;

/// When the whole picture is checked: so long after activity ended, then after the check before.
pub const CHECK_AFTER_MS: [u64; 3] = [60_000, 5 * 60_000, CHECK_AT_LEAST_MS];

/// However busy the screen, its whole picture is checked this often.
pub const CHECK_AT_LEAST_MS: u64 = 15 * 60_000;

/// What is buffered of one message: a clipboard of the size kept, the largest cursor with its
/// mask, a JPEG picture, the longest colour map. Other pixels are painted as they come and never held back.
pub const RECEIVE_BYTES: usize = 1024 * 1024 + 64 * 1024;

const _: () = {
    let side = CursorShape::MAX_SIDE_PX as usize;
    assert!(12 + side * side * 4 + side * side / 8 <= RECEIVE_BYTES);
    assert!(6 + COLOUR_MAP_BYTES <= RECEIVE_BYTES);
    assert!(3 + JPEG_BYTES as usize <= RECEIVE_BYTES);
    assert!(8 + CLIPBOARD_KEPT_BYTES as usize <= RECEIVE_BYTES);
};

/// The entries of a colour map: as many as their number can say, six bytes each.
const COLOUR_MAP_BYTES: usize = 65_535 * 6;

/// The desktop's name; real ones are a host, a display and a user.
pub const NAME_BYTES: u32 = 4 * 1024;

/// What is read of the sentence in which a server says why it refuses; the rest is left unread.
pub const REFUSAL_BYTES: u32 = 4 * 1024;

/// Clipboard text kept; of a longer one only the size is reported.
pub const CLIPBOARD_KEPT_BYTES: u32 = 1024 * 1024;

/// The longest clipboard read past: while it flows no picture comes, and the announced 2 GiB
/// would blind the recorder for minutes.
pub const CLIPBOARD_SKIPPED_BYTES: u32 = 64 * 1024 * 1024;

/// A driver's clipboard held to be read, packed and unpacked; a longer one passes by, and only its
/// size is told.
pub const DRIVER_CLIPBOARD_BYTES: u32 = 8 * 1024 * 1024;

/// A fence's payload, as its extension has it.
pub const FENCE_BYTES: u8 = 64;

/// What one end of a relay may say while it is the other's turn to speak: a list of security
/// types, or a refusal and its reason.
pub const EARLY_BYTES: usize = 8 * 1024;

/// While so much waits to be written to one end of a relay, no more is to be read from the other:
/// twice a busy screen's update, and little memory for a driver that does not read.
pub const RELAY_PENDING_BYTES: usize = 1024 * 1024;

/// The longest compressed rectangle, whatever its size.
pub const COMPRESSED_BYTES: u64 = 64 * 1024 * 1024;

/// Beside twice its raw size, what a compressed rectangle may take: tile heads and zlib's own.
pub const COMPRESSED_SLACK_BYTES: u64 = 64 * 1024;

/// The longest JPEG picture: held whole, so no longer than a message may be.
pub const JPEG_BYTES: u32 = 1024 * 1024;

/// The largest JPEG picture: servers make them of 64 Kipx, and memory is taken for all of it.
pub const JPEG_AREA_PX: u64 = 4 * 1024 * 1024;

/// How often a JPEG picture may be gone over: twice what a progressive one of photos takes.
pub const JPEG_SCANS: usize = 20;

/// Pixels decoded a second, averaged over [`PIXEL_WINDOW_S`]: a hundred times what a busy 4K
/// screen needs at the recorder's rate, yet a bound on what a few bytes can make us paint.
pub const PIXELS_PER_S: u64 = 500_000_000;

/// Over how many seconds [`PIXELS_PER_S`] is averaged.
pub const PIXEL_WINDOW_S: u64 = 2;

/// Size changes a second: dragging a window's corner makes a few, a loop makes hundreds.
pub const RESIZES_PER_S: u64 = 10;
