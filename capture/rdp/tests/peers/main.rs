//! Real servers: xrdp before a VNC server, and FreeRDP's shadow server on an X display.
//!
//! Needs xrdp, freerdp2-shadow-x11, freerdp2-x11, Xvnc, xterm, xsetroot, xdotool, xrandr, xclip, xwd and
//! openssl.
//! Displays 20 to 35, with VNC ports 5900 and RDP ports 3370 above, of the loopback interface are
//! this suite's; each test has its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is all test code, helpers too"
)]

mod changes;
mod client;
mod clipboard;
mod clock;
mod desktop;
mod driven;
mod pictures;
mod rdp_server;
mod relayed;
mod screenshot;
mod sign_in;
mod stillness;
