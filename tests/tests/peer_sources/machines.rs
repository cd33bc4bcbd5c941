//! The machines there are to record here, and how their VNC servers are reached.

pub(crate) mod qemu;
mod vnc;
mod wayland;
mod x11;

pub(crate) use self::{qemu::Qemu, vnc::VncLink, wayland::Wayland, x11::X11};
