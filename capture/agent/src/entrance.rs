//! How is a driver of a machine behind RDP let in? By a certificate whose key this program holds, and
//! where the owner wants it by a name and a password of the driver's own: a machine's password is
//! not for drivers to know.

mod certificate;

use serde::{Deserialize, Serialize};

pub(crate) use self::certificate::Certificate;

/// What drivers find where they connect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entrance {
    /// What this program proves to be.
    pub(crate) certificate: Certificate,
    /// Whom a driver has to prove to be, by network level authentication; `None` lets in whoever
    /// comes.
    pub(crate) driver: Option<Driver>,
    /// Static channels that are forwarded.
    pub(crate) channels: Vec<String>,
}

/// A driver's name and password. `Debug` hides the password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Driver {
    /// The name, as the client gives it.
    pub(crate) user: String,
    /// The password.
    pub(crate) password: String,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Driver({:?}, …)", self.user)
    }
}
