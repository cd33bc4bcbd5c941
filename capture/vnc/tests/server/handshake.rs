//! How clients of each version sign in, with a password and without.

use capture::Size;
use capture_vnc::{Config, DriverError, Error, Password, Session, server};

use crate::pair::{CHALLENGE, config};

const SIZE: Size = Size::new(320, 200);

/// What the server says to a client that says `turns`, each in pieces of one byte.
fn check(password: Option<&str>, turns: &[(&[u8], &[u8])], end: &Result<(), DriverError>) {
    let mut session = server::Session::new(config(SIZE, password), 0);
    assert_eq!(session.poll_transmit().unwrap(), b"RFB 003.008\n");
    for (at, (says, hears)) in turns.iter().enumerate() {
        let mut heard = Ok(());
        for byte in says.chunks(1) {
            heard = heard.and_then(|()| session.handle_bytes(0, byte));
        }
        let last = at + 1 == turns.len();
        assert_eq!(&heard, if last { end } else { &Ok(()) }, "turn {at}");
        assert_eq!(session.poll_transmit().unwrap_or_default(), *hears);
    }
    assert_eq!(session.is_serving(), end.is_ok());
}

const SERVER_INIT: &[u8] =
    b"\x01\x40\x00\xc8\x20\x18\x00\x01\x00\xff\x00\xff\x00\xff\x10\x08\x00\0\0\0\0\0\0\x04desk";

#[test]
fn clients_of_each_version_are_let_in() {
    let v3_8: &[(&[u8], &[u8])] = &[
        (b"RFB 003.008\n", &[1, 1]),
        (&[1], &[0; 4]),
        (&[0], SERVER_INIT),
    ];
    check(None, v3_8, &Ok(()));
    let v3_7: &[(&[u8], &[u8])] = &[
        (b"RFB 003.007\n", &[1, 1]),
        (&[1], &[]),
        (&[1], SERVER_INIT),
    ];
    check(None, v3_7, &Ok(()));
    let v3_3: &[(&[u8], &[u8])] = &[(b"RFB 003.003\n", &[0, 0, 0, 1]), (&[1], SERVER_INIT)];
    check(None, v3_3, &Ok(()));
    let kind = 2;
    let other: &[(&[u8], &[u8])] = &[(b"RFB 003.008\n", &[1, 1]), (&[kind], &[])];
    check(None, other, &Err(DriverError::SecurityChoice { kind }));
    check(None, &[(b"GET ", &[])], &Err(DriverError::NotRfb));
    check(None, &[(b"RFB: ", &[])], &Err(DriverError::NotRfb));
}

#[test]
fn a_wrong_password_is_refused() {
    let wrong = Err(DriverError::PasswordWrong);
    let v3_8: &[(&[u8], &[u8])] = &[
        (b"RFB 003.008\n", &[1, 2]),
        (&[2], &CHALLENGE),
        (&[0; 16], b"\0\0\0\x01\0\0\0\x15the password is wrong"),
    ];
    check(Some("secret"), v3_8, &wrong);
    let v3_3: &[(&[u8], &[u8])] = &[
        (b"RFB 003.003\n", &[&[0, 0, 0, 2][..], &CHALLENGE].concat()),
        (&[0; 16], &[0, 0, 0, 1]),
    ];
    check(Some("secret"), v3_3, &wrong);
}

/// Whether our own client gets in with this password.
fn sign_in(password: &str) -> Result<(), Error> {
    let mut server = server::Session::new(config(SIZE, Some("secret")), 0);
    let mut client = Session::new(
        Config {
            password: Some(Password::new(password.into())),
            ..Config::default()
        },
        0,
    );
    let mut screen = capture::Framebuffer::new(SIZE, 0).unwrap();
    while let Some(bytes) = server.poll_transmit() {
        client.handle_bytes(0, &bytes, &mut screen)?;
        while let Some(bytes) = client.poll_transmit() {
            server.handle_bytes(0, &bytes).ok();
        }
    }
    assert_eq!(client.server_name(), Some("desk"));
    Ok(())
}

#[test]
fn our_own_client_gets_in_with_the_password() {
    assert_eq!(sign_in("secret"), Ok(()));
    let said = "the password is wrong".into();
    assert_eq!(sign_in("guess"), Err(Error::PasswordRefused { said }));
}

#[test]
fn a_client_that_does_not_sign_in_is_dropped() {
    let mut session = server::Session::new(config(SIZE, None), 5);
    assert_eq!(session.poll_timeout(), Some(60_005));
    let late = Err(DriverError::HandshakeTimeout);
    assert_eq!(session.handle_timeout(60_005), late);
    assert_eq!(session.handle_bytes(60_006, b"RFB 003.008\n"), late);
}
