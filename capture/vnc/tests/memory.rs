//! Announced lengths take no memory: what a peer pours in is painted, read past or refused, and
//! the process stays as small as it was. A binary of its own, because it measures the process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "this is all test code, helpers too")]

use capture::{Framebuffer, Size};
use capture_vnc::{
    Challenge, Config, Session,
    proxy::{End, Relay, RelayConfig},
    server,
};

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

/// Pours filler after `start` into what takes bytes until it refuses; by how much the process grew
/// at its largest.
fn growth_kib(mut take: impl FnMut(&[u8]) -> bool, start: &[u8], filler: u8) -> u64 {
    const POURED_BYTES: usize = 80 * 1024 * 1024;
    let piece = vec![filler; PIECE_BYTES];
    let before_kib = peak_kib();
    let mut taken = start.chunks(PIECE_BYTES).all(&mut take);
    for _ in 0..POURED_BYTES / PIECE_BYTES {
        taken = taken && take(&piece);
    }
    peak_kib() - before_kib
}

/// A client that hears bytes of a server.
fn client() -> impl FnMut(&[u8]) -> bool {
    let mut screen = Framebuffer::new(Size::new(1, 1), 0).unwrap();
    let mut session = Session::new(Config::default(), 0);
    move |bytes| {
        let heard = session.handle_bytes(0, bytes, &mut screen);
        while session.poll_event().is_some() || session.poll_transmit().is_some() {}
        heard.is_ok()
    }
}

/// A relay that hears bytes of a driver, whose server has already let it in.
fn relay() -> impl FnMut(&[u8]) -> bool {
    let mut relay = Relay::new(
        RelayConfig {
            user: None,
            password: None,
            random: None,
            tls: None,
            challenge: Challenge::new([0; Challenge::BYTES]),
        },
        0,
    );
    relay.handle_bytes(0, End::Server, OPENING).unwrap();
    move |bytes| {
        let heard = relay.handle_bytes(0, End::Driver, bytes);
        while relay.poll_input().is_some() || relay.poll_transmit(End::Server).is_some() {}
        heard.is_ok()
    }
}

/// The small server, that hears bytes of a client which reads nothing it is told.
fn server() -> impl FnMut(&[u8]) -> bool {
    let size = Size::new(1920, 1080);
    let desk = Framebuffer::new(size, 0).unwrap();
    let config = server::Config {
        size,
        name: "desk".into(),
        password: None,
        challenge: Challenge::new([0; Challenge::BYTES]),
    };
    let mut session = server::Session::new(config, 0);
    session.poll_transmit();
    move |bytes| {
        let heard = session.handle_bytes(0, bytes);
        while session.poll_input().is_some() {}
        session.update(&desk);
        heard.is_ok()
    }
}

#[test]
fn memory_stays_flat_whatever_is_announced() {
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
        let grown_kib = growth_kib(client(), &start, filler);
        assert!(grown_kib < LIMIT_KIB, "{what} took {grown_kib} KiB");
    }

    // A driver's clipboard is held in its whole, then as text and to be forwarded.
    const DRIVER_LIMIT_KIB: u64 = 48 * 1024;
    let after_sign_in = |bytes: &[u8]| [b"RFB 003.008\n\x01\x01", bytes].concat();
    let clipboard = |len: i32| after_sign_in(&[&[6, 0, 0, 0][..], &len.to_be_bytes()].concat());
    for (what, start, filler) in [
        ("a held clipboard", clipboard(8 << 20), 0xe9),
        ("a long clipboard", clipboard(64 << 20), 2),
        ("a long extended clipboard", clipboard(-(64 << 20)), 2),
        ("a flood of keys", after_sign_in(&[]), 4),
        ("a flood of encodings", after_sign_in(&[]), 2),
    ] {
        let relayed_kib = growth_kib(relay(), &start, filler);
        assert!(
            relayed_kib < DRIVER_LIMIT_KIB,
            "{what} took {relayed_kib} KiB"
        );
        let served_kib = growth_kib(server(), &start, filler);
        assert!(
            served_kib < DRIVER_LIMIT_KIB,
            "{what} took {served_kib} KiB"
        );
    }
}
