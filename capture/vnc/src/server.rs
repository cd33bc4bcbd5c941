//! A small VNC server (RFC 6143) for the desktop that a recorder sees: where the machine's own
//! allows only one client, whoever operates or watches it is served from the recorder's picture.
//!
//! [`Session`] is one client's connection as a pure state machine. The caller tells it what
//! changed, lets it look at the framebuffer, and writes what it says.

mod encode;
mod serving;
mod session;

use capture::{Password, Size};

pub use self::session::Session;
use crate::driver::Challenge;

/// What a client is served.
#[derive(Clone, Debug)]
pub struct Config {
    /// The screen's size when the client connects.
    pub size: Size,
    /// The name the desktop is given.
    pub name: String,
    /// The password that a client must know, if any.
    pub password: Option<Password>,
    /// What a client that must know the password encrypts.
    pub challenge: Challenge,
}
