//! An RDP server's bytes, heard at once and in pieces: both must come to the same.

use capture::{Framebuffer, Password, Size, source::SourceEvent};
use capture_rdp::{Config, Error, Security, Session};

/// What real servers once said to this client, over TLS alone; [`PLAIN_BYTES`] of it before that.
const SERVERS: [&[u8]; 2] = [
    include_bytes!("../../../capture/rdp/tests/replay/xrdp.bin"),
    include_bytes!("../../../capture/rdp/tests/replay/shadow.bin"),
];
const PLAIN_BYTES: usize = 19;
/// Messages until the desktop is agreed on.
const HANDSHAKE: u8 = 12;
/// That network level authentication follows (MS-RDPBCGR section 2.2.1.2).
const SIGN_IN_FOLLOWS: [u8; PLAIN_BYTES] = [
    3, 0, 0, 19, 14, 0xd0, 0, 0, 0x12, 0x34, 0, 2, 0, 8, 0, 2, 0, 0, 0,
];
/// Whom the encryption is with. Nobody needs its key.
const CERTIFICATE: &[u8] = include_bytes!("certificate.der");

/// After so much silence nothing is asked for any more that was not asked for before.
const SILENCE_MS: u64 = 3_000;
/// Larger pictures are not compared: that would take all the time there is.
const COMPARED_PX: u64 = 1 << 20;
/// What the client may say: settings and abilities, and an answer for every few bytes heard.
const SPOKEN_BYTES: usize = 20_000;
const SPOKEN_PER_BYTE: usize = 60;

/// How the bytes that follow are to be heard: the first two of every input.
#[derive(Clone, Copy)]
struct Opening {
    /// The server (high bit), or a sign-in (next one), and how many of its messages come first.
    terms: u8,
    /// Chooses the pieces that the bytes arrive in.
    pieces: u8,
}

impl Opening {
    const SHADOW: u8 = 0x80;
    const SIGN_IN: u8 = 0x40;

    const fn signs_in(self) -> bool {
        self.terms & Self::SIGN_IN != 0
    }

    fn config(self) -> Config {
        Config {
            user: Some("ada".to_owned()),
            password: Some(Password::new("secret".to_owned())),
            security: match self.signs_in() {
                true => Security::Nla,
                false => Security::Tls,
            },
            size: Size::new(640, 480),
            ..Config::default()
        }
    }

    /// What the server says first, in clear and within the encryption.
    fn said(self) -> (&'static [u8], &'static [u8]) {
        let [xrdp, shadow] = SERVERS;
        let said = match self.terms & Self::SHADOW {
            0 => xrdp,
            _ => shadow,
        };
        let count = self.terms & 0x0f;
        let end = match count {
            _ if self.signs_in() => return (&SIGN_IN_FOLLOWS, &[]),
            0..=HANDSHAKE => messages_end(said, count),
            _ => said.len(),
        };
        let said = said.split_at(end).0;
        said.split_at(PLAIN_BYTES.min(end))
    }
}

/// Where the message of that number ends.
fn messages_end(said: &[u8], count: u8) -> usize {
    (0..count).fold(0, |at, _| match said.get(at..at + 4) {
        Some(&[_, _, high, low]) => at + usize::from(u16::from_be_bytes([high, low])),
        _ => at,
    })
}

/// A server's messages from any step of the connection on.
pub fn rdp(bytes: &[u8]) {
    let Some((&[terms, pieces], bytes)) = bytes.split_first_chunk() else {
        return;
    };
    let opening = Opening { terms, pieces };
    let mut piece_by_piece = Listener::new(opening);
    piece_by_piece.hear_pieces(opening.pieces, bytes);
    // Where encryption begins, it matters which bytes came before.
    if piece_by_piece.encrypted_at_first {
        let mut at_once = Listener::new(opening);
        at_once.hear(bytes);
        at_once.must_equal(&piece_by_piece);
    }
    piece_by_piece.outlast_silence();
}

