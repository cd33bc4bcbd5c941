//! Handshakes that are relayed: each version and sign-in, and how refusals come through.

use capture::{Size, source::ErrorKind};
use capture_vnc::{
    DriverError, Error,
    proxy::{End, RelayError},
};

use crate::between::{Between, CHALLENGE, RESPONSE, SERVER_INIT, check, driver, open, server};

const V3_3: &[u8] = b"RFB 003.003\n";
const V3_7: &[u8] = b"RFB 003.007\n";
const V3_8: &[u8] = b"RFB 003.008\n";
const APPLE: &[u8] = b"RFB 003.889\n";
const OK: &[u8] = &[0; 4];
const FAILED: &[u8] = &[0, 0, 0, 1];
const NONE_3_3: &[u8] = &[0, 0, 0, 1];
const PASSWORD_3_3: &[u8] = &[0, 0, 0, 2];

fn check_established(script: &[crate::between::Turn<'_>]) {
    let between = check(&open(), script, &Ok(()));
    assert!(between.relay.is_established());
    assert_eq!(between.relay.size(), Some(Size::new(320, 200)));
    assert_eq!(between.relay.poll_timeout(), None);
}

#[test]
fn no_security_is_relayed_in_each_version() {
    check_established(&[
        server(V3_8, V3_8, V3_8),
        driver(V3_8, &[], &[]),
        server(&[1, 1], &[1, 1], &[]),
        driver(&[1], &[], &[1]),
        server(OK, OK, &[]),
        driver(&[0], &[], &[1]),
        server(&SERVER_INIT, &SERVER_INIT, &[]),
    ]);
    check_established(&[
        server(V3_7, V3_7, V3_7),
        driver(V3_7, &[], &[]),
        server(&[1, 1], &[1, 1], &[]),
        driver(&[1], &[], &[1]),
        driver(&[1], &[], &[1]),
        server(&SERVER_INIT, &SERVER_INIT, &[]),
    ]);
    check_established(&[
        server(V3_3, V3_3, V3_3),
        driver(V3_3, &[], &[]),
        server(NONE_3_3, NONE_3_3, &[]),
        driver(&[0], &[], &[1]),
        server(&SERVER_INIT, &SERVER_INIT, &[]),
    ]);
}

#[test]
fn a_password_passes_through_in_each_version() {
    for version in [V3_7, V3_8] {
        check_established(&[
            server(version, version, version),
            driver(version, &[], &[]),
            server(&[1, 2], &[1, 2], &[]),
            driver(&[2], &[], &[2]),
            server(&CHALLENGE, &CHALLENGE, &[]),
            driver(&RESPONSE, &[], &RESPONSE),
            server(OK, OK, &[]),
            driver(&[0], &[], &[1]),
            server(&SERVER_INIT, &SERVER_INIT, &[]),
        ]);
    }
    check_established(&[
        server(V3_3, V3_3, V3_3),
        driver(V3_3, &[], &[]),
        server(PASSWORD_3_3, PASSWORD_3_3, &[]),
        server(&CHALLENGE, &CHALLENGE, &[]),
        driver(&RESPONSE, &[], &RESPONSE),
        server(OK, OK, &[]),
        driver(&[0], &[], &[1]),
        server(&SERVER_INIT, &SERVER_INIT, &[]),
    ]);
}

#[test]
fn an_older_driver_is_spoken_to_as_it_speaks() {
    check_established(&[
        server(V3_8, V3_8, V3_8),
        driver(V3_3, &[], &[]),
        server(&[2, 19, 2], PASSWORD_3_3, &[2]),
        server(&CHALLENGE, &CHALLENGE, &[]),
        driver(&RESPONSE, &[], &RESPONSE),
        server(OK, OK, &[]),
        driver(&[1], &[], &[1]),
        server(&SERVER_INIT, &SERVER_INIT, &[]),
    ]);
    check_established(&[
        server(V3_8, V3_8, V3_8),
        driver(V3_7, &[], &[]),
        server(&[1, 1], &[1, 1], &[]),
        driver(&[1], &[], &[1]),
        server(OK, &[], &[]),
        driver(&[1], &[], &[1]),
        server(&SERVER_INIT, &SERVER_INIT, &[]),
    ]);
}

#[test]
fn a_mac_is_offered_in_a_version_that_drivers_know() {
    check_established(&[
        server(APPLE, V3_8, APPLE),
        driver(APPLE, &[], &[]),
        server(&[3, 30, 2, 36], &[1, 2], &[]),
        driver(&[2], &[], &[2]),
        server(&CHALLENGE, &CHALLENGE, &[]),
        driver(&RESPONSE, &[], &RESPONSE),
        server(OK, OK, &[]),
        driver(&[0], &[], &[1]),
        server(&SERVER_INIT, &SERVER_INIT, &[]),
    ]);
}

#[test]
fn an_end_that_speaks_early_is_heard_in_its_turn() {
    let mut between = Between::new(open());
    between.say(End::Driver, b"RFB 003.008\n\x01\x00").unwrap();
    assert_eq!(between.heard(End::Driver), b"");
    let all = [V3_8, &[1, 1], OK, &SERVER_INIT, b"\x02"].concat();
    between.say(End::Server, &all).unwrap();
    assert!(between.relay.is_established());
    assert_eq!(between.heard(End::Driver), all);
    assert_eq!(between.heard(End::Server), [V3_8, &[1], &[1]].concat());
}

#[test]
fn a_wrong_password_is_refused_with_the_servers_words() {
    let said = b"\0\0\0\x05sorry";
    let refused = |said: &str| {
        let said = said.into();
        Err(RelayError::Server(Error::PasswordRefused { said }))
    };
    let script = |version, driver_hears| {
        [
            server(V3_8, V3_8, V3_8),
            driver(version, &[], &[]),
            server(&[1, 2], &[1, 2], &[]),
            driver(&[2], &[], &[2]),
            server(&CHALLENGE, &CHALLENGE, &[]),
            driver(&[0; 16], &[], &[0; 16]),
            server(FAILED, FAILED, &[]),
            server(said, driver_hears, &[]),
        ]
    };
    check(&open(), &script(V3_8, said), &refused("sorry"));
    check(&open(), &script(V3_7, &[]), &refused("sorry"));
    let without_reason = [
        server(V3_3, V3_3, V3_3),
        driver(V3_3, &[], &[]),
        server(PASSWORD_3_3, PASSWORD_3_3, &[]),
        server(&CHALLENGE, &CHALLENGE, &[]),
        driver(&[0; 16], &[], &[0; 16]),
        server(FAILED, FAILED, &[]),
    ];
    check(&open(), &without_reason, &refused(""));
}

#[test]
fn a_refused_connection_is_explained_to_the_driver() {
    let refused = Err(RelayError::Server(Error::Refused {
        said: "busy".into(),
    }));
    for (version, refusal) in [
        (V3_8, b"\0\0\0\0\x04busy".as_slice()),
        (V3_7, b"\0\0\0\0\x04busy"),
        (V3_3, b"\0\0\0\0\0\0\0\x04busy"),
    ] {
        let script = [
            server(V3_8, V3_8, V3_8),
            driver(version, &[], &[]),
            server(b"\0\0\0\0\x04busy", refusal, &[]),
        ];
        check(&open(), &script, &refused);
    }
}

#[test]
fn a_driver_that_cannot_be_understood_is_told_apart() {
    let greeted = server(V3_8, V3_8, V3_8);
    let ended = |error: DriverError| Err(RelayError::Driver(error));
    let script = [greeted, driver(b"GET / HTTP/1.1\r\n", &[], &[])];
    check(&open(), &script, &ended(DriverError::NotRfb));
    let (major, minor) = (2, 0);
    let script = [server(V3_8, V3_8, V3_8), driver(b"RFB 002.000\n", &[], &[])];
    let unsupported = DriverError::VersionUnsupported { major, minor };
    check(&open(), &script, &ended(unsupported));
    let script = [
        server(V3_8, V3_8, V3_8),
        driver(V3_8, &[], &[]),
        server(&[2, 1, 19], &[1, 1], &[]),
        driver(&[19], &[], &[]),
    ];
    let choice = DriverError::SecurityChoice { kind: 19 };
    check(&open(), &script, &ended(choice));
}

#[test]
fn what_cannot_be_relayed_nor_signed_in_to_is_named() {
    let explained =
        b"\0\0\0\0\x49server offers only security types [19, 5], none of them supported";
    let explained = [&[0][..], &[0, 0, 0, 65], &explained[5..]].concat();
    let script = [
        server(V3_8, V3_8, V3_8),
        driver(V3_8, &[], &[]),
        server(&[2, 19, 5], &explained, &[]),
    ];
    let offered = vec![19, 5];
    let error = RelayError::Server(Error::SecurityUnsupported { offered });
    check(&open(), &script, &Err(error));
}

/// The end whose silence after `said` ends the relay, and when.
fn check_silence(said: &[(End, &[u8])], end: End, at_ms: u64) {
    let mut between = Between::new(open());
    for &(from, bytes) in said {
        between.say(from, bytes).unwrap();
    }
    let error = between.wait().unwrap_err();
    assert_eq!((error.end(), between.now_ms), (end, at_ms), "{error}");
    assert_eq!(between.say(End::Server, &[]), Err(error));
}

#[test]
fn silence_ends_each_part_of_the_handshake() {
    let said: [(End, &[u8]); 7] = [
        (End::Server, V3_8),
        (End::Driver, V3_8),
        (End::Server, &[1, 2]),
        (End::Driver, &[2]),
        (End::Server, &CHALLENGE),
        (End::Driver, &RESPONSE),
        (End::Server, OK),
    ];
    let waits = [
        (End::Server, 10_000),
        (End::Driver, 10_000),
        (End::Server, 10_000),
        (End::Driver, 60_000),
        (End::Server, 10_000),
        (End::Driver, 60_000),
        (End::Server, 10_000),
        (End::Driver, 10_000),
    ];
    for (count, (end, at_ms)) in waits.into_iter().enumerate() {
        check_silence(&said[..count], end, at_ms);
    }
}

#[test]
fn a_refusal_without_its_reason_is_still_one() {
    let mut between = Between::new(open());
    between.say(End::Server, b"RFB 003.008\n\x00").unwrap();
    between.say(End::Driver, V3_8).unwrap();
    let said = String::new();
    let refused = RelayError::Server(Error::Refused { said });
    assert_eq!(between.relay.handle_close(End::Server), refused);
    assert_eq!(refused.end(), End::Server);
    let RelayError::Server(error) = refused else {
        unreachable!("shown above");
    };
    assert_eq!(error.kind(), ErrorKind::Refused);
}
