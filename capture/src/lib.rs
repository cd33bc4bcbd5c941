//! The recorder's vocabulary: what a session, an instant, a frame and an event *are*.
//!
//! Every other crate imports these types; this one imports none of theirs. It does no IO and
//! reads no clock: time always arrives as an argument.

pub mod budget;
pub mod cursor;
pub mod event;
pub mod framebuffer;
pub mod gap;
pub mod geometry;
pub mod id;
pub mod input;
pub mod mark;
mod password;
pub mod pixels;
pub mod relay;
pub mod session;
pub mod source;
pub mod time;
pub mod trace;

pub use framebuffer::Framebuffer;
pub use gap::{Gap, GapReason};
pub use geometry::{Damage, Point, Rect, Size};
pub use id::SessionId;
pub use password::Password;
pub use time::{Anchor, ClockMap, MediaTime, WallTime};
