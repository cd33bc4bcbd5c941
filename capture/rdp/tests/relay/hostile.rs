//! What if an end does not play along?

use capture::{Password, source::ErrorKind};
use capture_rdp::{
    Error, limits,
    proxy::{Credentials, DriverError, End, RelayError},
};
use ironrdp_core::{decode, encode_vec};
use ironrdp_pdu::{
    nego::{ConnectionConfirm, ConnectionRequest, FailureCode, RequestFlags, SecurityProtocol},
    x224::X224,
};

use crate::played::{Played, config, dialogue};

#[test]
fn pieces_make_no_difference() {
    let mut whole = Played::open();
    whole.play(|_, _, _| false);
    let mut pieces = Played::open();
    for (end, bytes) in dialogue() {
        for byte in bytes {
            pieces.hear(end, &[*byte]).unwrap();
        }
    }
    assert_eq!(pieces.to_driver, whole.to_driver);
    assert_eq!(pieces.to_server, whole.to_server);
    assert_eq!(pieces.acts, whole.acts);
}

/// Numbers that look random and are the same each time.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % 0xffff_ffff).unwrap() % below
    }
}

#[test]
fn a_changed_byte_is_never_a_panic() {
    let mut number = numbers();
    let dialogue = dialogue();
    for _ in 0..200 {
        let changed = number(dialogue.len());
        let mut played = Played::open();
        for (at, (end, bytes)) in dialogue.iter().enumerate() {
            let mut bytes = bytes.to_vec();
            if at == changed {
                let place = number(bytes.len());
                bytes[place] = u8::try_from(number(256)).unwrap();
            }
            match played.hear(*end, &bytes) {
                Ok(()) => {}
                Err(RelayError::Server(Error::Panicked)) => panic!("message {changed}"),
                Err(_) => break,
            }
        }
    }
}

#[test]
fn what_comes_at_the_wrong_time_is_never_a_panic_and_never_kept_without_bound() {
    let mut number = numbers();
    let dialogue = dialogue();
    for _ in 0..50 {
        let mut played = Played::open();
        let until = number(dialogue.len());
        played.play(|at, _, _| at == until);
        for _ in 0..200 {
            let end = [End::Driver, End::Server][number(2)];
            let (_, bytes) = dialogue[number(dialogue.len())];
            match played.hear(end, bytes) {
                Ok(()) => {}
                Err(RelayError::Server(Error::Panicked)) => panic!("behind message {until}"),
                Err(_) => break,
            }
        }
    }
}

#[test]
fn an_end_that_does_not_wait_for_its_turn_is_cut_off() {
    for end in [End::Driver, End::Server] {
        let mut played = Played::open();
        // The driver has asked for a desktop, and it is the machine's turn; before, the driver's.
        let until = if end == End::Driver { 3 } else { 2 };
        played.play(|at, _, _| at == until);
        assert_eq!(played.relay.wants_bytes(End::Driver), end == End::Server);
        let mut flood = || -> RelayError {
            for _ in 0..1000 {
                if let Err(error) = played.hear(end, &[3; 1024]) {
                    return error;
                }
            }
            panic!("a megabyte is kept")
        };
        assert_eq!(flood(), RelayError::OutOfTurn { end });
    }
}

#[test]
fn silence_ends_a_handshake_wherever_it_begins() {
    for until in 0..25 {
        let mut played = Played::open();
        played.play(|at, _, _| at == until);
        if played.relay.is_established() {
            break;
        }
        let at_ms = played.relay.poll_timeout().unwrap();
        assert!(at_ms <= limits::DRIVER_SIGN_IN_MS + 1);
        assert_eq!(played.relay.handle_timeout(at_ms - 1), Ok(()));
        let late = played.relay.handle_timeout(at_ms).unwrap_err();
        let expected = match &late {
            RelayError::Driver(error) => error.kind(),
            RelayError::Server(error) => error.kind(),
            RelayError::OutOfTurn { .. } => panic!("{late:?}"),
        };
        assert_eq!(expected, ErrorKind::Stalled, "{late:?}");
    }
}

#[test]
fn silence_inside_a_message_ends_it() {
    let late = [
        (End::Driver, RelayError::from(DriverError::MessageTimeout)),
        (End::Server, RelayError::from(Error::MessageTimeout)),
    ];
    for (end, late) in late {
        let mut played = Played::open();
        played.play(|_, _, _| false);
        assert_eq!(played.relay.poll_timeout(), None);
        played.hear(end, &[3, 0]).unwrap();
        let at_ms = played.relay.poll_timeout().unwrap();
        assert_eq!(at_ms, played.now_ms + limits::MESSAGE_SILENCE_MS);
        assert_eq!(played.relay.handle_timeout(at_ms), Err(late));
    }
}

fn asks(protocol: SecurityProtocol) -> Vec<u8> {
    let request = ConnectionRequest {
        nego_data: None,
        flags: RequestFlags::empty(),
        protocol,
        correlation_info: None,
    };
    encode_vec(&X224(request)).unwrap()
}

fn check_refused(insists: bool, offered: SecurityProtocol, error: DriverError, code: FailureCode) {
    let credentials = Credentials {
        user: "operator".into(),
        password: Password::new("battery staple".into()),
    };
    let mut played = Played::new(config(insists.then_some(credentials)));
    let heard = played.hear(End::Driver, &asks(offered));
    assert_eq!(heard, Err(error.into()));
    let X224(confirm) = decode::<X224<ConnectionConfirm>>(&played.to_driver).unwrap();
    assert_eq!(confirm, ConnectionConfirm::Failure { code });
    assert!(
        played.to_server.is_empty(),
        "the machine hears nothing of it"
    );
}

#[test]
fn a_driver_that_cannot_prove_itself_is_told_what_it_lacks() {
    let (nla, tls) = (
        FailureCode::HYBRID_REQUIRED_BY_SERVER,
        FailureCode::SSL_REQUIRED_BY_SERVER,
    );
    let missing = || DriverError::NlaMissing;
    check_refused(true, SecurityProtocol::SSL, missing(), nla);
    check_refused(true, SecurityProtocol::empty(), missing(), nla);
    check_refused(false, SecurityProtocol::empty(), DriverError::NoTls, tls);
}

#[test]
fn what_is_no_rdp_is_refused_at_once() {
    for said in [&b"GET / HTTP/1.1\r\n"[..], &[3, 0, 0, 4], &[0x16, 3, 1]] {
        let mut played = Played::open();
        let heard = played.hear(End::Driver, said);
        assert_eq!(heard, Err(DriverError::NotRdp.into()), "{said:?}");
    }
}

#[test]
fn words_before_the_encryption_are_refused() {
    let mut played = Played::open();
    let asked = [asks(SecurityProtocol::SSL), vec![3]].concat();
    let heard = played.hear(End::Driver, &asked);
    assert_eq!(heard, Err(DriverError::UnencryptedBytes.into()));
}
