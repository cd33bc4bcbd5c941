//! Servers whose sign-in cannot be relayed: the relay signs in, then the driver does so with it.

use capture_vnc::{
    DriverError, Error, Password, Random, Tls, TlsRequest,
    proxy::{End, RelayConfig, RelayError},
};

use crate::between::{Between, CHALLENGE, RESPONSE, SERVER_INIT, open};

const VERSION: &[u8] = b"RFB 003.008\n";

/// VeNCrypt: `X509None` and `X509Vnc`.
const X509_NONE: [u8; 4] = [0, 0, 1, 4];
const X509_VNC: [u8; 4] = [0, 0, 1, 5];

fn encrypted(password: Option<&str>) -> RelayConfig {
    RelayConfig {
        password: password.map(|password| Password::new(password.into())),
        tls: Some(Tls::Certified),
        ..open()
    }
}

/// A relay that has encrypted its connection to a server which offers plain VNC too, and a driver
/// that speaks `version` and waits.
fn upgraded(config: RelayConfig, version: &[u8], subtype: [u8; 4]) -> Between {
    let mut between = Between::new(config);
    between.say(End::Server, VERSION).unwrap();
    between.say(End::Driver, version).unwrap();
    between.say(End::Server, &[3, 1, 2, 19]).unwrap();
    between.say(End::Server, &[0, 2]).unwrap();
    between
        .say(End::Server, &[&[0, 1][..], &subtype].concat())
        .unwrap();
    let said = [VERSION, &[19], &[0, 2], &subtype].concat();
    assert_eq!(between.heard(End::Server), said);
    assert_eq!(between.relay.poll_upgrade(), None);
    between.say(End::Server, &[1]).unwrap();
    let request = TlsRequest { anonymous: false };
    assert_eq!(between.relay.poll_upgrade(), Some(request));
    between.relay.handle_upgraded(0).unwrap();
    assert_eq!(between.relay.poll_upgrade(), None);
    assert_eq!(
        between.heard(End::Driver),
        VERSION,
        "nothing is offered yet"
    );
    between
}

/// The server lets the relay in and tells it of the desktop.
fn let_in(between: &mut Between) {
    between.say(End::Server, &[0; 4]).unwrap();
    assert_eq!(between.heard(End::Server), [1], "shared");
    between.say(End::Server, &SERVER_INIT).unwrap();
    assert!(!between.relay.is_established());
}

#[test]
fn an_encrypted_server_without_sign_in_asks_the_driver_for_none() {
    for (version, offered, chosen, confirmed) in [
        (b"RFB 003.008\n", &[1, 1][..], &[1][..], &[0; 4][..]),
        (b"RFB 003.007\n", &[1, 1], &[1], &[]),
        (b"RFB 003.003\n", &[0, 0, 0, 1], &[], &[]),
    ] {
        let mut between = upgraded(encrypted(None), version, X509_NONE);
        let_in(&mut between);
        assert_eq!(between.heard(End::Driver), offered);
        between.say(End::Driver, chosen).unwrap();
        assert_eq!(between.heard(End::Driver), confirmed);
        between.say(End::Driver, &[0]).unwrap();
        assert_eq!(between.heard(End::Driver), SERVER_INIT);
        assert!(between.relay.is_established());
    }
}

/// What a driver of `version` is asked and told that answers `response` to the challenge.
fn check_password(
    version: &[u8],
    asked: &[u8],
    chosen: &[u8],
    response: [u8; 16],
    told: &[u8],
    end: &Result<(), RelayError>,
) {
    let mut between = upgraded(encrypted(Some("secret")), version, X509_VNC);
    between.say(End::Server, &[7; 16]).unwrap();
    assert_eq!(between.heard(End::Server).len(), 16, "our own answer");
    let_in(&mut between);
    assert_eq!(between.heard(End::Driver), asked);
    between.say(End::Driver, chosen).unwrap();
    if !chosen.is_empty() {
        assert_eq!(between.heard(End::Driver), CHALLENGE);
    }
    assert_eq!(&between.say(End::Driver, &response), end);
    assert_eq!(between.heard(End::Driver), told);
    if end.is_ok() {
        between.say(End::Driver, &[1]).unwrap();
        assert_eq!(between.heard(End::Driver), SERVER_INIT);
        assert!(between.relay.is_established());
    }
}

