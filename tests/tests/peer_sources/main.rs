//! Does every source keep the same promises? One table of facts (`facts.rs`), which each machine
//! of `machines/` is held to in `table.rs`: what the recorder sees is what the machine itself says
//! is on its screen, and what stops is noticed.
//!
//! The table knows a source only as a [`recorder::Link`], and a machine only as a
//! [`machine::Machine`]: another protocol brings its own of both. What a source shows only to a
//! recorder through which it is driven is in `driven.rs`.
//!
//! What is one protocol's alone is shown in `capture/vnc/tests/peers` and, colours of fewer bits among
//! it, in `capture/rdp/tests/peers`. What no server here does, scripted ones do in `capture/vnc/tests/wire`: palettes that change,
//! other byte orders, every cursor, the extended clipboard, Apple's sign-in.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "this is all test code, helpers too"
)]

mod driven;
mod facts;
mod formats;
mod machine;
mod machines;
mod recorder;
mod screenshot;
mod sign_in;
mod table;
