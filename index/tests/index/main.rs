//! Catalogue and everything over them, on real files.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod catalogue;
mod faults;
mod home;
mod import;
mod interrupt;
mod linking;
mod order;
mod processes;
mod rebuild;
mod resolve;
mod stores;
mod verify;
