//! Which machine is held to the table. Displays 60 to 69, with VNC ports 5900 and RDP ports 3300
//! above, are this suite's; each test has its own.

use capture_vnc::Config;

use crate::{
    facts,
    machines::{Qemu, Rdp, Wayland, X11},
};

fn with_cursor() -> Config {
    Config {
        cursor: true,
        ..Config::default()
    }
}

#[test]
fn peer_xvnc_is_a_source() {
    facts::hold(&mut X11::xvnc(60, "24", &[]));
}

#[test]
fn peer_xvnc_of_16_bits_is_a_source() {
    facts::hold(&mut X11::xvnc(61, "16", &[]));
}

#[test]
fn peer_x11vnc_is_a_source() {
    facts::hold(&mut X11::x11vnc(62, "24", &[]));
}

#[test]
fn peer_qemu_is_a_source() {
    facts::hold(&mut Qemu::start(63));
}

#[test]
fn peer_wayvnc_is_a_source() {
    facts::hold(&mut Wayland::start(5964));
}

/// It tells what the pointer looks like, and not where others move it: that it is shown once is not
/// held to the table. xrdp is not held to it: asked for a desktop of odd sides it tells of no new
/// size. What it keeps is shown in `capture/rdp/tests/peers` and `peer_rdp.rs`.
#[test]
fn peer_shadow_is_a_source() {
    facts::hold(&mut Rdp::shadow(62));
}

/// It paints a pointer that did not move through this connection, and hands out an empty shape.
#[test]
fn peer_xvnc_shows_one_pointer() {
    let mut machine = X11::xvnc(65, "24", &[]);
    facts::shows_one_pointer(&mut machine, &Config::default());
    facts::shows_one_pointer(&mut machine, &with_cursor());
}

/// It paints the pointer, or hands out its shape and tells its place: whichever it is asked.
#[test]
fn peer_x11vnc_shows_one_pointer() {
    let mut machine = X11::x11vnc(66, "24", &[]);
    facts::shows_one_pointer(&mut machine, &Config::default());
    facts::shows_one_pointer(&mut machine, &with_cursor());
}
