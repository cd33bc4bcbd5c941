//! One driver's connection and the one to its machine, as one state machine.

use std::collections::VecDeque;

use capture::input::Input as Act;

use super::{
    Desktop, DriverError, Dropped, End, RelayConfig, RelayError,
    door::{Door, Request},
    machine::Machine,
    talk::{Out, Talk},
};
use crate::{error::Error, limits, pieces::Pieces, sealed};

/// The state of a relay.
enum State {
    /// The driver is at the door.
    Door(Box<Door>),
    /// It is let in, and the machine signed in to.
    Machine(Request, Box<Machine>),
    /// Both talk.
    Talk(Box<Talk>),
    /// Over, and why. Nothing more is read.
    Failed(RelayError),
}

/// A connection between a driver and its machine, without sockets and clock.
///
/// All times are milliseconds of one monotonic clock of the caller's choice.
///
/// The caller hands over what it reads from either end while [`wants_bytes`](Self::wants_bytes),
/// writes to each what [`poll_transmit`](Self::poll_transmit) gives for it, and encrypts the one
/// that [`poll_upgrade`](Self::poll_upgrade) names. It drains the polls after every call, and reads
/// from an end only while little waits to be written to the other, and of the machine's also to
/// who watches: so what is queued here is bounded by what one read brings.
///
/// A driver signs in before the machine hears of it. Input of a driver is held until
/// [`let_through`](Self::let_through).
///
/// After an error it still writes what there is to transmit, which tells either end why.
pub struct Relay {
    config: RelayConfig,
    state: State,
    driver: Side,
    server: Side,
    acts: VecDeque<Act>,
    desktop: Option<Desktop>,
    shown: Vec<u8>,
    lets_through: bool,
    now_ms: u64,
    /// Since when the present part of the handshake lasts.
    since_ms: u64,
}

/// What is held of one end.
#[derive(Default)]
struct Side {
    /// What it has said and is not consumed.
    held: Vec<u8>,
    /// What it is to be told.
    out: Vec<u8>,
    /// When it last said something.
    heard_ms: u64,
}

