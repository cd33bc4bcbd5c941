//! One driver's connection and the one to its server, as one state machine.

use std::collections::VecDeque;

use capture::{Size, input::Input as Act};

use super::{
    End, RelayConfig, RelayError,
    forward::Forward,
    sign_in::{Ends, SignIn, Step},
};
use crate::{driver::DriverError, error::Error, handshake::TlsRequest, input::Input, limits};

/// The state of a relay.
enum State {
    /// Until the driver has been told of the desktop.
    SignIn(Box<SignIn>),
    /// Messages one way, pictures the other.
    Established(Forward),
    /// Over, and why. Nothing more is read.
    Failed(RelayError),
}

/// A connection between a driver and its server, without sockets and clock.
///
/// All times are milliseconds of one monotonic clock of the caller's choice.
///
/// The caller hands over what it reads from either end, and writes to each what
/// [`poll_transmit`](Self::poll_transmit) gives for it. It drains the polls after every call, and
/// while more than [`limits::RELAY_PENDING_BYTES`] wait to be written to one end it does not read
/// from the other: so what is queued here is bounded by what one read brings, and by the longest
/// message of a driver that is read whole.
///
/// After an error it still writes what there is to transmit, which tells a driver that waits to be
/// let in why it is not.
pub struct Relay {
    state: State,
    driver: Side,
    server: Side,
    acts: VecDeque<Act>,
    size: Option<Size>,
    /// Since when the next part of the handshake is waited for, or of a driver's message.
    since_ms: u64,
}

/// What is held of one end.
#[derive(Default)]
struct Side {
    /// What it has said and is not consumed.
    held: Vec<u8>,
    /// What it is to be told.
    out: Vec<u8>,
}

impl Relay {
    /// A driver and a server that were both connected at `now_ms`; the server speaks first.
    #[must_use]
    pub fn new(config: RelayConfig, now_ms: u64) -> Self {
        Self {
            state: State::SignIn(Box::new(SignIn::new(config))),
            driver: Side::default(),
            server: Side::default(),
            acts: VecDeque::new(),
            size: None,
            since_ms: now_ms,
        }
    }

    /// Takes bytes that `from` sent and that were received at `now_ms`.
    ///
    /// # Errors
    /// When the relay is over; every later call returns the same error. Nothing of a message that
    /// cannot be read is forwarded.
    pub fn handle_bytes(&mut self, now_ms: u64, from: End, bytes: &[u8]) -> Result<(), RelayError> {
        self.check_deadline(now_ms)?;
        let (said_by_driver, said_by_server) = match from {
            End::Driver => (bytes, [].as_slice()),
            End::Server => ([].as_slice(), bytes),
        };
        let mut driver_held = std::mem::take(&mut self.driver.held);
        let mut server_held = std::mem::take(&mut self.server.held);
        let mut driver = Input::new(&mut driver_held, said_by_driver);
        let mut server = Input::new(&mut server_held, said_by_server);
        let run = self.run(now_ms, &mut driver, &mut server);
        let early = [(End::Driver, driver.keep()), (End::Server, server.keep())];
        self.driver.held = driver_held;
        self.server.held = server_held;
        run.map_err(|error| self.fail(error))?;

        if let State::SignIn(_) = self.state {
            for (end, held_bytes) in early {
                if held_bytes > limits::EARLY_BYTES {
                    return Err(self.fail(RelayError::OutOfTurn { end }));
                }
            }
        } else if from == End::Driver && !bytes.is_empty() {
            self.since_ms = now_ms;
        }
        Ok(())
    }

