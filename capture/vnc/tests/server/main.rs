//! The small server: what its clients see and say, our own among them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is all test code, helpers too"
)]

mod handshake;
mod messages;
mod pair;
mod pictures;
