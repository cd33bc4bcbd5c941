//! Between a driver and its server: how what the driver does becomes known without it noticing.
//!
//! [`Relay`] is one driver's connection and the one to its server as a pure state machine. It
//! lets them agree as if they were alone, then reads what the driver says and forwards it, and
//! forwards what the server says unread.

mod error;
mod forward;
mod relay;
mod sign_in;

use capture::Password;
pub use capture::relay::End;

pub use self::{error::RelayError, relay::Relay};
use crate::{
    auth::{Credentials, Random},
    driver::Challenge,
    handshake::Tls,
};

/// How to sign in where a driver cannot do it through the relay.
///
/// A driver's VNC password passes through to the server, and nothing here is used. Where the
/// server insists on encryption or on Apple's sign-in, the relay signs in by itself, and the
/// driver must know the same password.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// The user's name, where sign-in takes one.
    pub user: Option<String>,
    /// The password, if there is one.
    pub password: Option<Password>,
    /// What a private key is made of. Without it Apple's sign-in is not possible.
    pub random: Option<Random>,
    /// The encryption to insist on towards the server: the relay then always signs in by itself.
    pub tls: Option<Tls>,
    /// What a driver that must know the password encrypts.
    pub challenge: Challenge,
}

impl RelayConfig {
    fn credentials(&self) -> Credentials {
        Credentials {
            user: self.user.clone(),
            password: self.password.clone(),
            random: self.random.clone(),
        }
    }
}
