//! The machines there are to record here, and how their servers are reached.

pub(crate) mod qemu;
mod rdp;
mod vnc;
mod wayland;
mod x11;

pub(crate) use self::{qemu::Qemu, rdp::Rdp, vnc::VncLink, wayland::Wayland, x11::X11};
