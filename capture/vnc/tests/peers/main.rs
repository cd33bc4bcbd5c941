//! What is VNC's alone, against real servers and clients: passwords, the relay, our own small
//! server, and a client of another make. What every source must do is in `pipeline-tests`.
//!
//! Needs Xvnc, xterm, xsetroot, xdotool, xwd and vncpasswd. Displays 60 to 69 and 160 to 169, with
//! ports 5900 above, of the loopback interface are this suite's; each test has its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is all test code, helpers too"
)]

mod clock;
mod desktop;
mod oracle;
mod recorder;
mod relay;
mod screenshot;
mod server;
mod xvnc;
