//! How a session talks to its server: what it signs in with, insists on and asks for.

use capture::{Password, Rect, Size};

/// How to talk to a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The user: `name`, `DOMAIN\name` or `name@domain`.
    pub user: Option<String>,
    /// The password, if there is one.
    pub password: Option<Password>,
    /// How to sign in.
    pub security: Security,
    /// The server's name, as the user gave it: sign-in names it to the server. Not empty.
    pub host: String,
    /// The size wished for. The server decides; one that shows a screen that exists has its own.
    pub size: Size,
    /// The monitors of a desktop of that size, each its part of it, the first one the primary.
    /// Empty is one of the whole size.
    pub monitors: Vec<Rect>,
    /// The colours wished for.
    pub depth: Depth,
    /// Let the server compress what it sends as a whole, beside each picture.
    pub compression: bool,
    /// Share a clipboard with the machine: its text is asked for whenever it has some.
    pub clipboard: bool,
    /// How long the picture may go unproven before the server is asked, in milliseconds. What is not
    /// proven is lost with the recorder: less than a second, the way there and back included.
    pub proof_every_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            user: None,
            password: None,
            security: Security::Nla,
            host: "localhost".into(),
            size: Size::new(1920, 1080),
            monitors: Vec::new(),
            depth: Depth::Bits32,
            compression: true,
            clipboard: true,
            proof_every_ms: 900,
        }
    }
}

/// How to sign in. The connection is encrypted either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Network Level Authentication (CredSSP), or nothing. The server proves that it knows the
    /// password, and that the certificate we saw is its own, before it is sent the password.
    Nla,
    /// Network Level Authentication where the server has it, else TLS alone.
    NlaOrTls,
    /// TLS alone: whoever holds the certificate is sent the password.
    Tls,
}

/// Bits of a pixel. With fewer than 24, colours are not as the machine shows them; servers that do
/// not have the depth wished for take a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Five bits a colour.
    Bits15,
    /// Five bits of red and blue, six of green.
    Bits16,
    /// Eight bits a colour.
    Bits24,
    /// Eight bits a colour, with those that are left.
    Bits32,
}

impl Depth {
    /// The number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits15 => 15,
            Self::Bits16 => 16,
            Self::Bits24 => 24,
            Self::Bits32 => 32,
        }
    }
}
