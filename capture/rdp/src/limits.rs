//! How much a peer may ask of this client, and for how long it may keep it waiting.
//!
//! Screen sizes are bounded by [`capture::Framebuffer`], pointers by
//! [`CursorShape::MAX_SIDE_PX`](capture::cursor::CursorShape::MAX_SIDE_PX); everything else is
//! here.

/// From the connection to the desktop, sign-in and licence included.
pub const HANDSHAKE_MS: u64 = 10_000;

/// How long a driver may take to be let in: a person may have to believe a certificate and to type
/// a password.
pub const DRIVER_SIGN_IN_MS: u64 = 60_000;

/// What one end of a relay may say while it is the other's turn to speak.
pub const EARLY_BYTES: usize = 64 * 1024;

/// From the desktop to its first pixel. A server that draws in a way we did not ask for draws
/// nothing for us, and would else look like a black screen.
pub const FIRST_PICTURE_MS: u64 = 10_000;

/// The longest silence inside a message: more than any retransmission of a living network.
pub const MESSAGE_SILENCE_MS: u64 = 15_000;

/// An answer that no server may hold back is overdue after this silence. The recorded format
/// promises that a source which stops is a gap within 2 s.
pub const STALL_MS: u64 = 2_000;

/// An answer still incomplete after this is overdue although bytes trickle in: the picture has
/// not been proven all that time.
pub const UNPROVEN_MS: u64 = 15_000;

/// The longest message: what a TPKT header can say. A fast-path message is at most half of it, and
/// a sign-in message, whose header could say more, is held to it.
pub const MESSAGE_BYTES: usize = 64 * 1024;

/// The longest update, put together from as many messages as it is cut into: an uncompressed
/// picture of 4096×4096. Servers cut theirs by what the client says it can put together, and a
/// server may make that up itself.
pub const UPDATE_BYTES: usize = 64 * 1024 * 1024;

/// Pointers that are kept by number: as many as the client says it keeps.
pub const POINTERS: usize = 32;

/// Pixels decoded a second, averaged over [`PIXEL_WINDOW_S`]: a hundred times what a busy 4K
/// screen needs at the recorder's rate, yet a bound on what a few bytes can make us paint.
pub const PIXELS_PER_S: u64 = 500_000_000;

/// Over how many seconds [`PIXELS_PER_S`] is averaged.
pub const PIXEL_WINDOW_S: u64 = 2;

/// Size changes a second: dragging a window's corner makes a few, a loop makes hundreds.
pub const RESIZES_PER_S: u64 = 10;

/// A server sends what changed at once in several messages and does not say which is the last. So
/// the picture counts as whole once nothing was painted for this long.
pub const SETTLES_MS: u64 = 20;

/// A picture that never comes to rest, as that of a film, is taken as it is after this long.
pub const SETTLED_BY_MS: u64 = 120;

/// The longest message over the clipboard: longer than any picture that is copied. Nothing is held
/// of it but [`CLIPBOARD_KEPT_BYTES`].
pub const CLIPBOARD_BYTES: u32 = 1 << 30;

/// What is kept of a message over the clipboard: text of four million characters, so that of one
/// longer than is recorded the hash can be told. Of a longer one only the size is reported.
pub const CLIPBOARD_KEPT_BYTES: usize = 8 * 1024 * 1024;

/// Forms kept of one offer: programs that offer most offer some dozens.
pub const CLIPBOARD_FORMS: usize = 256;
