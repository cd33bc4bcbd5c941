//! Drivers and servers that mean harm or break off: each ends with its reason, and nothing unread
//! is forwarded.

use capture::GapReason;
use capture_vnc::{
    ClipboardError, DriverError, Error,
    proxy::{End, RelayError},
};
use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::between::{Between, SERVER_INIT, open};

/// A driver that says `said` after a key is dropped for `error`; the key went on, the rest did not.
fn check(said: &[u8], error: &DriverError) {
    const KEY: [u8; 8] = [4, 1, 0, 0, 0, 0, 0, 0x61];
    let error = RelayError::Driver(error.clone());
    let mut between = Between::established();
    let said = [&KEY, said].concat();
    assert_eq!(between.say(End::Driver, &said), Err(error.clone()));
    assert_eq!(between.heard(End::Server), KEY);
    assert_eq!(between.acts().len(), 1);
    assert_eq!(between.say(End::Server, b"more"), Err(error));
    assert_eq!(between.heard(End::Driver), b"");
    assert_eq!(between.relay.poll_timeout(), None);
}

#[test]
fn unknown_messages_end_the_session() {
    for kind in [1, 7, 8, 127, 149, 151, 249, 252, 253, 254] {
        check(&[kind], &DriverError::UnknownMessage { kind });
    }
    let kind = 2;
    check(&[255, kind], &DriverError::UnknownQemuMessage { kind });
    let operation = 3;
    let error = DriverError::UnknownAudioOperation { operation };
    check(&[255, 1, 0, 3], &error);
}

#[test]
fn impossible_lengths_end_the_session() {
    let len_bytes = 65;
    let fence = [248, 0, 0, 0, 0, 0, 0, 0, len_bytes];
    check(&fence, &DriverError::FenceTooLong { len_bytes });
    for (length, len_bytes) in [
        (i32::MAX, 0x7fff_ffff),
        (i32::MIN, 0x8000_0000),
        (-(64 << 20) - 1, (64 << 20) + 1),
    ] {
        let said = [&[6, 0, 0, 0][..], &length.to_be_bytes()].concat();
        let error = DriverError::Clipboard(ClipboardError::TooLong { len_bytes });
        assert_eq!(error.reason(), GapReason::BudgetExceeded);
        check(&said, &error);
    }
}

fn extended(flags: u32, rest: &[u8]) -> Vec<u8> {
    let length = -i32::try_from(rest.len() + 4).unwrap();
    [
        &[6, 0, 0, 0][..],
        &length.to_be_bytes(),
        &flags.to_be_bytes(),
        rest,
    ]
    .concat()
}

#[test]
fn clipboards_that_cannot_be_read_end_the_session() {
    let short = [6, 0, 0, 0, 255, 255, 255, 254, 0, 0];
    check(&short, &ClipboardError::Short.into());
    let flags = 3 << 27;
    check(
        &extended(flags, &[]),
        &ClipboardError::Action { flags }.into(),
    );
    check(
        &extended(1 << 28 | 1, b"nonsense"),
        &ClipboardError::Zlib.into(),
    );
}

#[test]
fn a_bomb_in_a_clipboard_is_counted_and_not_read() {
    let bomb = [&0x4000_0000_u32.to_be_bytes()[..], &vec![0; 64 << 20]].concat();
    let said = extended(1 << 28 | 1, &compress_to_vec_zlib(&bomb, 9));
    assert!(said.len() < 1 << 20);
    let mut between = Between::established();
    between.say(End::Driver, &said).unwrap();
    let acts = between.acts();
    let [capture::input::Input::Clipboard(clipboard)] = acts.as_slice() else {
        panic!("not a clipboard");
    };
    assert_eq!(clipboard.text, None);
    assert_eq!(clipboard.len_bytes, 0x4000_0000);
}

#[test]
fn an_end_that_does_not_wait_is_dropped() {
    let mut between = Between::new(open());
    let end = End::Driver;
    let early = between.say(end, &vec![b'R'; 10_000]);
    assert_eq!(early, Err(RelayError::OutOfTurn { end }));
    let mut between = Between::new(open());
    let end = End::Server;
    let said = [&b"RFB 003.008\n"[..], &[1; 10_000]].concat();
    assert_eq!(between.say(end, &said), Err(RelayError::OutOfTurn { end }));
}

#[test]
fn an_endless_name_is_refused() {
    let mut between = Between::new(open());
    between.say(End::Server, b"RFB 003.008\n\x01\x01").unwrap();
    between.say(End::Driver, b"RFB 003.008\n\x01\x00").unwrap();
    let head = [&[0; 4], &SERVER_INIT[..20], &[255; 4]].concat();
    let len_bytes = u32::MAX;
    let refused = RelayError::Server(Error::NameTooLong { len_bytes });
    assert_eq!(between.say(End::Server, &head), Err(refused));
}

#[test]
fn of_an_endless_reason_only_the_beginning_is_read() {
    let mut between = Between::new(open());
    between.say(End::Server, b"RFB 003.008\n").unwrap();
    between.say(End::Driver, b"RFB 003.008\n").unwrap();
    between.heard(End::Driver);
    let endless = [&[0][..], &[255; 4], &[b'x'; 5000]].concat();
    let said = "x".repeat(4096);
    let refused = RelayError::Server(Error::Refused { said });
    assert_eq!(between.say(End::Server, &endless), Err(refused));
    let told = between.heard(End::Driver);
    assert_eq!(told.len(), 1 + 4 + 4096);
    assert_eq!(told[..5], [0, 0, 0, 16, 0]);
}

#[test]
fn a_driver_that_falls_silent_inside_a_message_is_dropped() {
    let mut between = Between::established();
    between.now_ms = 1_000;
    between.say(End::Driver, &[4, 1]).unwrap();
    between.now_ms = 9_000;
    between.say(End::Driver, &[0]).unwrap();
    between.say(End::Server, b"does not count").unwrap();
    let late = RelayError::Driver(DriverError::MessageTimeout);
    assert_eq!(between.wait(), Err(late));
    assert_eq!(between.now_ms, 9_000 + 15_000);
    assert_eq!(between.heard(End::Server), b"");
}

#[test]
fn a_connection_that_breaks_off_is_told_with_its_end() {
    let messages: [&[u8]; 6] = [
        &[0, 0, 0, 0, 32],
        &[2, 0, 0, 9, 0],
        &[3, 1],
        &[4, 1, 0],
        &[6, 0, 0, 0, 0, 0, 0, 9, b'x'],
        &[255, 0],
    ];
    let closed = |inside_message| RelayError::Driver(DriverError::Closed { inside_message });
    for message in messages {
        let mut between = Between::established();
        between.say(End::Driver, message).unwrap();
        assert_eq!(between.relay.handle_close(End::Driver), closed(true));
        between.drain();
        assert_eq!(between.heard(End::Server), b"", "no half message goes on");
    }
    let mut between = Between::established();
    assert_eq!(between.relay.handle_close(End::Driver), closed(false));
    let mut between = Between::established();
    let inside_message = false;
    let closed = RelayError::Server(Error::Closed { inside_message });
    assert_eq!(between.relay.handle_close(End::Server), closed);
    assert_eq!(between.relay.handle_close(End::Driver), closed, "the first");
}