/// A session, and all that came of it.
struct Listener {
    session: Session,
    screen: Framebuffer,
    /// All but pictures and proofs, which come together as the bytes do.
    events: Vec<SourceEvent>,
    heard_bytes: usize,
    spoken_bytes: usize,
    encrypted_at_first: bool,
    ended: Option<Error>,
}

impl Listener {
    /// One that has heard what the server said first.
    fn new(opening: Opening) -> Self {
        let Ok(screen) = Framebuffer::new(Size::new(1, 1), 0) else {
            unreachable!("a single pixel is a size");
        };
        let mut listener = Self {
            session: Session::new(opening.config(), 0),
            screen,
            events: Vec::new(),
            heard_bytes: 0,
            spoken_bytes: 0,
            encrypted_at_first: false,
            ended: None,
        };
        listener.take(Ok(()));
        let (clear, encrypted) = opening.said();
        listener.encrypted_at_first = !clear.is_empty();
        listener.hear(clear);
        listener.hear(encrypted);
        listener
    }

    fn hear(&mut self, bytes: &[u8]) {
        let heard = self.session.handle_bytes(0, bytes, &mut self.screen);
        self.heard_bytes += bytes.len();
        self.take(heard);
        if self.session.poll_upgrade() {
            let upgraded = self.session.handle_upgraded(0, CERTIFICATE);
            self.take(upgraded);
        }
    }

    fn hear_pieces(&mut self, pieces: u8, mut bytes: &[u8]) {
        let mut state = u32::from(pieces) + 1;
        while !bytes.is_empty() && self.ended.is_none() {
            // Small pieces and large ones, the same for the same choice.
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let most = [1, 3, 40, 1500][(state >> 28) as usize % 4];
            let len = 1 + (state >> 8) as usize % most;
            let (piece, rest) = bytes.split_at(len.min(bytes.len()));
            self.hear(piece);
            bytes = rest;
        }
    }

    /// Takes note of what a call has brought.
    fn take(&mut self, result: Result<(), Error>) {
        self.ended = self.ended.take().or(result.err());
        assert_ne!(self.ended, Some(Error::Panicked));
        while let Some(event) = self.session.poll_event() {
            if !matches!(event, SourceEvent::Update { .. } | SourceEvent::Proof) {
                self.events.push(event);
            }
        }
        while let Some(said) = self.session.poll_transmit() {
            self.spoken_bytes += said.len();
        }
        let most = SPOKEN_BYTES + SPOKEN_PER_BYTE * self.heard_bytes;
        assert!(self.spoken_bytes <= most, "the client will not be quiet");
    }

    /// Whatever the pieces: the same end, the same events and the same picture.
    fn must_equal(&self, other: &Self) {
        assert_eq!(self.ended, other.ended, "another end");
        assert_eq!(self.events, other.events, "other events");
        assert_eq!(self.screen.size(), other.screen.size(), "another size");
        let inside = self.session.is_inside_message();
        assert_eq!(inside, other.session.is_inside_message());
        if self.screen.size().area_px() <= COMPARED_PX {
            let same = self.screen.bgrx() == other.screen.bgrx();
            assert!(same, "another picture");
        }
    }

    /// Lets time pass: all that falls due is done once, and lies in the future.
    fn outlast_silence(&mut self) {
        let mut now_ms = 0;
        while self.ended.is_none()
            && let Some(due_ms) = self.session.poll_timeout()
            && due_ms <= SILENCE_MS
        {
            assert!(now_ms <= due_ms, "something is due in the past");
            let spoken = self.spoken_bytes;
            let moved = now_ms < due_ms;
            now_ms = due_ms;
            let done = self.session.handle_timeout(now_ms);
            // Time makes it speak, not what it heard.
            self.heard_bytes += usize::from(moved);
            self.take(done);
            assert!(moved || spoken < self.spoken_bytes, "it is due for ever");
        }
    }
}
