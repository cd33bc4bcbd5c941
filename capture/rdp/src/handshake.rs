//! From the first byte to the desktop's size (MS-RDPBCGR section 1.3.1.1): IronRDP's connector,
//! with the errors told apart that an operator can do something about.

pub(crate) mod offer;
mod sign_in;

use ironrdp_connector::{
    ClientConnector, ClientConnectorState, ConnectionOutcome, ConnectionResult, ConnectorError,
    ConnectorErrorKind, Sequence as _,
};
use ironrdp_core::{MonotonicInstant, WriteBuf, decode};
use ironrdp_pdu::{
    nego::{ConnectionConfirm, FailureCode, SecurityProtocol},
    x224::X224,
};

pub(crate) use self::sign_in::{SignIn, public_key};
use crate::{
    config::{Config, Security},
    ended,
    error::{Error, Phase},
    pieces::Pieces,
};

/// What a step came to.
pub(crate) enum Progress {
    /// More bytes, or the encryption, are needed.
    Starved,
    /// Something was done.
    Moved,
    /// The desktop is known.
    Done(Box<ConnectionResult>),
}

/// A handshake in progress.
pub(crate) struct Handshake {
    config: Config,
    connector: ClientConnector,
    sign_in: Option<SignIn>,
    /// What the server proves to hold the key of.
    certificate: Vec<u8>,
}

impl Handshake {
    /// A handshake whose first message is written to `out`.
    pub(crate) fn begin(config: Config, out: &mut Vec<u8>) -> Result<Self, Error> {
        let mut handshake = Self {
            connector: offer::connector(&config)?,
            config,
            sign_in: None,
            certificate: Vec::new(),
        };
        handshake.advance(0, &[], out)?;
        Ok(handshake)
    }

    /// Whether the connection is to be encrypted now.
    pub(crate) fn upgrade_is_due(&self) -> bool {
        self.connector.should_perform_security_upgrade()
    }

    /// The connection is encrypted to who holds the key of `certificate`, which is in DER.
    pub(crate) fn upgraded(&mut self, certificate: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        if !self.upgrade_is_due() {
            return Ok(());
        }
        certificate.clone_into(&mut self.certificate);
        self.advance(0, &[], out)?;
        if let ClientConnectorState::Credssp { selected_protocol } = self.connector.state {
            let begun = SignIn::begin(&self.config, selected_protocol, &self.certificate, out)?;
            self.sign_in = Some(begun);
        }
        Ok(())
    }

    /// Takes the next message, if there is one, and answers it.
    pub(crate) fn step(
        &mut self,
        now_ms: u64,
        input: &mut Pieces<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        if self.upgrade_is_due() {
            return match input.is_empty() {
                true => Ok(Progress::Starved),
                false => Err(Error::UnencryptedBytes),
            };
        }
        if let Some(sign_in) = &mut self.sign_in {
            if !sign_in.is_done() {
                return sign_in.step(input, out);
            }
            self.sign_in = None;
            return self.advance(now_ms, &[], out);
        }
        if self.connector.should_perform_multitransport() {
            // UDP beside the connection would pass the encryption and its check by.
            return self.write(out, |connector, buffer| {
                connector.skip_multitransport(buffer).map(|_| ())
            });
        }
        let phase = self.phase();
        let Some(hint) = self.connector.next_pdu_hint() else {
            return self.advance(now_ms, &[], out);
        };
        let message = input.next(|bytes| match hint.find_size(bytes) {
            // A picture, before there is a desktop.
            Ok(Some((false, _))) | Err(_) => Err(match phase {
                Phase::Negotiation => Error::NotRdp,
                phase => Error::Handshake(phase),
            }),
            Ok(size) => Ok(size.map(|(_, len)| len)),
        })?;
        let Some(message) = message else {
            return Ok(Progress::Starved);
        };
        match phase {
            Phase::Negotiation => {
                chosen(self.config.security, &message)?;
            }
            _ => ended::check(&message)?,
        }
        self.advance(now_ms, &message, out)
    }

