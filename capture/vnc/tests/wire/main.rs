//! The session against servers made of bytes: what each says, and what it then must do.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is all test code, helpers too"
)]

mod apple;
mod client;
mod clipboard;
mod encodings;
mod formats;
mod handshake;
mod hostile;
mod pictures;
mod pieces;
mod server;
mod stillness;
mod vencrypt;
