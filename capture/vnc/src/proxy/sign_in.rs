//! The handshake between a driver and its server (RFC 6143 sections 7.1–7.3), with us between.
//!
//! Towards the server the relay speaks the latest version there is, towards the driver what both
//! can. Without security and with a VNC password each end's words go on to the other: a challenge
//! is bound to no connection, so the relay needs no password. Other ways to sign in cannot be
//! relayed, so there the relay signs in by itself and then asks the driver for the same password.

use capture::Size;

use super::{RelayConfig, RelayError};
use crate::{
    auth::vnc,
    driver::{self, Accept, DriverError, accept},
    error::Error,
    handshake::{
        self, Desktop, Handshake, Offer, Progress, Refusal, SECURITY_NONE, SECURITY_VNC_PASSWORD,
        TlsRequest, Version,
    },
    input::Input,
    limits, request,
};

/// What is waited for.
enum State {
    /// The server's version.
    ServerVersion,
    /// The driver's, that is no later.
    DriverVersion,
    /// The security types that the server offers.
    Security,
    /// The driver's choice of those that can be relayed.
    Choice(Vec<u8>),
    /// What the server wants encrypted with the password.
    Challenge,
    /// What the driver made of it.
    Response,
    /// Whether the server lets the driver in, by this security type.
    Result(u8),
    /// Why it does not; before a driver was offered anything, or after it signed in.
    Reason { refusal: Refusal, offered: bool },
    /// Whether the driver shares the desktop. It will.
    ClientInit,
    /// The rest of the handshake with the server, after which the driver is told of the desktop.
    Desktop(Box<Handshake>),
    /// Our own sign-in, while the driver waits for security types.
    Own(Box<Handshake>),
    /// The driver's sign-in after that.
    Accept(Box<Accept>, Desktop),
}

/// Whose next word is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Server,
    /// A program's.
    Driver,
    /// Perhaps a person's.
    SignIn,
}

impl Wait {
    pub(super) const fn limit_ms(self) -> u64 {
        match self {
            Self::Server | Self::Driver => limits::HANDSHAKE_MS,
            Self::SignIn => limits::DRIVER_SIGN_IN_MS,
        }
    }
}

/// What came of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// More bytes must arrive first.
    Starved,
    /// A part is done; the next step may go on.
    Moved,
    /// The driver knows of the desktop, whose size this is.
    Done(Size),
}

/// Both ends, what they said and what they are to be told.
pub(super) struct Ends<'a, 'b> {
    pub(super) driver: &'a mut Input<'b>,
    pub(super) server: &'a mut Input<'b>,
    pub(super) to_driver: &'a mut Vec<u8>,
    pub(super) to_server: &'a mut Vec<u8>,
}

/// A handshake under way.
pub(super) struct SignIn {
    state: State,
    config: RelayConfig,
    server_version: Version,
    /// What the driver speaks.
    // INVARIANT: no later than the server's.
    driver_version: Version,
}

impl SignIn {
    pub(super) const fn new(config: RelayConfig) -> Self {
        Self {
            state: State::ServerVersion,
            config,
            server_version: Version::V3_3,
            driver_version: Version::V3_3,
        }
    }

    pub(super) const fn waits_for(&self) -> Wait {
        match self.state {
            State::ServerVersion
            | State::Security
            | State::Challenge
            | State::Result(_)
            | State::Reason { .. }
            | State::Desktop(_)
            | State::Own(_) => Wait::Server,
            State::DriverVersion | State::ClientInit => Wait::Driver,
            State::Choice(_) | State::Response | State::Accept(..) => Wait::SignIn,
        }
    }

    /// The error when what is waited for does not come.
    pub(super) fn late(&self) -> RelayError {
        match self.waits_for() {
            Wait::Server => self.cut_short(Error::HandshakeTimeout).into(),
            Wait::Driver | Wait::SignIn => DriverError::HandshakeTimeout.into(),
        }
    }

