//! The relay between drivers and servers made of bytes: what each is told, and what is recorded.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is all test code, helpers too"
)]

mod between;
mod forwarding;
mod handshake;
mod hostile;
mod own_sign_in;