impl Relay {
    /// A driver and a machine that were both connected at `now_ms`; the driver speaks first.
    #[must_use]
    pub fn new(config: RelayConfig, now_ms: u64) -> Self {
        Self {
            state: State::Door(Box::new(Door::new(config.driver.clone()))),
            config,
            driver: Side::default(),
            server: Side::default(),
            acts: VecDeque::new(),
            desktop: None,
            shown: Vec::new(),
            lets_through: false,
            now_ms,
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
        if !bytes.is_empty() {
            self.side(from).heard_ms = now_ms;
        }
        self.advance(now_ms, from, bytes)
    }

    fn advance(&mut self, now_ms: u64, from: End, bytes: &[u8]) -> Result<(), RelayError> {
        let (said_by_driver, said_by_server) = match from {
            End::Driver => (bytes, [].as_slice()),
            End::Server => ([].as_slice(), bytes),
        };
        let mut driver_held = std::mem::take(&mut self.driver.held);
        let mut server_held = std::mem::take(&mut self.server.held);
        let run = sealed::run(|| {
            let mut driver = Pieces::new(&mut driver_held, said_by_driver);
            let mut server = Pieces::new(&mut server_held, said_by_server);
            let run = self.run(now_ms, &mut driver, &mut server);
            driver.keep();
            server.keep();
            run
        });
        self.driver.held = driver_held;
        self.server.held = server_held;
        run.map_err(|error| self.fail(error))?;
        for end in [End::Driver, End::Server] {
            // What waits for its turn and the part of a message that may be behind it.
            if self.side(end).held.len() > limits::EARLY_BYTES + limits::MESSAGE_BYTES {
                return Err(self.fail(RelayError::OutOfTurn { end }));
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        now_ms: u64,
        driver: &mut Pieces<'_>,
        server: &mut Pieces<'_>,
    ) -> Result<(), RelayError> {
        let (to_driver, to_server) = (&mut self.driver.out, &mut self.server.out);
        loop {
            let moved = match &mut self.state {
                State::Door(door) => {
                    let moved = door.step(driver, to_driver)?;
                    if let Some(request) = door.open() {
                        let machine = Machine::begin(&self.config.server, &request, to_server)?;
                        self.state = State::Machine(request, Box::new(machine));
                        self.since_ms = now_ms;
                    }
                    moved
                }
                State::Machine(request, machine) => {
                    let moved = machine.step(&self.config.server, server, to_server)?;
                    if let Some(chosen) = machine.open() {
                        let mut talk = Talk::new(chosen, request.protocols);
                        if self.lets_through {
                            talk.let_through();
                        }
                        self.state = State::Talk(Box::new(talk));
                        self.since_ms = now_ms;
                        continue;
                    }
                    moved
                }
                State::Talk(talk) => {
                    let mut out = Out {
                        to_driver,
                        to_server,
                        acts: &mut self.acts,
                        desktop: &mut self.desktop,
                        shown: &mut self.shown,
                    };
                    let heard = talk.hear_server(server, &mut out)?;
                    talk.hear_driver(&self.config, driver, &mut out)? || heard
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
        let inside_message = self.is_inside_message(end);
        let error = match (&self.state, end) {
            (State::Failed(error), _) => return error.clone(),
            (State::Machine(_, machine), End::Server) => {
                machine.cut_short(Error::Closed { inside_message }).into()
            }
            (_, End::Server) => Error::Closed { inside_message }.into(),
            (_, End::Driver) => DriverError::Closed { inside_message }.into(),
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
        self.now_ms = now_ms;
        if let State::Failed(error) = &self.state {
            return Err(error.clone());
        }
        match self.deadline() {
            Some((at_ms, late)) if at_ms <= now_ms => Err(self.fail(late)),
            _ => Ok(()),
        }
    }

    /// When the silence of an end ends the relay, and how.
    fn deadline(&self) -> Option<(u64, RelayError)> {
        let since = |limit_ms| self.since_ms.saturating_add(limit_ms);
        match &self.state {
            State::Door(_) => {
                let at_ms = since(limits::DRIVER_SIGN_IN_MS);
                Some((at_ms, DriverError::SignInTimeout.into()))
            }
            State::Machine(_, machine) => {
                let late = machine.cut_short(Error::HandshakeTimeout);
                Some((since(limits::HANDSHAKE_MS), late.into()))
            }
            State::Talk(talk) if !talk.is_established() => {
                let late = match talk.owes {
                    End::Driver => DriverError::HandshakeTimeout.into(),
                    End::Server => Error::HandshakeTimeout.into(),
                };
                Some((since(limits::HANDSHAKE_MS), late))
            }
            State::Talk(_) => {
                let silent = |end, side: &Side, late| {
                    let at_ms = side.heard_ms.saturating_add(limits::MESSAGE_SILENCE_MS);
                    self.is_inside_message(end).then_some((at_ms, late))
                };
                let driver = DriverError::MessageTimeout.into();
                let driver = silent(End::Driver, &self.driver, driver);
                let server = silent(End::Server, &self.server, Error::MessageTimeout.into());
                [driver, server]
                    .into_iter()
                    .flatten()
                    .min_by_key(|(at_ms, _)| *at_ms)
            }
            State::Failed(_) => None,
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) if no bytes come before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        match &self.state {
            // It may not have been told yet.
            State::Failed(_) => Some(self.now_ms),
            _ => self.deadline().map(|(at_ms, _)| at_ms),
        }
    }

    /// Whether a message of `end` has begun and not ended.
    fn is_inside_message(&self, end: End) -> bool {
        match (&self.state, end) {
            // What is held then has ended and waits for its turn.
            (State::Talk(talk), End::Driver) => talk.hears_driver() && !self.driver.held.is_empty(),
            (State::Talk(_), End::Server) => !self.server.held.is_empty(),
            _ => false,
        }
    }

    fn fail(&mut self, error: RelayError) -> RelayError {
        self.driver.held = Vec::new();
        self.server.held = Vec::new();
        self.state = State::Failed(error.clone());
        error
    }

    /// The end whose connection is to be encrypted now, by TLS: to the driver as a server, to the
    /// machine as a client. Until [`handle_upgraded`](Self::handle_upgraded) nothing else happens:
    /// everything to transmit was given out before, and bytes it sends belong to the encryption.
    #[must_use]
    pub fn poll_upgrade(&self) -> Option<End> {
        match &self.state {
            State::Door(door) if door.upgrade_is_due() && self.driver.out.is_empty() => {
                Some(End::Driver)
            }
            State::Machine(_, machine)
                if machine.upgrade_is_due() && self.server.out.is_empty() =>
            {
                Some(End::Server)
            }
            _ => None,
        }
    }

    /// Says that the connection of `end` is encrypted, with `certificate_der`: to the driver our
    /// own, whose key a sign-in is bound to, to the machine the machine's, which the caller has
    /// decided to believe. Nothing happens unless [`poll_upgrade`](Self::poll_upgrade) asks.
    ///
    /// # Errors
    /// When it took too long, or the certificate cannot be read and is needed to sign in; every
    /// later call returns the same error.
    pub fn handle_upgraded(
        &mut self,
        now_ms: u64,
        end: End,
        certificate_der: &[u8],
    ) -> Result<(), RelayError> {
        self.check_deadline(now_ms)?;
        let upgraded: Result<(), RelayError> = sealed::run(|| {
            match (&mut self.state, end) {
                (State::Door(door), End::Driver) => door.upgraded(certificate_der)?,
                (State::Machine(_, machine), End::Server) => {
                    machine.upgraded(&self.config.server, certificate_der, &mut self.server.out)?;
                }
                _ => {}
            }
            Ok(())
        });
        upgraded.map_err(|error| self.fail(error))?;
        self.advance(now_ms, end, &[])
    }

    /// What to write to an end next.
    pub fn poll_transmit(&mut self, to: End) -> Option<Vec<u8>> {
        let out = &mut self.side(to).out;
        (!out.is_empty()).then(|| std::mem::take(out))
    }

    /// What the driver did next, and what went over the clipboard either way. It has been
    /// forwarded, or is among what is to be transmitted.
    pub fn poll_input(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }

    /// The desktop, once driver and machine have agreed on it: what a session that watches begins
    /// with.
    pub const fn poll_desktop(&mut self) -> Option<Desktop> {
        self.desktop.take()
    }

    /// What the machine has said of the desktop since, in whole messages: what a session that
    /// watches is to handle next. What goes through channels is none of it.
    pub fn poll_shown(&mut self) -> Option<Vec<u8>> {
        (!self.shown.is_empty()).then(|| std::mem::take(&mut self.shown))
    }

    /// Says to the machine what a session that watches transmits, in whole messages: they go
    /// between those of the driver, and nowhere while there is no desktop.
    pub fn ask(&mut self, messages: &[u8]) {
        if let State::Talk(talk) = &self.state {
            talk.ask(messages, &mut self.server.out);
        }
    }

    /// Whether to read on. A driver whose input is held is not read from, so that it waits.
    #[must_use]
    pub fn wants_bytes(&self, from: End) -> bool {
        match (&self.state, from) {
            // What comes behind a goodbye is that it hangs up.
            (State::Talk(talk), End::Driver) => talk.hears_driver() || talk.has_left(),
            // Its settings come early, and wait here.
            (State::Machine(..), End::Driver) => self.driver.held.is_empty(),
            _ => true,
        }
    }

    /// Lets the driver operate the machine from now on. What it did before comes first; where that
    /// cannot be read, the next call tells.
    pub fn let_through(&mut self) {
        self.lets_through = true;
        if let State::Talk(talk) = &mut self.state {
            talk.let_through();
            // The error is kept, and due at once.
            let _ = self.advance(self.now_ms, End::Driver, &[]);
        }
    }

    /// Whether the driver has said goodbye to the desktop. The machine does not know, so that a
    /// session that watches can still ask it for proof of its last picture; the caller then hangs
    /// up.
    #[must_use]
    pub const fn has_left(&self) -> bool {
        match &self.state {
            State::Talk(talk) => talk.has_left(),
            _ => false,
        }
    }

    /// Whether there is, or was, a desktop.
    #[must_use]
    pub const fn is_established(&self) -> bool {
        match &self.state {
            State::Talk(talk) => talk.is_established(),
            _ => false,
        }
    }

    /// What was dropped so far, of the channels that are not forwarded.
    pub fn dropped(&self) -> impl Iterator<Item = &Dropped> {
        let talk = match &self.state {
            State::Talk(talk) => Some(talk),
            _ => None,
        };
        talk.into_iter().flat_map(|talk| talk.channels().dropped())
    }

    const fn side(&mut self, end: End) -> &mut Side {
        match end {
            End::Driver => &mut self.driver,
            End::Server => &mut self.server,
        }
    }
}
