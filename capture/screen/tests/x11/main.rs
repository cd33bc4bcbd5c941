//! Is what happens on real X displays told, and told right?
#![cfg(all(unix, not(target_os = "macos")))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helpers fail the test"
)]

mod clipboard;
mod desktop;
mod keys;
mod losses;
mod owner;
mod pointer;
mod watch;
