//! A driver comes to the door: what it can encrypt with, and whether it knows the password
//! (MS-RDPBCGR section 5.4.2).

mod sign_in;

use ironrdp_core::{decode, encode_vec};
use ironrdp_pdu::{
    find_size,
    nego::{
        ConnectionConfirm, ConnectionRequest, FailureCode, NegoRequestData, ResponseFlags,
        SecurityProtocol,
    },
    x224::X224,
};

use self::sign_in::SignIn;
use super::{Credentials, error::DriverError};
use crate::{error::Error, pieces::Pieces};

/// What a driver asked for before it was let in.
pub(super) struct Request {
    /// How it would encrypt. It is told the same later, to see that nobody changed it.
    pub(super) protocols: SecurityProtocol,
    /// Where it wants to be led, if it says.
    pub(super) lead: Option<NegoRequestData>,
}

/// A driver at the door.
pub(super) struct Door {
    credentials: Option<Credentials>,
    state: State,
}

enum State {
    /// Its request is waited for.
    Request,
    /// The connection is to be encrypted.
    Encrypt(Request),
    /// It signs in.
    SignIn(Request, Box<SignIn>),
    /// It is let in.
    Open(Request),
    /// It is not.
    Shut,
}

impl Door {
    pub(super) const fn new(credentials: Option<Credentials>) -> Self {
        Self {
            credentials,
            state: State::Request,
        }
    }

    /// Whether the connection is to be encrypted now.
    pub(super) const fn upgrade_is_due(&self) -> bool {
        matches!(self.state, State::Encrypt(_))
    }

    /// The connection is encrypted, with `certificate` (DER) as our own.
    pub(super) fn upgraded(&mut self, certificate: &[u8]) -> Result<(), DriverError> {
        self.state = match std::mem::replace(&mut self.state, State::Shut) {
            State::Encrypt(request) => match self.credentials.take() {
                Some(credentials) => {
                    State::SignIn(request, Box::new(SignIn::new(&credentials, certificate)?))
                }
                None => State::Open(request),
            },
            other => other,
        };
        Ok(())
    }

    /// What the driver asked for, once it is let in.
    pub(super) fn open(&mut self) -> Option<Request> {
        match std::mem::replace(&mut self.state, State::Shut) {
            State::Open(request) => Some(request),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Takes the next message, if there is one, and answers it.
    pub(super) fn step(
        &mut self,
        driver: &mut Pieces<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, DriverError> {
        match &mut self.state {
            State::Request => {
                let message = driver.next(request_len).map_err(|_| DriverError::NotRdp)?;
                let Some(message) = message else {
                    return Ok(false);
                };
                let request = decode::<X224<ConnectionRequest>>(&message);
                let X224(request) = request.map_err(|_| DriverError::NotRdp)?;
                self.answer(request, out)?;
                Ok(true)
            }
            State::Encrypt(_) => match driver.is_empty() {
                true => Ok(false),
                false => Err(DriverError::UnencryptedBytes),
            },
            State::SignIn(_, sign_in) => {
                let moved = sign_in.step(driver, out)?;
                if sign_in.is_done() {
                    self.state = match std::mem::replace(&mut self.state, State::Shut) {
                        State::SignIn(request, _) => State::Open(request),
                        other => other,
                    };
                }
                Ok(moved)
            }
            State::Open(_) | State::Shut => Ok(false),
        }
    }

    fn answer(&mut self, request: ConnectionRequest, out: &mut Vec<u8>) -> Result<(), DriverError> {
        let (wanted, missing, refusal) = match self.credentials {
            Some(_) => (
                SecurityProtocol::HYBRID,
                DriverError::NlaMissing,
                FailureCode::HYBRID_REQUIRED_BY_SERVER,
            ),
            None => (
                SecurityProtocol::SSL,
                DriverError::NoTls,
                FailureCode::SSL_REQUIRED_BY_SERVER,
            ),
        };
        let has_it = request.protocol.contains(wanted);
        let confirm = match has_it {
            true => ConnectionConfirm::Response {
                // Without it drivers say nothing of their monitors.
                flags: ResponseFlags::EXTENDED_CLIENT_DATA_SUPPORTED,
                protocol: wanted,
            },
            false => ConnectionConfirm::Failure { code: refusal },
        };
        // It has no part of unbounded length, so it can be written.
        out.extend(encode_vec(&X224(confirm)).unwrap_or_default());
        if !has_it {
            return Err(missing);
        }
        self.state = State::Encrypt(Request {
            protocols: request.protocol,
            lead: request.nego_data,
        });
        Ok(())
    }
}

/// What does not begin as a TPKT is no RDP, and is not waited for.
fn request_len(bytes: &[u8]) -> Result<Option<usize>, Error> {
    match bytes.first() {
        Some(3) => match find_size(bytes) {
            Ok(found) => Ok(found.map(|found| found.length)),
            Err(_) => Err(Error::NotRdp),
        },
        Some(_) => Err(Error::NotRdp),
        None => Ok(None),
    }
}
