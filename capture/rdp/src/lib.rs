//! What a recorder speaks of RDP (MS-RDPBCGR): a client that watches, on IronRDP's crates. It
//! trusts a server with nothing.
//!
//! [`Session`] is a connection as a pure state machine. It does no IO and reads no clock: bytes
//! and time are arguments, pixels go into the caller's framebuffer, everything else comes out as
//! [`SourceEvent`](capture::source::SourceEvent)s. Everything a server sends meets a bound of
//! [`limits`]; past it the session ends with a stated reason.
//!
//! [`proxy`] stands between a driver and its machine, and lets such a session watch.

#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

mod auth;
pub mod clipboard;
mod config;
mod ended;
mod error;
mod graphics;
mod handshake;
mod input;
mod keymap;
pub mod limits;
mod pace;
mod pieces;
pub mod proxy;
mod request;
mod sealed;
mod session;
mod stream;

pub use capture::Password;
pub use config::{Config, Depth, Security};
pub use error::{End, Error, Phase};
pub use input::{Ears, InputError};
pub use keymap::{Keymap, Levels};
pub use session::Session;
