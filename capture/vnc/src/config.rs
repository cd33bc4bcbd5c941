//! How a session talks to its server: what it signs in with, insists on and asks for.

use capture::{Password, pixels::PixelFormat};

use crate::{auth::Random, encoding::Encoding, handshake::Tls};

/// How to talk to a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The user's name, where sign-in takes one.
    pub user: Option<String>,
    /// The password, if there is one.
    pub password: Option<Password>,
    /// What a private key is made of. Without it Apple's sign-in is not possible.
    pub random: Option<Random>,
    /// The encryption to insist on: a server without it is refused. `None` when the caller cannot
    /// wrap its connection; nothing is encrypted then.
    pub tls: Option<Tls>,
    /// The encodings to ask for, the most wanted first. Others but raw are refused.
    pub encodings: Vec<Encoding>,
    /// How pixels are to come; `None` takes them as the server has them.
    pub pixel_format: Option<PixelFormat>,
    /// Ask for the pointer's shape, and its place where the server tells it, instead of having the
    /// pointer painted into the picture.
    ///
    /// For callers who know where the pointer is, because all that moves it passes through them. A
    /// client that only watches is told by few servers where it *is*, and one that hands the shape
    /// out may then paint it nowhere. Off, servers that have a pointer paint it.
    pub cursor: bool,
    /// Ask for the clipboard in Unicode and for the names of its other forms; each text is then
    /// asked for when it is new. Off, servers send texts as Latin-1, or not at all.
    pub extended_clipboard: bool,
    /// How long the picture may go unproven before one pixel is asked for, in milliseconds. What is
    /// not proven is lost with the recorder: less than a second, the way there and back included.
    pub proof_every_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            user: None,
            password: None,
            random: None,
            tls: None,
            encodings: Encoding::EXACT.into(),
            pixel_format: Some(PixelFormat::BGRX),
            cursor: false,
            extended_clipboard: false,
            proof_every_ms: 900,
        }
    }
}
