//! What whoever operates the machine says to us, when we stand where it takes us for the server:
//! its side of the handshake, and its messages. All of it is read strictly, because what is not
//! understood could be input that goes unrecorded.

pub(crate) mod accept;
mod error;
pub(crate) mod message;

pub use self::accept::Challenge;
pub(crate) use self::accept::{Accept, Step, server_init};
pub use self::error::DriverError;
