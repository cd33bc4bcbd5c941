//! What a real driver and a real machine said through a relay, replayed: what each was told of the
//! other, and what becomes of it in all pieces, cut short, changed for the worse.
//!
//! `dialogue.bin` is what each end sent, in the order in which it came: a byte for the end, four
//! for the length, little-endian, and the bytes. The driver was FreeRDP's `xfreerdp` 2.11.7, the
//! machine xrdp 0.9.21 before TigerVNC's server, over TLS, with a desktop of 640×480 pixels that
//! later has 800×600. In between `a` and `b` are typed, the pointer is moved and the wheel turned.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is all test code, helpers too"
)]

mod hostile;
mod played;
mod told;
mod watched;