    fn advance(
        &mut self,
        now_ms: u64,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        let received = MonotonicInstant::from_millis(now_ms);
        self.write(out, |connector, buffer| {
            connector.step(message, Some(received), buffer).map(|_| ())
        })
    }

    fn write(
        &mut self,
        out: &mut Vec<u8>,
        step: impl FnOnce(&mut ClientConnector, &mut WriteBuf) -> Result<(), ConnectorError>,
    ) -> Result<Progress, Error> {
        let phase = self.phase();
        let mut buffer = WriteBuf::new();
        step(&mut self.connector, &mut buffer).map_err(|error| error_in(phase, &error))?;
        out.extend_from_slice(buffer.filled());
        match self.connector.state.take_outcome() {
            Some(ConnectionOutcome::Connected(result)) => Ok(Progress::Done(Box::new(result))),
            Some(ConnectionOutcome::Redirected(_)) => Err(Error::Redirected),
            None => Ok(Progress::Moved),
        }
    }

    fn phase(&self) -> Phase {
        use ClientConnectorState as S;
        match &self.connector.state {
            S::ConnectionInitiationSendRequest
            | S::ConnectionInitiationWaitConfirm { .. }
            | S::EnhancedSecurityUpgrade { .. } => Phase::Negotiation,
            S::Credssp { .. } => Phase::SignIn,
            S::LicensingExchange { .. } => Phase::Licensing,
            S::MultitransportBootstrapping { .. }
            | S::CapabilitiesExchange { .. }
            | S::ConnectionFinalization { .. } => Phase::Capabilities,
            _ => Phase::Settings,
        }
    }

    /// Why it ended, when the connection was closed or fell silent with `cause`.
    pub(crate) fn cut_short(&self, cause: Error) -> Error {
        match (&self.sign_in, cause) {
            (Some(sign_in), Error::Closed { .. }) if sign_in.has_answered() => {
                Error::SignInCutShort
            }
            (_, cause) => cause,
        }
    }
}

/// What a server makes of how we would connect, and refusals told in our words.
pub(crate) fn chosen(security: Security, confirm: &[u8]) -> Result<SecurityProtocol, Error> {
    let X224(confirm) = decode::<X224<ConnectionConfirm>>(confirm).map_err(|_| Error::NotRdp)?;
    match confirm {
        ConnectionConfirm::Response { protocol, .. } => match security {
            Security::Nla if !protocol.intersects(offer::NLA) => Err(Error::NlaMissing),
            Security::Tls if protocol.intersects(offer::NLA) => Err(Error::NlaRequired),
            _ if !protocol.intersects(offer::NLA | SecurityProtocol::SSL) => Err(Error::TlsRefused),
            _ => Ok(protocol),
        },
        ConnectionConfirm::Failure { code } => Err(match code {
            FailureCode::HYBRID_REQUIRED_BY_SERVER => Error::NlaRequired,
            FailureCode::SSL_REQUIRED_BY_SERVER if security == Security::Nla => Error::NlaMissing,
            FailureCode::SSL_NOT_ALLOWED_BY_SERVER | FailureCode::SSL_CERT_NOT_ON_SERVER => {
                Error::TlsRefused
            }
            code => Error::NegotiationRefused { code: code.into() },
        }),
    }
}

fn error_in(phase: Phase, error: &ConnectorError) -> Error {
    match (phase, error.kind()) {
        (Phase::Licensing, ConnectorErrorKind::Custom) => Error::LicenceRefused,
        (_, ConnectorErrorKind::AccessDenied) => Error::AccessDenied,
        // What we were to say could not be written: it is the user's name that has no bound.
        (_, ConnectorErrorKind::Encode(_)) => Error::UserUnusable,
        _ => Error::Handshake(phase),
    }
}
