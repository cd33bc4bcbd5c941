//! What a recorder speaks of RFB (RFC 6143): the client that watches, the relay that sees what a
//! driver does, and a small server of what is seen. They trust a peer with nothing.
//!
//! [`Session`], [`proxy::Relay`] and [`server::Session`] are connections as pure state machines.
//! They do no IO and read no clock: bytes and time are arguments, pixels go into the caller's
//! framebuffer, everything else comes out as [`SourceEvent`](capture::source::SourceEvent)s and
//! [`Input`](capture::input::Input)s. Everything a peer sends meets a bound of [`limits`]; past it
//! the session ends with a stated reason.

#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

mod auth;
mod canvas;
#[warn(clippy::arithmetic_side_effects)]
mod clipboard;
mod config;
#[warn(clippy::arithmetic_side_effects)]
mod driver;
mod encoding;
mod error;
#[warn(clippy::arithmetic_side_effects)]
mod handshake;
#[warn(clippy::arithmetic_side_effects)]
mod input;
mod layout;
pub mod limits;
#[warn(clippy::arithmetic_side_effects)]
mod pace;
#[warn(clippy::arithmetic_side_effects)]
pub mod proxy;
mod rect;
mod request;
pub mod server;
mod session;
#[warn(clippy::arithmetic_side_effects)]
mod stream;
mod update;

pub use auth::Random;
pub use capture::Password;
pub use clipboard::ClipboardError;
pub use config::Config;
pub use driver::{Challenge, DriverError};
pub use encoding::Encoding;
pub use error::Error;
pub use handshake::{Tls, TlsRequest};
pub use session::Session;