#[test]
fn a_driver_must_know_the_password_the_relay_signed_in_with() {
    let old = [&[0, 0, 0, 2][..], &CHALLENGE].concat();
    let ok = &[0; 4];
    check_password(VERSION, &[1, 2], &[2], RESPONSE, ok, &Ok(()));
    check_password(b"RFB 003.003\n", &old, &[], RESPONSE, ok, &Ok(()));

    let wrong = Err(RelayError::Driver(DriverError::PasswordWrong));
    let mut nearly = RESPONSE;
    nearly[15] ^= 1;
    let told = b"\0\0\0\x01\0\0\0\x15the password is wrong";
    check_password(VERSION, &[1, 2], &[2], nearly, told, &wrong);
    let told = &[0, 0, 0, 1];
    check_password(b"RFB 003.003\n", &old, &[], [0; 16], told, &wrong);
}

#[test]
fn a_mac_is_signed_in_to_with_the_account() {
    let mut between = Between::new(RelayConfig {
        user: Some("ada".into()),
        password: Some(Password::new("secret".into())),
        random: Some(Random::new([9; Random::BYTES])),
        ..open()
    });
    between
        .say(End::Server, b"RFB 003.889\n\x02\x1e\x21")
        .unwrap();
    between.say(End::Driver, VERSION).unwrap();
    assert_eq!(between.heard(End::Server), b"RFB 003.889\n\x1e");
    // A generator, and a prime and a public key of 64 bytes that pass for such.
    let numbers = [&[0, 2, 0, 64][..], &[0xff; 64], &[0x55; 64]].concat();
    between.say(End::Server, &numbers).unwrap();
    assert_eq!(between.heard(End::Server).len(), 128 + 64);
    between.heard(End::Driver);
    let_in(&mut between);
    assert_eq!(between.heard(End::Driver), [1, 2]);
    between.say(End::Driver, &[2]).unwrap();
    between.say(End::Driver, &RESPONSE).unwrap();
    between.say(End::Driver, &[0]).unwrap();
    let heard = [&CHALLENGE[..], &[0; 4], &SERVER_INIT].concat();
    assert_eq!(between.heard(End::Driver), heard);
}

#[test]
fn a_driver_is_told_why_the_relay_was_not_let_in() {
    let mut between = upgraded(encrypted(Some("secret")), VERSION, X509_VNC);
    between.say(End::Server, &[7; 16]).unwrap();
    let refusal = b"\0\0\0\x01\0\0\0\x02no";
    let said = "no".into();
    let refused = RelayError::Server(Error::PasswordRefused { said });
    assert_eq!(between.say(End::Server, refusal), Err(refused));
    assert_eq!(between.heard(End::Driver), b"\0\0\0\0\x02no");

    let mut between = upgraded(encrypted(None), b"RFB 003.003\n", X509_NONE);
    let late = RelayError::Server(Error::HandshakeTimeout);
    assert_eq!(between.wait(), Err(late));
    let why = "server did not finish the handshake within 10 s";
    let told = [&[0, 0, 0, 0, 0, 0, 0, 47], why.as_bytes()].concat();
    assert_eq!(between.heard(End::Driver), told);
}

#[test]
fn nothing_said_before_the_encryption_is_believed() {
    let mut between = Between::new(encrypted(None));
    between.say(End::Driver, VERSION).unwrap();
    let said = [VERSION, b"\x01\x13\0\x02\0\x01", &X509_NONE, &[1], &[0; 4]].concat();
    let error = RelayError::Server(Error::UnencryptedBytes);
    assert_eq!(between.say(End::Server, &said), Err(error));
}
