//! VeNCrypt, up to where the caller encrypts the connection and from there on.

use capture::Size;
use capture_vnc::{Config, Error, Password, Tls, TlsRequest, limits};

use crate::{
    client::Client,
    server::{all, server_init},
};

const TLS_VNC: u32 = 258;
const X509_NONE: u32 = 260;
const X509_VNC: u32 = 261;
const X509_PLAIN: u32 = 262;

/// Up to the server's taking of VeNCrypt 0.2.
const OPENING: [u8; 17] = *b"RFB 003.008\n\x01\x13\0\x02\0";

fn config(tls: Tls, user: Option<&str>) -> Config {
    Config {
        user: user.map(Into::into),
        password: Some(Password::new("secret".into())),
        tls: Some(tls),
        ..Config::default()
    }
}

fn offer(types: &[u32]) -> Vec<u8> {
    let types: Vec<u8> = types.iter().flat_map(|kind| kind.to_be_bytes()).collect();
    all(&[&[u8::try_from(types.len() / 4).unwrap()], &types])
}

/// A client that waits to be encrypted, of a server that offers only `kind`.
fn waiting(config: Config, kind: u32, anonymous: bool) -> Client {
    let mut client = Client::new(config);
    client.hear(&OPENING).unwrap();
    assert_eq!(client.sent(), b"RFB 003.008\n\x13\0\x02");
    client.hear(&offer(&[kind])).unwrap();
    assert_eq!(client.sent(), kind.to_be_bytes());
    assert_eq!(client.session.poll_upgrade(), None);
    client.hear(&[1]).unwrap();
    let request = TlsRequest { anonymous };
    assert_eq!(client.session.poll_upgrade(), Some(request));
    assert!(client.sent().is_empty());
    client
}

fn upgraded(config: Config, kind: u32, anonymous: bool) -> Client {
    let mut client = waiting(config, kind, anonymous);
    client.session.handle_upgraded(client.now_ms).unwrap();
    assert_eq!(client.session.poll_upgrade(), None);
    client.hear(&[]).unwrap();
    client
}

/// The server lets the client in.
fn let_in(client: &mut Client) {
    client.hear(&[0; 4]).unwrap();
    assert_eq!(client.sent(), [1]);
    client
        .hear(&server_init(Size::new(64, 64), "desk"))
        .unwrap();
    assert_eq!(client.session.server_name(), Some("desk"));
}

#[test]
fn name_and_password_go_through_a_certified_connection() {
    let mut client = upgraded(config(Tls::Certified, Some("ada")), X509_PLAIN, false);
    assert_eq!(client.sent(), b"\0\0\0\x03\0\0\0\x06adasecret");
    let_in(&mut client);
}

#[test]
fn the_password_alone_answers_a_challenge() {
    for (tls, kind, anonymous) in [
        (Tls::Certified, X509_VNC, false),
        (Tls::Anonymous, X509_VNC, false),
        (Tls::Anonymous, TLS_VNC, true),
    ] {
        let mut client = upgraded(config(tls, None), kind, anonymous);
        client.hear(&[7; 16]).unwrap();
        assert_eq!(client.sent().len(), 16);
        let_in(&mut client);
    }
}

#[test]
fn a_certified_connection_may_need_no_sign_in() {
    let mut client = upgraded(config(Tls::Certified, None), X509_NONE, false);
    assert!(client.sent().is_empty());
    let_in(&mut client);
}

#[test]
fn a_wrong_password_is_refused_through_the_encryption() {
    let mut client = upgraded(config(Tls::Certified, Some("ada")), X509_PLAIN, false);
    let said = "no".into();
    let heard = client.hear(&all(&[&[0, 0, 0, 1], &[0, 0, 0, 2], b"no"]));
    assert_eq!(heard, Err(Error::PasswordRefused { said }));
}

/// How a session ends that hears `heard`.
fn check_end(config: Config, heard: &[&[u8]], expected: Error) {
    let mut client = Client::new(config);
    assert_eq!(client.hear(&all(heard)), Err(expected));
}

#[test]
fn nothing_said_before_the_encryption_is_believed() {
    let heard: &[&[u8]] = &[&OPENING, &offer(&[X509_NONE]), &[1], &[0; 4]];
    let certified = config(Tls::Certified, None);
    check_end(certified.clone(), heard, Error::UnencryptedBytes);
    let mut client = waiting(certified, X509_NONE, false);
    assert_eq!(client.hear(&[0]), Err(Error::UnencryptedBytes));
}

#[test]
fn encryption_that_is_asked_for_is_never_done_without() {
    let certified = || config(Tls::Certified, Some("ada"));
    let offered = vec![1, 2];
    let plain: &[&[u8]] = &[b"RFB 003.008\n", &[2, 1, 2]];
    check_end(certified(), plain, Error::SecurityUnsupported { offered });
    let offered = vec![2];
    let old: &[&[u8]] = &[b"RFB 003.003\n", &[0, 0, 0, 2]];
    check_end(certified(), old, Error::SecurityUnsupported { offered });
    let offered = vec![TLS_VNC];
    let anonymous: &[&[u8]] = &[&OPENING, &offer(&[TLS_VNC])];
    check_end(
        certified(),
        anonymous,
        Error::VencryptUnsupported { offered },
    );
}

#[test]
fn encryption_that_is_not_asked_for_is_not_begun() {
    let offered = vec![19];
    let heard: &[&[u8]] = &[b"RFB 003.008\n", &[1, 19]];
    check_end(
        Config::default(),
        heard,
        Error::SecurityUnsupported { offered },
    );
}

#[test]
fn a_server_that_cannot_agree_is_told_apart() {
    let certified = || config(Tls::Certified, None);
    let begin = b"RFB 003.008\n\x01\x13".as_slice();
    let (major, minor) = (0, 1);
    check_end(
        certified(),
        &[begin, &[0, 1]],
        Error::VencryptVersion { major, minor },
    );
    check_end(certified(), &[begin, &[0, 2, 1]], Error::VencryptRefused);
    let offered = vec![];
    check_end(
        certified(),
        &[&OPENING, &[0]],
        Error::VencryptUnsupported { offered },
    );
    let refused: &[&[u8]] = &[&OPENING, &offer(&[X509_VNC]), &[0]];
    check_end(certified(), refused, Error::VencryptRefused);
}

#[test]
fn an_encryption_that_is_never_done_is_given_up() {
    let mut client = waiting(config(Tls::Certified, None), X509_NONE, false);
    let late = client.wait_until(limits::HANDSHAKE_MS);
    assert_eq!(late, Err(Error::HandshakeTimeout));
    assert_eq!(client.session.poll_upgrade(), None);
    let upgraded = client.session.handle_upgraded(client.now_ms);
    assert_eq!(upgraded, Err(Error::HandshakeTimeout));
}
