//! What real servers said, replayed: in all pieces, cut short, changed for the worse.
//!
//! `*.bin` is what a server sent first, up to a part of its picture: [`PLAIN_BYTES`] before the
//! connection was encrypted, then what it said within. Both showed a display of 640×480 pixels
//! over TLS, xrdp 0.9.21 before TigerVNC's server and FreeRDP's shadow server 2.11.7; the client
//! was this one, whose part in the talk does not matter.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "this is all test code, helpers too"
)]

use capture::{
    Framebuffer, Size,
    framebuffer::SizeError,
    source::{ErrorKind, SourceEvent},
};
use capture_rdp::{Config, Error, Security, Session, limits};

const XRDP: &[u8] = include_bytes!("xrdp.bin");
const SHADOW: &[u8] = include_bytes!("shadow.bin");
const SERVERS: [&[u8]; 2] = [XRDP, SHADOW];
const PLAIN_BYTES: usize = 19;
const SIZE: Size = Size::new(640, 480);

/// A session with a server that is played.
struct Played {
    session: Session,
    screen: Framebuffer,
    events: Vec<SourceEvent>,
    now_ms: u64,
}

impl Played {
    fn new() -> Self {
        let config = Config {
            security: Security::Tls,
            size: SIZE,
            // Neither server was asked for its channel.
            clipboard: false,
            ..Config::default()
        };
        Self {
            session: Session::new(config, 0),
            screen: Framebuffer::new(Size::new(1, 1), 7).unwrap(),
            events: Vec::new(),
            now_ms: 1,
        }
    }

    /// Has the server say `bytes`, and encrypts when it is time.
    fn hear(&mut self, bytes: &[u8]) -> Result<(), Error> {
        while self.session.poll_transmit().is_some() {}
        self.session
            .handle_bytes(self.now_ms, bytes, &mut self.screen)?;
        while self.session.poll_transmit().is_some() {}
        if self.session.poll_upgrade() {
            self.session.handle_upgraded(self.now_ms, &[])?;
        }
        while let Some(event) = self.session.poll_event() {
            self.events.push(event);
        }
        Ok(())
    }

    fn has_started(&self) -> bool {
        let is_start = |event: &SourceEvent| matches!(event, SourceEvent::Start { .. });
        self.events.iter().any(is_start)
    }

    /// Has the server say all of `said`, in pieces that end at `ends`.
    fn hear_all(
        &mut self,
        said: &[u8],
        ends: impl IntoIterator<Item = usize>,
    ) -> Result<(), Error> {
        let mut ends: Vec<usize> = ends.into_iter().chain([PLAIN_BYTES, said.len()]).collect();
        ends.retain(|&end| end <= said.len());
        ends.sort_unstable();
        ends.dedup();
        let mut from = 0;
        for to in ends {
            self.hear(&said[from..to])?;
            from = to;
        }
        Ok(())
    }
}

/// Where each message of the handshake ends.
fn handshake_ends(said: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    let mut played = Played::new();
    while !played.has_started() {
        let len = usize::from(u16::from_be_bytes([said[at + 2], said[at + 3]]));
        played.hear(&said[at..at + len]).unwrap();
        at += len;
        ends.push(at);
    }
    ends
}

fn whole(said: &[u8]) -> Played {
    let mut played = Played::new();
    played.hear_all(said, []).unwrap();
    played
}

fn error(said: &[u8]) -> Option<Error> {
    Played::new().hear_all(said, []).err()
}

#[test]
fn what_was_recorded_is_a_picture() {
    for said in SERVERS {
        let played = whole(said);
        assert_eq!(played.screen.size(), SIZE);
        assert!(played.screen.lit_px(u64::MAX) > 10_000);
        assert_eq!(played.session.last_proof_ms(), Some(1));
        assert!(!played.session.is_inside_message());
    }
}

#[test]
fn pieces_make_no_difference() {
    for said in SERVERS {
        let handshake = *handshake_ends(said).last().unwrap();
        for end in 0..handshake {
            let mut played = Played::new();
            played.hear_all(&said[..handshake], [end]).unwrap();
            assert!(played.has_started(), "cut at {end}");
        }
        let expected = whole(said).screen;
        for step in [1, 1009] {
            let mut played = Played::new();
            played
                .hear_all(said, (0..said.len()).step_by(step))
                .unwrap();
            assert!(played.screen.bgrx() == expected.bgrx());
        }
    }
}

