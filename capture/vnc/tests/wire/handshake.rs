//! Versions, security and refusals (RFC 6143 sections 7.1–7.3).

use capture::{
    GapReason, Size,
    source::{ErrorKind, SourceEvent},
};
use capture_vnc::{Config, Error, Password, limits};

use crate::{
    client::Client,
    server::{all, opening, server_init, server_init_head},
};

const SIZE: Size = Size::new(320, 200);

fn with_password() -> Config {
    Config {
        password: Some(Password::new("secret".into())),
        ..Config::default()
    }
}

/// What the client answers to `heard`; it must then be connected to the desktop.
fn check_answer(config: Config, heard: &[&[u8]], expected: &[&[u8]]) {
    let mut client = Client::new(config);
    client.hear(&all(heard)).unwrap();
    client.hear(&server_init(SIZE, "desk")).unwrap();
    let sent = client.sent();
    let expected = expected.concat();
    assert_eq!(
        sent.get(..expected.len()),
        Some(expected.as_slice()),
        "{sent:?}"
    );
    let start = SourceEvent::Start {
        size: SIZE,
        server_name: "desk".into(),
    };
    assert_eq!(client.events(), [start]);
    assert_eq!(client.screen.size(), SIZE);
}

/// How a session ends that hears `heard`.
fn check_end(config: Config, heard: &[&[u8]], expected: &Error) {
    let mut client = Client::new(config);
    assert_eq!(client.hear(&all(heard)), Err(expected.clone()));
    assert_eq!(
        client.hear(&[0]),
        Err(expected.clone()),
        "an ended session stays ended"
    );
    assert_eq!(client.session.poll_timeout(), None);
}

const ANSWER: [u8; 16] = [
    0xf1, 0x9b, 0x50, 0x47, 0x1f, 0x60, 0xf4, 0x22, 0x98, 0xe5, 0xc0, 0x14, 0x7d, 0xb5, 0x0e, 0x1e,
];
const CHALLENGE: [u8; 16] = [
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
];

#[test]
fn each_version_is_spoken_as_it_was_published() {
    let open = Config::default;
    let v3_3: &[&[u8]] = &[b"RFB 003.003\n", &[0, 0, 0, 1]];
    check_answer(open(), v3_3, &[b"RFB 003.003\n", &[1]]);
    let v3_7: &[&[u8]] = &[b"RFB 003.007\n", &[1, 1]];
    check_answer(open(), v3_7, &[b"RFB 003.007\n", &[1], &[1]]);
    let v3_8: &[&[u8]] = &[b"RFB 003.008\n", &[1, 1], &[0; 4]];
    check_answer(open(), v3_8, &[b"RFB 003.008\n", &[1], &[1]]);
}

#[test]
fn unpublished_versions_are_spoken_as_the_nearest_published_one() {
    for (announced, spoken) in [
        (b"RFB 003.005\n", b"RFB 003.003\n"),
        (b"RFB 003.889\n", b"RFB 003.889\n"),
        (b"RFB 003.890\n", b"RFB 003.008\n"),
        (b"RFB 004.001\n", b"RFB 003.008\n"),
    ] {
        let mut client = Client::new(Config::default());
        client.hear(announced).unwrap();
        assert_eq!(client.sent(), spoken);
    }
}

#[test]
fn the_password_answers_the_challenge_in_each_version() {
    for (version, choice, chosen) in [
        (b"RFB 003.003\n", [0, 0, 0, 2].as_slice(), [].as_slice()),
        (b"RFB 003.007\n", &[2, 1, 2], &[2]),
        (b"RFB 003.008\n", &[2, 1, 2], &[2]),
    ] {
        let heard: &[&[u8]] = &[version, choice, &CHALLENGE, &[0; 4]];
        check_answer(with_password(), heard, &[version, chosen, &ANSWER, &[1]]);
    }
}

#[test]
fn a_desktop_is_asked_for_whole_in_bgrx() {
    let mut client = Client::new(Config::default());
    client.hear(&opening(SIZE)).unwrap();
    let sent = client.sent();
    let whole = [3, 0, 0, 0, 0, 0, 1, 64, 0, 200];
    assert!(sent.ends_with(&whole), "{sent:?}");
    let encodings_at = 12 + 1 + 1 + 20;
    assert_eq!(sent[encodings_at..encodings_at + 4], [2, 0, 0, 8]);
}

#[test]
fn refusals_are_told_apart() {
    let explained = |said: &str| all(&[&[0, 0, 0, 4], said.as_bytes()]);
    let said = || "busy".to_owned();

    let none_offered: &[&[u8]] = &[b"RFB 003.008\n", &[0], &explained("busy")];
    check_end(
        Config::default(),
        none_offered,
        &Error::Refused { said: said() },
    );
    let failed: &[&[u8]] = &[b"RFB 003.003\n", &[0; 4], &explained("busy")];
    check_end(Config::default(), failed, &Error::Refused { said: said() });

    let signed_in: &[&[u8]] = &[b"RFB 003.008\n", &[1, 2], &CHALLENGE];
    let with = |end: &[&[u8]]| all(&[&signed_in.concat(), &end.concat()]);
    let wrong = with(&[&[0, 0, 0, 1], &explained("busy")]);
    check_end(
        with_password(),
        &[&wrong],
        &Error::PasswordRefused { said: said() },
    );
    let too_many = with(&[&[0, 0, 0, 2], &explained("busy")]);
    check_end(
        with_password(),
        &[&too_many],
        &Error::TooManyAttempts { said: said() },
    );

    let silent: &[&[u8]] = &[b"RFB 003.007\n", &[1, 2], &CHALLENGE, &[0, 0, 0, 1]];
    let said = String::new();
    check_end(with_password(), silent, &Error::PasswordRefused { said });
}

