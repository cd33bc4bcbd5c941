//! What happens on a machine's own display, told by the display itself.
//!
//! For now this is input alone: an observer that stands beside any source of pictures and says who
//! typed and pointed where, and what was copied. What it says is a claim of the recorded machine, not evidence.

#[cfg(all(unix, not(target_os = "macos")))]
pub mod x11;