#[test]
fn silence_ends_the_handshake_wherever_it_begins() {
    for said in SERVERS {
        for end in handshake_ends(said) {
            let mut played = Played::new();
            played.hear_all(&said[..end - 1], []).unwrap();
            let session = &mut played.session;
            assert_eq!(session.poll_timeout(), Some(limits::HANDSHAKE_MS));
            assert_eq!(session.handle_timeout(limits::HANDSHAKE_MS - 1), Ok(()));
            let late = session.handle_timeout(limits::HANDSHAKE_MS);
            assert_eq!(late, Err(Error::HandshakeTimeout));
            assert_eq!(session.handle_timeout(0), late, "it stays over");
        }
    }
}

#[test]
fn silence_inside_a_message_ends_the_session() {
    let mut played = Played::new();
    played.hear_all(&XRDP[..XRDP.len() - 1], []).unwrap();
    assert!(played.session.is_inside_message());
    let until = 1 + limits::MESSAGE_SILENCE_MS;
    assert_eq!(played.session.handle_timeout(until - 1), Ok(()));
    assert_eq!(
        played.session.handle_timeout(until),
        Err(Error::MessageTimeout)
    );
}

#[test]
fn a_server_that_shows_nothing_is_told_from_a_black_screen() {
    let mut played = Played::new();
    let started = *handshake_ends(XRDP).last().unwrap();
    played.hear_all(&XRDP[..started], []).unwrap();
    let until = 1 + limits::FIRST_PICTURE_MS;
    assert_eq!(played.session.handle_timeout(until - 1), Ok(()));
    assert_eq!(played.session.handle_timeout(until), Err(Error::NoGraphics));
}

#[test]
fn an_answer_that_does_not_come_is_a_stall() {
    let mut played = whole(SHADOW);
    let session = &mut played.session;
    session.request_update(1);
    assert_eq!(session.poll_timeout(), Some(901));
    session.handle_timeout(901).unwrap();
    assert!(session.poll_transmit().is_some(), "it asks");
    assert!(!session.is_stalled(900 + limits::STALL_MS));
    assert!(session.is_stalled(901 + limits::STALL_MS));
    assert_eq!(session.last_proof_ms(), Some(1));
}

#[test]
fn a_picture_is_whole_once_it_is_at_rest_or_was_taken() {
    let mut played = whole(SHADOW);
    let session = &mut played.session;
    let rest = 1 + limits::SETTLES_MS;
    assert!(!session.is_whole(rest - 1));
    assert_eq!(session.poll_timeout(), Some(rest));
    assert!(session.is_whole(rest));
    session.request_update(2);
    assert!(session.is_whole(2));
}

#[test]
fn a_picture_that_never_rests_is_taken_all_the_same() {
    let started = *handshake_ends(XRDP).last().unwrap();
    let mut played = Played::new();
    played.hear_all(&XRDP[..started], []).unwrap();
    let mut first_ms = None;
    for piece in XRDP[started..].chunks(512) {
        played.now_ms += limits::SETTLES_MS - 1;
        played.hear(piece).unwrap();
        let painted = played.session.last_proof_ms();
        let (Some(first), Some(last)) = (first_ms.or(painted), painted) else {
            continue;
        };
        first_ms = Some(first);
        let rested = last + limits::SETTLES_MS <= played.now_ms;
        let late = first + limits::SETTLED_BY_MS <= played.now_ms;
        assert_eq!(played.session.is_whole(played.now_ms), rested || late);
    }
    assert!(first_ms.unwrap() + limits::SETTLED_BY_MS < played.now_ms);
}

#[test]
fn a_closed_connection_says_where_it_was() {
    let mut played = Played::new();
    played.hear_all(&XRDP[..XRDP.len() - 1], []).unwrap();
    let inside_message = true;
    assert_eq!(
        played.session.handle_close(),
        Error::Closed { inside_message }
    );
}

#[test]
fn garbage_in_place_of_any_message_is_an_error() {
    let garbage: Vec<u8> = (0..=255).cycle().take(4096).collect();
    let zeros = [0; 4096];
    // A message of the right form that says nothing.
    let empty = [[3, 0, 0, 8, 2, 0xf0, 0x80, 0xff]; 512].concat();
    for said in SERVERS {
        let ends = [vec![0], handshake_ends(said)].concat();
        for end in ends {
            for bad in [&garbage[..], &zeros, &empty] {
                let error = error(&[&said[..end], bad].concat());
                assert!(error.is_some(), "after {end} bytes");
            }
        }
    }
}

