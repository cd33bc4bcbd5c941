//! A VNC server's bytes, heard at once and in pieces: both must come to the same.

use capture::{Framebuffer, Size, pixels::PixelFormat, source::SourceEvent};
use capture_vnc::{Config, Encoding, Error, Password, Random, Session, Tls};

/// How the bytes that follow are to be heard: the first two of every input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Chooses the desktop's size and how its pixels come.
    pub terms: u8,
    /// Chooses the pieces that the bytes arrive in.
    pub pieces: u8,
}

/// After so much silence nothing is asked for any more that was not asked for before.
const SILENCE_MS: u64 = 3_000;
/// Larger pictures are not compared: that would take all the time there is.
const COMPARED_PX: u64 = 1 << 20;
/// What the client may say: a little at the start, and a request for every few bytes heard.
const SPOKEN_BYTES: usize = 2_000;
const SPOKEN_PER_BYTE: usize = 40;

impl Opening {
    /// The desktops there are; the second is a PC's screen of text.
    const SIZES: [Size; 2] = [Size::new(160, 120), Size::new(720, 400)];

    /// Splits it off an input.
    fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[terms, pieces], rest) = bytes.split_first_chunk()?;
        Some((Self { terms, pieces }, rest))
    }

    /// The desktop's size.
    #[must_use]
    pub const fn size(self) -> Size {
        if self.terms & 0x80 == 0 {
            Self::SIZES[0]
        } else {
            Self::SIZES[1]
        }
    }

    /// How pixels come.
    #[must_use]
    pub const fn format(self) -> PixelFormat {
        let base = PixelFormat::BGRX;
        let choice = self.terms & 7;
        let (bits_per_pixel, depth, max, shift) = match choice {
            1 => (32, 24, [255; 3], [0, 8, 16]),
            2 => (32, 30, [1023; 3], [20, 10, 0]),
            3 => (16, 16, [31, 63, 31], [11, 5, 0]),
            4 => (8, 8, [7, 7, 3], [0, 3, 6]),
            5 => (8, 8, [0; 3], [0; 3]),
            _ => return base,
        };
        PixelFormat {
            bits_per_pixel,
            depth,
            big_endian: self.terms & 0x40 != 0,
            true_colour: choice != 5,
            max,
            shift,
        }
    }

    /// A client that asks for all there is.
    #[must_use]
    pub fn config(self) -> Config {
        let lossy = [Encoding::CopyRect, Encoding::Jpeg(5)];
        Config {
            encodings: lossy.into_iter().chain(Encoding::EXACT).collect(),
            pixel_format: None,
            cursor: true,
            extended_clipboard: true,
            ..Config::default()
        }
    }

    /// A 3.8 handshake without security.
    fn wire(self) -> Vec<u8> {
        let Size { w, h } = self.size();
        let side = |side: u32| u16::try_from(side).unwrap_or(0).to_be_bytes();
        let mut wire = b"RFB 003.008\n\x01\x01\0\0\0\0".to_vec();
        wire.extend([side(w), side(h)].as_flattened());
        wire.extend(self.format().to_bytes());
        wire.extend([0; 4]);
        wire
    }
}

/// A server's messages after the handshake.
pub fn decoder(bytes: &[u8]) {
    let Some((opening, bytes)) = Opening::split(bytes) else {
        return;
    };
    let mut at_once = Listener::new(opening.config());
    at_once.hear(&opening.wire());
    at_once.hear(bytes);
    let mut piece_by_piece = Listener::new(opening.config());
    piece_by_piece.hear(&opening.wire());
    piece_by_piece.hear_pieces(opening.pieces, bytes);
    at_once.must_equal(&piece_by_piece);
    at_once.outlast_silence();
}

/// A server's bytes from the first on, for a client with each kind of credentials.
pub fn handshake(bytes: &[u8]) {
    let Some((opening, bytes)) = Opening::split(bytes) else {
        return;
    };
    let bit = |bit: u8| opening.terms & 1 << bit != 0;
    let config = Config {
        user: bit(0).then(|| "ada".to_owned()),
        password: bit(1).then(|| Password::new("secret".to_owned())),
        random: bit(2).then(|| Random::new([9; Random::BYTES])),
        tls: match (bit(3), bit(4)) {
            (false, _) => None,
            (true, false) => Some(Tls::Certified),
            (true, true) => Some(Tls::Anonymous),
        },
        ..opening.config()
    };
    let encrypted = config.tls.is_some();
    let mut piece_by_piece = Listener::new(config.clone());
    piece_by_piece.hear_pieces(opening.pieces, bytes);
    // Where encryption begins, it matters which bytes came before.
    if !encrypted {
        let mut at_once = Listener::new(config);
        at_once.hear(bytes);
        at_once.must_equal(&piece_by_piece);
    }
    piece_by_piece.outlast_silence();
}

/// A session, and all that came of it.
struct Listener {
    session: Session,
    screen: Framebuffer,
    events: Vec<SourceEvent>,
    heard_bytes: usize,
    spoken_bytes: usize,
    ended: Option<Error>,
}

impl Listener {
    fn new(config: Config) -> Self {
        let Ok(screen) = Framebuffer::new(Size::new(1, 1), 0) else {
            unreachable!("a single pixel is a size");
        };
        Self {
            session: Session::new(config, 0),
            screen,
            events: Vec::new(),
            heard_bytes: 0,
            spoken_bytes: 0,
            ended: None,
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let heard = self.session.handle_bytes(0, bytes, &mut self.screen);
        self.heard_bytes += bytes.len();
        self.take(heard);
        if self.session.poll_upgrade().is_some() {
            let upgraded = self.session.handle_upgraded(0);
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
        while let Some(event) = self.session.poll_event() {
            // What is asked for between two pieces decides what an answer proves, and a burst of
            // bells is one as far as it is heard at once.
            let bell_again =
                event == SourceEvent::Bell && self.events.last() == Some(&SourceEvent::Bell);
            if event != SourceEvent::Proof && !bell_again {
                self.events.push(event);
            }
        }
        while let Some(said) = self.session.poll_transmit() {
            self.spoken_bytes += said.len();
        }
        let most = SPOKEN_BYTES + SPOKEN_PER_BYTE * self.heard_bytes;
        assert!(self.spoken_bytes <= most, "the client will not be quiet");
    }

    /// Whatever the pieces: the same kind of end, the same events and, between two messages, the
    /// same picture. Of two faults in one rectangle, the pieces decide which is met first.
    fn must_equal(&self, other: &Self) {
        let kinds = [self, other].map(|listener| listener.ended.as_ref().map(Error::kind));
        assert_eq!(kinds[0], kinds[1], "another end");
        assert_eq!(self.events, other.events, "other events");
        assert_eq!(self.screen.size(), other.screen.size(), "another size");
        let inside = self.session.is_inside_message();
        assert_eq!(inside, other.session.is_inside_message());
        let small = self.screen.size().area_px() <= COMPARED_PX;
        if self.ended.is_none() && !inside && small {
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
