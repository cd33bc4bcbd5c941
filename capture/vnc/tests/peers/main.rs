//! The client against real servers, held to what the X server itself says is on the screen.
//!
//! Needs Xvnc, x11vnc, Xvfb, xterm, xsetroot, xdotool, xrandr, xwd and vncpasswd. Displays 60 to
//! 69 and 160 to 169, with ports 5900 above, of the loopback interface are this suite's; each test has
//! its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is all test code, helpers too"
)]

mod clock;
mod desktop;
mod encodings;
mod oracle;
mod recorder;
mod relay;
mod screenshot;
mod server;
mod x11vnc;
mod xvnc;