    /// The error that a server which says no more than this deserves.
    pub(super) fn cut_short(&self, other: Error) -> Error {
        match &self.state {
            State::Reason { refusal, .. } => refusal.error(String::new()),
            State::Own(handshake) | State::Desktop(handshake) => handshake.cut_short(other),
            _ => other,
        }
    }

    /// Tells the driver why it is not let in, if that is what it waits for.
    pub(super) fn explain(&self, error: &RelayError, out: &mut Vec<u8>) {
        match self.state {
            State::Security | State::Own(_) | State::Reason { offered: false, .. } => {
                accept::refuse(self.driver_version, &error.explanation(), out);
            }
            State::Reason { offered: true, .. } if self.driver_version >= Version::V3_8 => {
                accept::explain(&error.explanation(), out);
            }
            _ => {}
        }
    }

    /// Takes the next part and answers it.
    ///
    /// # Errors
    /// When one end refuses the other or breaks the protocol.
    pub(super) fn step(&mut self, ends: &mut Ends<'_, '_>) -> Result<Step, RelayError> {
        let next = match &mut self.state {
            State::ServerVersion => self.server_version(ends)?,
            State::DriverVersion => self.driver_version(ends)?,
            State::Security => self.security(ends)?,
            State::Choice(offered) => match ends.driver.take_array() {
                Some([kind]) if offered.contains(&kind) => Some(self.enter(kind, ends)),
                Some([kind]) => return Err(DriverError::SecurityChoice { kind }.into()),
                None => None,
            },
            State::Challenge => pass(ends.server, ends.to_driver).then_some(State::Response),
            State::Response => {
                pass(ends.driver, ends.to_server).then_some(State::Result(SECURITY_VNC_PASSWORD))
            }
            State::Result(kind) => {
                let kind = *kind;
                self.result(kind, ends)?
            }
            State::Reason { refusal, .. } => match handshake::reason(ends.server) {
                Some(said) => return Err(refusal.error(said).into()),
                None => None,
            },
            State::ClientInit => ends.driver.take_array::<1>().map(|_| {
                ends.to_server.extend(request::CLIENT_INIT);
                State::Desktop(Box::new(Handshake::signed_in()))
            }),
            State::Desktop(handshake) => match handshake.step(ends.server, ends.to_server)? {
                Progress::Starved => None,
                Progress::Moved => return Ok(Step::Moved),
                Progress::Done(desktop) => {
                    driver::server_init(&desktop, ends.to_driver);
                    return Ok(Step::Done(desktop.size));
                }
            },
            State::Own(handshake) => match handshake.step(ends.server, ends.to_server)? {
                Progress::Starved => None,
                Progress::Moved => return Ok(Step::Moved),
                Progress::Done(desktop) => Some(self.accept(desktop, ends)),
            },
            State::Accept(accept, desktop) => match accept.step(ends.driver, ends.to_driver)? {
                driver::Step::Starved => None,
                driver::Step::Moved => return Ok(Step::Moved),
                driver::Step::Done => {
                    driver::server_init(desktop, ends.to_driver);
                    return Ok(Step::Done(desktop.size));
                }
            },
        };
        Ok(match next {
            Some(next) => {
                self.state = next;
                Step::Moved
            }
            None => Step::Starved,
        })
    }

    fn server_version(&mut self, ends: &mut Ends<'_, '_>) -> Result<Option<State>, RelayError> {
        let Some(version) = Version::take(ends.server)? else {
            return Ok(None);
        };
        self.server_version = version;
        ends.to_server.extend(version.announcement());
        // Apple's own name for 3.8 is unknown to many drivers.
        self.driver_version = version.min(Version::V3_8);
        ends.to_driver.extend(self.driver_version.announcement());
        Ok(Some(State::DriverVersion))
    }

    fn driver_version(&mut self, ends: &mut Ends<'_, '_>) -> Result<Option<State>, RelayError> {
        let version = accept::version(self.driver_version, ends.driver)?;
        Ok(version.map(|version| {
            self.driver_version = version;
            State::Security
        }))
    }

