//! Does the server answer what was recorded, over HTTP as a client sees it?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod client;
mod faults;
#[path = "../fixture/mod.rs"]
mod fixture;
mod frames;
mod input;
mod media;
mod rows;
mod sessions;
