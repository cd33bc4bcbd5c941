//! RDP: how a driver's relay is configured here, and what its errors mean for a recording.

use capture::{Password, input::Input, relay::End};
use capture_rdp::{
    Keymap,
    proxy::{self, Channels, Credentials, Desktop, DriverError, Dropped, RelayConfig, RelayError},
};

use super::protocol::Protocol;
use crate::{
    access::Access,
    child::{inbox::Departure, lost::Lost, session},
    clock::BootTime,
    entrance::Entrance,
    keymap,
    source::Source,
};

/// A relay that speaks RDP.
pub(super) struct Rdp(proxy::Relay);

impl Rdp {
    /// The relay of a driver that was connected just now, and is let in at `entrance`.
    pub(super) fn new(source: &Source, access: &Access, entrance: &Entrance) -> Self {
        let driver = entrance.driver.as_ref().map(|driver| Credentials {
            user: driver.user.clone(),
            password: Password::new(driver.password.clone()),
        });
        let config = RelayConfig {
            server: session::rdp::config(source, access),
            driver,
            channels: Channels::new(entrance.channels.clone()),
            keymap: Box::new(keymap_of),
        };
        Self(proxy::Relay::new(config, BootTime::now().ms()))
    }
}

/// Whoever wonders why sound or drives are missing finds what was not forwarded.
impl Drop for Rdp {
    fn drop(&mut self) {
        for Dropped {
            name,
            driver_messages,
            server_messages,
        } in self.0.dropped()
        {
            tracing::info!(
                channel = ?name,
                driver_messages,
                server_messages,
                "Channel was not forwarded"
            );
        }
    }
}

/// The keyboard of a driver that tells this layout.
fn keymap_of(layout: u32) -> Keymap {
    keymap::of_layout(layout).unwrap_or_else(|error| {
        tracing::warn!(%error, "Keys are recorded as on an American keyboard");
        Keymap::us()
    })
}

impl Protocol for Rdp {
    fn handle_bytes(&mut self, now: BootTime, from: End, bytes: &[u8]) -> Result<(), Departure> {
        self.0.handle_bytes(now.ms(), from, bytes)?;
        match from == End::Driver && self.0.has_left() {
            true => Err(Departure::Left),
            false => Ok(()),
        }
    }

    fn handle_close(&mut self, end: End) -> Departure {
        if end == End::Driver && self.0.is_established() {
            // The machine is still to be asked whether its last picture stands.
            return Departure::Left;
        }
        self.0.handle_close(end).into()
    }

    fn handle_timeout(&mut self, now: BootTime) -> Result<(), Departure> {
        Ok(self.0.handle_timeout(now.ms())?)
    }

    fn poll_timeout(&self) -> Option<BootTime> {
        self.0.poll_timeout().map(BootTime::from_ms)
    }

    fn poll_upgrade(&self) -> Option<End> {
        self.0.poll_upgrade()
    }

    fn handle_upgraded(
        &mut self,
        now: BootTime,
        end: End,
        certificate: &[u8],
    ) -> Result<(), Departure> {
        Ok(self.0.handle_upgraded(now.ms(), end, certificate)?)
    }

    fn poll_transmit(&mut self, to: End) -> Option<Vec<u8>> {
        self.0.poll_transmit(to)
    }

    fn poll_input(&mut self) -> Option<Input> {
        self.0.poll_input()
    }

    fn wants_bytes(&self, from: End) -> bool {
        self.0.wants_bytes(from)
    }

    fn let_through(&mut self) {
        self.0.let_through();
    }

    fn poll_desktop(&mut self) -> Option<Desktop> {
        self.0.poll_desktop()
    }

    fn poll_shown(&mut self) -> Option<Vec<u8>> {
        self.0.poll_shown()
    }

    fn ask(&mut self, messages: &[u8]) {
        self.0.ask(messages);
    }
}

impl From<RelayError> for Departure {
    fn from(error: RelayError) -> Self {
        match error {
            RelayError::Driver(DriverError::Closed { .. } | DriverError::Left) => Self::Left,
            RelayError::Server(error) => Self::Lost(error.into()),
            RelayError::OutOfTurn { end: End::Server } => {
                Self::Lost(Lost::disconnected(error.to_string()))
            }
            RelayError::Driver(_) | RelayError::OutOfTurn { .. } => {
                Self::Refused(error.to_string())
            }
        }
    }
}
