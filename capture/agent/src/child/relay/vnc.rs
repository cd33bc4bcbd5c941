//! RFB: how a driver's relay is configured here, and what its errors mean for a recording.

use std::io;

use capture::{input::Input, relay::End, source::ErrorKind};
use capture_vnc::{
    Challenge, DriverError, Password, Random, Tls,
    proxy::{self, RelayConfig, RelayError},
};

use super::protocol::Protocol;
use crate::{
    access::Access,
    child::{inbox::Departure, lost::Lost},
    clock,
    clock::BootTime,
    source::Source,
};

/// A relay that speaks RFB.
pub(super) struct Vnc(proxy::Relay);

impl Vnc {
    /// The relay of two connections that were established just now.
    pub(super) fn new(source: &Source, access: &Access) -> io::Result<Self> {
        let (_, encrypted) = source.peer();
        let config = RelayConfig {
            user: source.user.clone(),
            password: access.password.clone().map(Password::new),
            random: Some(Random::new(clock::random()?)),
            tls: (access.encrypt && !encrypted).then_some(Tls::Certified),
            challenge: Challenge::new(clock::random()?),
        };
        Ok(Self(proxy::Relay::new(config, BootTime::now().ms())))
    }
}

impl Protocol for Vnc {
    fn handle_bytes(&mut self, now: BootTime, from: End, bytes: &[u8]) -> Result<(), Departure> {
        Ok(self.0.handle_bytes(now.ms(), from, bytes)?)
    }

    fn handle_close(&mut self, end: End) -> Departure {
        self.0.handle_close(end).into()
    }

    fn handle_timeout(&mut self, now: BootTime) -> Result<(), Departure> {
        Ok(self.0.handle_timeout(now.ms())?)
    }

    fn poll_timeout(&self) -> Option<BootTime> {
        self.0.poll_timeout().map(BootTime::from_ms)
    }

    fn poll_upgrade(&self) -> Option<End> {
        self.0.poll_upgrade().map(|_| End::Server)
    }

    fn handle_upgraded(&mut self, now: BootTime, _: End, _: &[u8]) -> Result<(), Departure> {
        Ok(self.0.handle_upgraded(now.ms())?)
    }

    fn poll_transmit(&mut self, to: End) -> Option<Vec<u8>> {
        self.0.poll_transmit(to)
    }

    fn poll_input(&mut self) -> Option<Input> {
        self.0.poll_input()
    }

    fn wants_bytes(&self, _: End) -> bool {
        true // what is not taken at once is bounded by what one read brings
    }
}

impl From<RelayError> for Departure {
    fn from(error: RelayError) -> Self {
        match &error {
            RelayError::Driver(DriverError::Closed { .. }) => Self::Left,
            RelayError::Server(server) if server.kind() != ErrorKind::Refused => {
                Self::Lost(Lost::disconnected(error.to_string()))
            }
            RelayError::Server(_) | RelayError::Driver(_) | RelayError::OutOfTurn { .. } => {
                Self::Refused(error.to_string())
            }
        }
    }
}
