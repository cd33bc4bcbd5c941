//! Announced lengths take no memory: what a peer pours in is painted, read past or refused, and
//! the process stays as small as it was. A binary of its own, because it measures the process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "this is all test code, helpers too")]

use capture::{Framebuffer, Size};
use capture_vnc::{Config, Session};

/// A 3.8 handshake without security, and a desktop of 64 by 64 called nothing.
const OPENING: &[u8] = b"RFB 003.008\n\x01\x01\0\0\0\0\
    \0\x40\0\x40\x20\x18\0\x01\0\xff\0\xff\0\xff\x10\x08\0\0\0\0\0\0\0\0";

/// What one read of a socket may give.
const PIECE_BYTES: usize = 64 * 1024;

/// The most memory this process has ever held, in KiB (proc(5), `VmHWM`).
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let words = line.unwrap().split_whitespace().nth(1);
    words.unwrap().parse().unwrap()
}

/// Pours `total_bytes` of filler in after `start`; by how much the process grew at its largest.
fn growth_kib(start: &[u8], filler: u8, total_bytes: usize) -> u64 {
    let mut screen = Framebuffer::new(Size::new(1, 1), 0).unwrap();
    let piece = vec![filler; PIECE_BYTES];
    let before_kib = peak_kib();
    let mut session = Session::new(Config::default(), 0);
    let mut poured = session.handle_bytes(0, start, &mut screen);
    for _ in 0..total_bytes / PIECE_BYTES {
        if poured.is_err() {
            break;
        }
        poured = session.handle_bytes(0, &piece, &mut screen);
        while session.poll_event().is_some() || session.poll_transmit().is_some() {}
    }
    peak_kib() - before_kib
}

#[test]
fn memory_stays_flat_whatever_is_announced() {
    const POURED_BYTES: usize = 80 * 1024 * 1024;
    const LIMIT_KIB: u64 = 4 * 1024;
    let after_opening = |bytes: &[u8]| [OPENING, bytes].concat();
    let clipboard = |len: i32| [&[3, 0, 0, 0], len.to_be_bytes().as_slice()].concat();

    for (what, start, filler) in [
        (
            "an endless reason",
            b"RFB 003.008\n\0\xff\xff\xff\xff".to_vec(),
            b'a',
        ),
        ("a kept clipboard", after_opening(&clipboard(1 << 20)), 2),
        ("a long clipboard", after_opening(&clipboard(64 << 20)), 2),
        (
            "an extended clipboard",
            after_opening(&clipboard(-(64 << 20))),
            2,
        ),
        (
            "a JPEG picture that never ends",
            // One rectangle of 64 by 64 in Tight, kind 9, of a mebibyte.
            after_opening(b"\0\0\0\x01\0\0\0\0\0\x40\0\x40\0\0\0\x07\x90\x80\x80\x40"),
            7,
        ),
        ("a flood of bells", OPENING.to_vec(), 2),
        ("a flood of empty updates", OPENING.to_vec(), 0),
    ] {
        let grown_kib = growth_kib(&start, filler, POURED_BYTES);
        assert!(grown_kib < LIMIT_KIB, "{what} took {grown_kib} KiB");
    }
}
