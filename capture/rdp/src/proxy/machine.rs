//! The relay signs in to the machine: from the first byte to where it is known
//! (MS-RDPBCGR sections 1.3.1.1 and 5.4.2).

use ironrdp_core::encode_vec;
use ironrdp_pdu::{
    find_size,
    nego::{ConnectionRequest, NegoRequestData, RequestFlags, SecurityProtocol},
    x224::X224,
};

use super::door::Request;
use crate::{
    auth,
    config::{Config, Security},
    error::Error,
    handshake::{self, Progress, SignIn, offer},
    pieces::Pieces,
};

/// A machine that is being signed in to.
pub(super) struct Machine {
    state: State,
}

enum State {
    /// Its answer is waited for.
    Confirm,
    /// The connection is to be encrypted.
    Encrypt(SecurityProtocol),
    /// We sign in.
    SignIn(SecurityProtocol, Box<SignIn>),
    /// We are in.
    Open(SecurityProtocol),
}

impl Machine {
    /// Begins with what is written to `out`.
    pub(super) fn begin(
        config: &Config,
        request: &Request,
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        let (_, name) = auth::account(config.user.as_deref().unwrap_or_default());
        // A driver that a balancer has sent is led on. Its own name is none of the machine's.
        let lead = match &request.lead {
            Some(NegoRequestData::RoutingToken(token)) => {
                Some(NegoRequestData::RoutingToken(token.clone()))
            }
            _ => (!name.is_empty()).then(|| NegoRequestData::cookie(name.to_owned())),
        };
        let asked = ConnectionRequest {
            nego_data: lead,
            flags: RequestFlags::empty(),
            protocol: match config.security {
                Security::Nla => offer::NLA,
                Security::NlaOrTls => offer::NLA | SecurityProtocol::SSL,
                Security::Tls => SecurityProtocol::SSL,
            },
            correlation_info: None,
        };
        // It is the user's name that has no bound.
        out.extend(encode_vec(&X224(asked)).map_err(|_| Error::UserUnusable)?);
        Ok(Self {
            state: State::Confirm,
        })
    }

    /// Whether the connection is to be encrypted now.
    pub(super) const fn upgrade_is_due(&self) -> bool {
        matches!(self.state, State::Encrypt(_))
    }

    /// The connection is encrypted to who holds the key of `certificate` (DER).
    pub(super) fn upgraded(
        &mut self,
        config: &Config,
        certificate: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if let State::Encrypt(protocol) = self.state {
            self.state = match protocol.intersects(offer::NLA) {
                true => {
                    let begun = SignIn::begin(config, protocol, certificate, out)?;
                    State::SignIn(protocol, Box::new(begun))
                }
                false => State::Open(protocol),
            };
        }
        Ok(())
    }

    /// What the machine chose, once we are in.
    pub(super) const fn open(&self) -> Option<SecurityProtocol> {
        match self.state {
            State::Open(protocol) => Some(protocol),
            _ => None,
        }
    }

    /// Takes the next message, if there is one, and answers it.
    pub(super) fn step(
        &mut self,
        config: &Config,
        server: &mut Pieces<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        match &mut self.state {
            State::Confirm => {
                let message = server.next(|bytes| match find_size(bytes) {
                    Ok(found) => Ok(found.map(|found| found.length)),
                    Err(_) => Err(Error::NotRdp),
                })?;
                let Some(message) = message else {
                    return Ok(false);
                };
                self.state = State::Encrypt(handshake::chosen(config.security, &message)?);
                Ok(true)
            }
            State::Encrypt(_) => match server.is_empty() {
                true => Ok(false),
                false => Err(Error::UnencryptedBytes),
            },
            State::SignIn(protocol, sign_in) => {
                if sign_in.is_done() {
                    self.state = State::Open(*protocol);
                    return Ok(true);
                }
                Ok(!matches!(sign_in.step(server, out)?, Progress::Starved))
            }
            State::Open(_) => Ok(false),
        }
    }

    /// Why it ended, when the connection was closed or fell silent with `cause`.
    pub(super) fn cut_short(&self, cause: Error) -> Error {
        match (&self.state, cause) {
            (State::SignIn(_, sign_in), Error::Closed { .. }) if sign_in.has_answered() => {
                Error::SignInCutShort
            }
            (_, cause) => cause,
        }
    }
}