#[test]
fn what_cannot_be_agreed_on_is_named() {
    let needs_password: &[&[u8]] = &[b"RFB 003.008\n", &[1, 2]];
    check_end(Config::default(), needs_password, &Error::PasswordRequired);
    let needs_password: &[&[u8]] = &[b"RFB 003.003\n", &[0, 0, 0, 2]];
    check_end(Config::default(), needs_password, &Error::PasswordRequired);

    let encrypted: &[&[u8]] = &[b"RFB 003.008\n", &[2, 19, 33]];
    let offered = vec![19, 33];
    check_end(
        with_password(),
        encrypted,
        &Error::SecurityUnsupported { offered },
    );
    let odd: &[&[u8]] = &[b"RFB 003.008\n", &[1, 1], &[0, 0, 0, 9]];
    check_end(Config::default(), odd, &Error::SecurityResult { code: 9 });
    let odd: &[&[u8]] = &[b"RFB 003.003\n", &[1, 0, 0, 0]];
    let kind = 1 << 24;
    check_end(Config::default(), odd, &Error::SecurityChoice { kind });
}

#[test]
fn something_else_than_rfb_is_recognised_from_its_first_bytes() {
    for heard in [
        b"SSH-2.0-OpenSSH\r\n".as_slice(),
        b"HT",
        b"RFB 3.8\n\0\0\0\0",
    ] {
        check_end(Config::default(), &[heard], &Error::NotRfb);
    }
    let (major, minor) = (0, 0);
    check_end(
        Config::default(),
        &[b"RFB 000.000\n"],
        &Error::VersionUnsupported { major, minor },
    );
}

#[test]
fn what_speaks_something_else_is_told_by_its_first_bytes_in_any_pieces() {
    let mut client = Client::new(Config::default());
    assert_eq!(client.hear(b"R"), Ok(()));
    assert_eq!(client.hear(b"R"), Err(Error::NotRfb));
}

#[test]
fn a_name_of_any_bytes_is_kept_as_text() {
    let mut client = Client::new(Config::default());
    let name = [b'd', 0xff, b'\n'];
    let heard = all(&[
        b"RFB 003.008\n\x01\x01\0\0\0\0",
        &server_init_head(SIZE, 3),
        &name,
    ]);
    client.hear(&heard).unwrap();
    let start = SourceEvent::Start {
        size: SIZE,
        server_name: "d\u{fffd}\n".into(),
    };
    assert_eq!(client.events(), [start]);
}

#[test]
fn a_handshake_that_does_not_end_is_given_up() {
    let mut client = Client::new(Config::default());
    client.hear(b"RFB 003.008\n").unwrap();
    assert_eq!(client.wait_until(limits::HANDSHAKE_MS - 1), Ok(()));
    assert_eq!(
        client.wait_until(limits::HANDSHAKE_MS),
        Err(Error::HandshakeTimeout)
    );
    assert_eq!(Error::HandshakeTimeout.reason(), GapReason::Stalled);

    let mut dribbling = Client::new(Config::default());
    dribbling.now_ms = limits::HANDSHAKE_MS;
    assert_eq!(dribbling.hear(b"R"), Err(Error::HandshakeTimeout));
}

#[test]
fn a_refusal_whose_reason_never_ends_is_still_a_refusal() {
    let mut client = Client::new(Config::default());
    let heard = all(&[b"RFB 003.008\n", &[0], &u32::MAX.to_be_bytes(), b"because"]);
    client.hear(&heard).unwrap();
    let ended = client.wait_until(limits::HANDSHAKE_MS).unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::Refused);

    let mut client = Client::new(Config::default());
    client.hear(&heard).unwrap();
    let endless = vec![b'a'; 5000];
    let Err(Error::Refused { said }) = client.hear(&endless) else {
        panic!("not refused");
    };
    assert_eq!(said.len(), limits::REFUSAL_BYTES as usize);
}

#[test]
fn a_closed_connection_says_where_it_stood() {
    let closed = |inside_message| Error::Closed { inside_message };
    let mut client = Client::new(Config::default());
    client.hear(b"RFB 003.0").unwrap();
    assert_eq!(client.session.handle_close(), closed(false));

    let mut client = Client::connected(SIZE);
    client.hear(&[0]).unwrap();
    assert_eq!(client.session.handle_close(), closed(true));

    let mut client = Client::new(with_password());
    let heard = all(&[b"RFB 003.008\n", &[1, 2], &CHALLENGE, &[0, 0, 0, 1]]);
    client.hear(&heard).unwrap();
    let said = String::new();
    assert_eq!(
        client.session.handle_close(),
        Error::PasswordRefused { said }
    );
}