    fn run<'a>(
        &mut self,
        now_ms: u64,
        driver: &mut Input<'a>,
        server: &mut Input<'a>,
    ) -> Result<(), RelayError> {
        let (to_driver, to_server) = (&mut self.driver.out, &mut self.server.out);
        loop {
            let moved = match &mut self.state {
                State::SignIn(sign_in) => {
                    let waited_for = sign_in.waits_for();
                    let step = sign_in.step(&mut Ends {
                        driver,
                        server,
                        to_driver,
                        to_server,
                    })?;
                    if sign_in.waits_for() != waited_for {
                        self.since_ms = now_ms;
                    }
                    if let Step::Done(size) = step {
                        self.size = Some(size);
                        self.state = State::Established(Forward::default());
                    }
                    step != Step::Starved
                }
                State::Established(forward) => {
                    let picture = server.available(usize::MAX);
                    let len = picture.len();
                    to_driver.extend_from_slice(picture);
                    server.consume(len);
                    forward.step(driver, to_server, &mut self.acts)? || len > 0
                }
                State::Failed(error) => return Err(error.clone()),
            };
            if !moved {
                return Ok(());
            }
        }
    }

    /// Says that an end has closed its connection, and gives back what that means here.
    pub fn handle_close(&mut self, end: End) -> RelayError {
        let error = match (&self.state, end) {
            (State::Failed(error), _) => return error.clone(),
            (State::SignIn(sign_in), End::Server) => sign_in
                .cut_short(Error::Closed {
                    inside_message: false,
                })
                .into(),
            (_, End::Server) => RelayError::Server(Error::Closed {
                inside_message: false,
            }),
            (_, End::Driver) => RelayError::Driver(DriverError::Closed {
                inside_message: self.is_inside_message(),
            }),
        };
        self.fail(error)
    }

    /// Does what has become due by `now_ms`.
    ///
    /// # Errors
    /// When an end has been silent for too long; every later call returns the same error.
    pub fn handle_timeout(&mut self, now_ms: u64) -> Result<(), RelayError> {
        self.check_deadline(now_ms)
    }

    fn check_deadline(&mut self, now_ms: u64) -> Result<(), RelayError> {
        let late = match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::SignIn(sign_in) => sign_in.late(),
            State::Established(_) => DriverError::MessageTimeout.into(),
        };
        match self.poll_timeout() {
            Some(deadline) if deadline <= now_ms => Err(self.fail(late)),
            _ => Ok(()),
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) if no bytes come before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let limit_ms = match &self.state {
            State::SignIn(sign_in) => sign_in.waits_for().limit_ms(),
            State::Established(_) if self.is_inside_message() => limits::MESSAGE_SILENCE_MS,
            State::Established(_) | State::Failed(_) => return None,
        };
        Some(self.since_ms.saturating_add(limit_ms))
    }

    /// Whether a driver's message has begun and not ended.
    fn is_inside_message(&self) -> bool {
        match &self.state {
            State::Established(forward) => {
                forward.is_inside_message() || !self.driver.held.is_empty()
            }
            State::SignIn(_) | State::Failed(_) => false,
        }
    }

    fn fail(&mut self, error: RelayError) -> RelayError {
        if let State::SignIn(sign_in) = &self.state {
            sign_in.explain(&error, &mut self.driver.out);
        }
        self.driver.held = Vec::new();
        self.server.held = Vec::new();
        self.state = State::Failed(error.clone());
        error
    }

    /// The encryption to wrap the connection to the server in now. Until
    /// [`handle_upgraded`](Self::handle_upgraded) nothing else happens with it: everything to
    /// transmit was given out before, and bytes the server sends belong to the encryption.
    #[must_use]
    pub fn poll_upgrade(&self) -> Option<TlsRequest> {
        match &self.state {
            State::SignIn(sign_in) => sign_in.upgrade(),
            State::Established(_) | State::Failed(_) => None,
        }
    }

    /// Says that the connection to the server is encrypted. Nothing happens unless
    /// [`poll_upgrade`](Self::poll_upgrade) asks.
    ///
    /// # Errors
    /// When it took too long; every later call returns the same error.
    pub fn handle_upgraded(&mut self, now_ms: u64) -> Result<(), RelayError> {
        self.check_deadline(now_ms)?;
        if let State::SignIn(sign_in) = &mut self.state {
            sign_in.upgraded(&mut self.server.out);
        }
        Ok(())
    }

    /// What to write to an end next.
    pub fn poll_transmit(&mut self, to: End) -> Option<Vec<u8>> {
        let out = match to {
            End::Driver => &mut self.driver.out,
            End::Server => &mut self.server.out,
        };
        (!out.is_empty()).then(|| std::mem::take(out))
    }

    /// What the driver did next. It has been forwarded, or is among what is to be transmitted.
    pub fn poll_input(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }

    /// Whether the driver is let in and has been told of the desktop.
    #[must_use]
    pub const fn is_established(&self) -> bool {
        matches!(self.state, State::Established(_))
    }

    /// The size that the desktop had when the driver was let in.
    #[must_use]
    pub const fn size(&self) -> Option<Size> {
        self.size
    }
}