#[test]
fn a_changed_byte_is_never_a_panic() {
    for said in SERVERS {
        // Past the first pictures, all is the same again.
        let said = &said[..4096];
        for at in (0..2048).step_by(3) {
            let mut changed = said.to_vec();
            changed[at] ^= 0xff;
            assert_ne!(error(&changed), Some(Error::Panicked), "at {at}");
        }
    }
}

/// What the server says of its desktop in its capabilities (section 2.2.7.1.2), in place of what
/// it said.
fn with_desktop(said: &[u8], width: u16, height: u16) -> Vec<u8> {
    let [w0, w1] = 640_u16.to_le_bytes();
    let [h0, h1] = 480_u16.to_le_bytes();
    let sizes = [w0, w1, h0, h1];
    let found = said.windows(4).position(|window| window == sizes).unwrap();
    let mut changed = said.to_vec();
    changed[found..found + 2].copy_from_slice(&width.to_le_bytes());
    changed[found + 2..found + 4].copy_from_slice(&height.to_le_bytes());
    changed
}

#[test]
fn a_desktop_that_is_too_large_is_refused_before_memory_is_taken() {
    for said in SERVERS {
        for (width, height) in [(65_535, 65_535), (8193, 1), (8192, 8192), (0, 480)] {
            let error = error(&with_desktop(said, width, height)).unwrap();
            assert!(matches!(error, Error::Size(SizeError { .. })), "{error:?}");
            assert_eq!(error.kind(), ErrorKind::Budget);
        }
    }
}

#[test]
fn a_picture_outside_of_the_desktop_is_refused() {
    let error = error(&with_desktop(XRDP, 64, 64)).unwrap();
    assert!(matches!(error, Error::PictureOutside { .. }), "{error:?}");
}

#[test]
fn words_before_the_encryption_are_refused() {
    let mut screen = Framebuffer::new(Size::new(1, 1), 7).unwrap();
    let mut session = Played::new().session;
    let said = &XRDP[..PLAIN_BYTES + 1];
    let refused = session.handle_bytes(1, said, &mut screen);
    assert_eq!(refused, Err(Error::UnencryptedBytes));
}

/// What the server makes of how we would connect (section 2.2.1.2).
fn confirm(kind: u8, word: u32) -> Vec<u8> {
    let head = [3, 0, 0, 19, 14, 0xd0, 0, 0, 0x12, 0x34, 0, kind, 0, 8, 0];
    [&head[..], &word.to_le_bytes()].concat()
}

fn refusal(security: Security, answer: &[u8]) -> Error {
    let config = Config {
        user: Some("ada".into()),
        password: Some(capture_rdp::Password::new("secret".into())),
        security,
        ..Config::default()
    };
    let mut screen = Framebuffer::new(Size::new(1, 1), 7).unwrap();
    let mut session = Session::new(config, 0);
    session.handle_bytes(1, answer, &mut screen).unwrap_err()
}

#[test]
fn what_would_help_is_told_when_ways_of_signing_in_do_not_meet() {
    const ANSWER: u8 = 2;
    const REFUSAL: u8 = 3;
    for (security, answer, expected) in [
        (Security::Tls, confirm(REFUSAL, 5), Error::NlaRequired),
        (Security::Nla, confirm(REFUSAL, 1), Error::NlaMissing),
        (Security::Nla, confirm(ANSWER, 1), Error::NlaMissing),
        (Security::Nla, confirm(ANSWER, 0), Error::NlaMissing),
        (Security::Tls, confirm(REFUSAL, 2), Error::TlsRefused),
        (Security::NlaOrTls, confirm(ANSWER, 0), Error::TlsRefused),
        (
            Security::NlaOrTls,
            confirm(REFUSAL, 6),
            Error::NegotiationRefused { code: 6 },
        ),
        (
            Security::NlaOrTls,
            b"HTTP/1.1 400 Bad Request".to_vec(),
            Error::NotRdp,
        ),
    ] {
        let error = refusal(security, &answer);
        assert_eq!(error, expected);
    }
}