    fn security(&mut self, ends: &mut Ends<'_, '_>) -> Result<Option<State>, RelayError> {
        let Some(offer) = Offer::peek(self.server_version, ends.server)? else {
            return Ok(None);
        };
        if offer.kinds.is_empty() {
            ends.server.consume(offer.len);
            let refusal = Refusal::Connection;
            return Ok(Some(State::Reason {
                refusal,
                offered: false,
            }));
        }
        let relayed = |kind: &u8| matches!(*kind, SECURITY_NONE | SECURITY_VNC_PASSWORD);
        let relayed: Vec<u8> = offer.kinds.into_iter().filter(relayed).collect();
        let Some(&first) = relayed.first().filter(|_| self.config.tls.is_none()) else {
            // The offer is still there for it to read.
            let (version, credentials) = (self.server_version, self.config.credentials());
            let handshake = Handshake::versed(version, credentials, self.config.tls);
            return Ok(Some(State::Own(Box::new(handshake))));
        };
        ends.server.consume(offer.len);
        accept::offer(self.driver_version, &relayed, ends.to_driver);
        Ok(Some(if self.driver_version == Version::V3_3 {
            self.enter(first, ends)
        } else {
            State::Choice(relayed)
        }))
    }

    /// What follows once the driver's security type is known.
    fn enter(&self, kind: u8, ends: &mut Ends<'_, '_>) -> State {
        if self.server_version > Version::V3_3 {
            ends.to_server.push(kind);
        }
        if kind == SECURITY_VNC_PASSWORD {
            State::Challenge
        } else if self.server_version >= Version::V3_8 {
            State::Result(kind)
        } else {
            // Only 3.8 confirms that no security was agreed on.
            State::ClientInit
        }
    }

    fn result(&self, kind: u8, ends: &mut Ends<'_, '_>) -> Result<Option<State>, RelayError> {
        let Some(result) = ends.server.take_array() else {
            return Ok(None);
        };
        let password = kind == SECURITY_VNC_PASSWORD;
        let refusal = match u32::from_be_bytes(result) {
            0 => None,
            1 if password => Some(Refusal::Password),
            1 => Some(Refusal::Connection),
            2 => Some(Refusal::TooManyAttempts),
            code => return Err(Error::SecurityResult { code }.into()),
        };
        if password || self.driver_version >= Version::V3_8 {
            ends.to_driver.extend(result);
        }
        match refusal {
            None => Ok(Some(State::ClientInit)),
            Some(refusal) if self.server_version >= Version::V3_8 => Ok(Some(State::Reason {
                refusal,
                offered: true,
            })),
            Some(refusal) => Err(refusal.error(String::new()).into()),
        }
    }

    /// We are in: the driver is asked for the same password.
    fn accept(&self, desktop: Desktop, ends: &mut Ends<'_, '_>) -> State {
        let RelayConfig {
            password,
            challenge,
            ..
        } = &self.config;
        let (version, password) = (self.driver_version, password.clone());
        let accept = Accept::greeted(version, password, *challenge, ends.to_driver);
        State::Accept(Box::new(accept), desktop)
    }

    /// The encryption that the caller is to begin, if it is time.
    pub(super) fn upgrade(&self) -> Option<TlsRequest> {
        match &self.state {
            State::Own(handshake) => handshake.upgrade(),
            _ => None,
        }
    }

    /// The connection to the server is encrypted now.
    pub(super) fn upgraded(&mut self, out: &mut Vec<u8>) {
        if let State::Own(handshake) = &mut self.state {
            handshake.upgraded(out);
        }
    }
}

/// Passes a challenge, or the answer to one, on; false until it is there whole.
fn pass(from: &mut Input<'_>, to: &mut Vec<u8>) -> bool {
    let passed = from.take_array::<{ vnc::CHALLENGE_BYTES }>();
    to.extend(passed.into_iter().flatten());
    passed.is_some()
}
