//! A driver's and a server's bytes with the relay between them, heard at once and byte by byte:
//! both must be forwarded, recorded and ended alike.

use capture::input::Input;
use capture_vnc::{
    Challenge, Password, Random,
    proxy::{End, Relay, RelayConfig, RelayError},
};

/// Turns of both ends. The first byte chooses what the relay signs in with; then each turn is a
/// byte, whose high bit says that it is the driver's and whose others say how many bytes follow.
pub fn relay(bytes: &[u8]) {
    let Some((&terms, mut turns)) = bytes.split_first() else {
        return;
    };
    let (mut at_once, mut byte_by_byte) = (Between::new(terms), Between::new(terms));
    while let Some((&turn, rest)) = turns.split_first() {
        let (said, rest) = rest.split_at(usize::from(turn & 0x7f).min(rest.len()));
        let from = if turn & 0x80 == 0 {
            End::Server
        } else {
            End::Driver
        };
        at_once.say(from, said);
        for byte in said.chunks(1) {
            byte_by_byte.say(from, byte);
        }
        turns = rest;
    }
    assert_eq!(at_once.ended, byte_by_byte.ended, "another end");
    assert!(at_once.acts == byte_by_byte.acts, "other input");
    let [driver, server] = &at_once.told;
    let [driver_too, server_too] = &byte_by_byte.told;
    assert!(server == server_too, "other words to the server");
    // A driver that speaks out of turn may end the relay at the last byte of its welcome: what the
    // server says behind that still goes to the driver when it came together, and not after it.
    let begins = driver.starts_with(driver_too);
    assert!(
        driver == driver_too || at_once.ended.is_some() && begins,
        "other words to the driver"
    );
}

/// A relay, and all that came of it.
struct Between {
    relay: Relay,
    /// What the driver and the server were told.
    told: [Vec<u8>; 2],
    acts: Vec<Input>,
    ended: Option<RelayError>,
}

impl Between {
    fn new(terms: u8) -> Self {
        let bit = |bit: u8| terms & 1 << bit != 0;
        let config = RelayConfig {
            user: bit(0).then(|| "ada".to_owned()),
            password: bit(1).then(|| Password::new("secret".to_owned())),
            random: bit(2).then(|| Random::new([9; Random::BYTES])),
            tls: None,
            challenge: Challenge::new([7; Challenge::BYTES]),
        };
        Self {
            relay: Relay::new(config, 0),
            told: [Vec::new(), Vec::new()],
            acts: Vec::new(),
            ended: None,
        }
    }

    fn say(&mut self, from: End, bytes: &[u8]) {
        let said = self.relay.handle_bytes(0, from, bytes);
        if let (Some(ended), Ok(())) = (&self.ended, &said) {
            unreachable!("it goes on after {ended}");
        }
        self.ended = self.ended.take().or(said.err());
        for (told, end) in self.told.iter_mut().zip([End::Driver, End::Server]) {
            while let Some(bytes) = self.relay.poll_transmit(end) {
                told.extend(bytes);
            }
        }
        self.acts
            .extend(std::iter::from_fn(|| self.relay.poll_input()));
    }
}
