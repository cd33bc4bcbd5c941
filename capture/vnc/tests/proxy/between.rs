//! The relay under test, with both ends' words and a clock that the test turns.

use capture::input::Input;
use capture_vnc::{
    Challenge,
    proxy::{End, Relay, RelayConfig, RelayError},
};

pub(crate) struct Between {
    pub(crate) relay: Relay,
    pub(crate) now_ms: u64,
    to_driver: Vec<u8>,
    to_server: Vec<u8>,
    acts: Vec<Input>,
}

/// One end says something, and then these are the words that each end has heard since.
pub(crate) struct Turn<'a> {
    pub(crate) from: End,
    pub(crate) says: &'a [u8],
    pub(crate) driver_hears: &'a [u8],
    pub(crate) server_hears: &'a [u8],
}

pub(crate) const fn server<'a>(
    says: &'a [u8],
    driver_hears: &'a [u8],
    server_hears: &'a [u8],
) -> Turn<'a> {
    Turn {
        from: End::Server,
        says,
        driver_hears,
        server_hears,
    }
}

pub(crate) const fn driver<'a>(
    says: &'a [u8],
    driver_hears: &'a [u8],
    server_hears: &'a [u8],
) -> Turn<'a> {
    Turn {
        from: End::Driver,
        says,
        driver_hears,
        server_hears,
    }
}

/// A configuration without anything to sign in with.
pub(crate) fn open() -> RelayConfig {
    RelayConfig {
        user: None,
        password: None,
        random: None,
        tls: None,
        challenge: Challenge::new(CHALLENGE),
    }
}

pub(crate) const CHALLENGE: [u8; 16] = [
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
];

/// What the password `secret` makes of [`CHALLENGE`].
pub(crate) const RESPONSE: [u8; 16] = [
    0xf1, 0x9b, 0x50, 0x47, 0x1f, 0x60, 0xf4, 0x22, 0x98, 0xe5, 0xc0, 0x14, 0x7d, 0xb5, 0x0e, 0x1e,
];

/// `ServerInit` of a desktop of 320 by 200 called "desk".
pub(crate) const SERVER_INIT: [u8; 28] =
    *b"\x01\x40\x00\xc8\x20\x18\x00\x01\x00\xff\x00\xff\x00\xff\x10\x08\x00\0\0\0\0\0\0\x04desk";

impl Between {
    pub(crate) fn new(config: RelayConfig) -> Self {
        Self {
            relay: Relay::new(config, 0),
            now_ms: 0,
            to_driver: Vec::new(),
            to_server: Vec::new(),
            acts: Vec::new(),
        }
    }

    /// Past a handshake without security that is forgotten.
    pub(crate) fn established() -> Self {
        let mut between = Self::new(open());
        between.say(End::Server, b"RFB 003.008\n\x01\x01").unwrap();
        between.say(End::Driver, b"RFB 003.008\n\x01").unwrap();
        between.say(End::Server, &[0; 4]).unwrap();
        between.say(End::Driver, &[0]).unwrap();
        between.say(End::Server, &SERVER_INIT).unwrap();
        assert!(between.relay.is_established());
        between.heard(End::Driver);
        between.heard(End::Server);
        between
    }

    pub(crate) fn say(&mut self, from: End, bytes: &[u8]) -> Result<(), RelayError> {
        let said = self.relay.handle_bytes(self.now_ms, from, bytes);
        self.drain();
        said
    }

    pub(crate) fn drain(&mut self) {
        while let Some(bytes) = self.relay.poll_transmit(End::Driver) {
            self.to_driver.extend(bytes);
        }
        while let Some(bytes) = self.relay.poll_transmit(End::Server) {
            self.to_server.extend(bytes);
        }
        self.acts
            .extend(std::iter::from_fn(|| self.relay.poll_input()));
    }

    /// What `end` was told since the last call.
    pub(crate) fn heard(&mut self, end: End) -> Vec<u8> {
        std::mem::take(match end {
            End::Driver => &mut self.to_driver,
            End::Server => &mut self.to_server,
        })
    }

    /// What was recorded since the last call.
    pub(crate) fn acts(&mut self) -> Vec<Input> {
        std::mem::take(&mut self.acts)
    }

    /// Time passes in silence until the relay wants to be woken; it must.
    pub(crate) fn wait(&mut self) -> Result<(), RelayError> {
        self.now_ms = self.relay.poll_timeout().unwrap();
        let waited = self.relay.handle_timeout(self.now_ms);
        self.drain();
        waited
    }
}

/// Plays a script, and again with each turn in two pieces cut at every place, and byte by byte.
/// The last turn ends as `end` says. Gives back the relay of the last time.
pub(crate) fn check(
    config: &RelayConfig,
    script: &[Turn<'_>],
    end: &Result<(), RelayError>,
) -> Between {
    let longest = script.iter().map(|turn| turn.says.len()).max().unwrap();
    for cut in 1..longest {
        play(config, script, end, |bytes| {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            vec![first, second]
        });
    }
    play(config, script, end, |bytes| bytes.chunks(1).collect());
    play(config, script, end, |bytes| vec![bytes])
}

fn play(
    config: &RelayConfig,
    script: &[Turn<'_>],
    end: &Result<(), RelayError>,
    pieces: impl Fn(&[u8]) -> Vec<&[u8]>,
) -> Between {
    let mut between = Between::new(config.clone());
    for (at, turn) in script.iter().enumerate() {
        let mut said = Ok(());
        for piece in pieces(turn.says) {
            said = said.and_then(|()| between.say(turn.from, piece));
        }
        let driver_heard = between.heard(End::Driver);
        assert_eq!(driver_heard, turn.driver_hears, "driver, turn {at}");
        let server_heard = between.heard(End::Server);
        assert_eq!(server_heard, turn.server_hears, "server, turn {at}");
        let last = at + 1 == script.len();
        assert_eq!(said, if last { end.clone() } else { Ok(()) }, "turn {at}");
    }
    between
}
