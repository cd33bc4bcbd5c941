//! Between a driver and its machine: how what the driver does, and what the machine shows it,
//! becomes known without either noticing.
//!
//! RDP gives one desktop to one client, so the driver's own connection is the only one there is.
//! [`Relay`] ends it twice: to the driver it is a server, with credentials of its own, to the
//! machine a client, with the machine's. In between both agree as if they were alone, but on no
//! more than is read here (MS-RDPBCGR section 1.3.1.1). What the machine says then goes to the
//! driver and, as [`Relay::poll_shown`], to a [`Session`](crate::Session) that watches.

mod abilities;
mod channels;
mod door;
mod error;
mod info;
mod machine;
mod relay;
mod settings;
mod share;
mod talk;
mod watched;

use capture::Password;
pub use capture::relay::End;

pub use self::{
    channels::{Channels, Dropped},
    error::{DriverError, RelayError},
    relay::Relay,
    watched::Desktop,
};
use crate::{config::Config, keymap::Keymap};

/// How each end is talked to.
pub struct RelayConfig {
    /// How to sign in to the machine. Size, monitors, colours and compression are the driver's to
    /// wish for; what is said of them here counts for nothing.
    pub server: Config,
    /// What a driver must know to be let in, by network level authentication. Without it whoever
    /// comes is let in, over TLS alone.
    pub driver: Option<Credentials>,
    /// The channels that are forwarded.
    pub channels: Channels,
    /// The keyboard of a driver that tells this Windows layout (as `0x0409`, American).
    pub keymap: Box<dyn Fn(u32) -> Keymap + Send>,
}

/// A user and a password.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The user's name: `name` or `DOMAIN\name`. A driver may leave the domain out; one that signs in
    /// through SPNEGO may give no other.
    pub user: String,
    /// The password.
    pub password: Password,
}
