//! Network level authentication: CredSSP with NTLM (MS-CSSP, MS-NLMP), by `sspi`.
//!
//! The exchange binds the key of the certificate that the connection is encrypted with, so nobody
//! can stand in between, whatever certificate was believed. `sspi` draws its random numbers, and
//! reads the wall clock for one of its stamps, itself: this is the one part of a session that does
//! not depend on its arguments alone.

use ironrdp_connector::{
    ConnectorError, ConnectorErrorKind, Credentials, ServerName,
    credssp::CredsspSequence,
    sspi::{self, credssp::NStatusCode, credssp::TsRequest},
};
use ironrdp_core::WriteBuf;
use ironrdp_pdu::nego::SecurityProtocol;
use x509_cert::{Certificate, der::Decode as _};

use super::Progress;
use crate::{
    auth,
    config::Config,
    error::{Error, Phase},
    pieces::Pieces,
};

/// A sign-in in progress.
pub(crate) struct SignIn {
    sequence: CredsspSequence,
    /// How many messages the server has been sent. The second one says who we are.
    sent: u32,
}

const BROKEN: Error = Error::Handshake(Phase::SignIn);

impl SignIn {
    /// Begins to sign in to who holds the key of `certificate`.
    pub(crate) fn begin(
        config: &Config,
        protocol: SecurityProtocol,
        certificate: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        let user = config.user.as_deref().ok_or(Error::UserRequired)?;
        let password = config.password.as_ref().ok_or(Error::PasswordRequired)?;
        let (domain, name) = auth::account(user);
        let credentials = Credentials::UsernamePassword {
            username: name.to_owned(),
            password: password.as_str().to_owned(),
        };
        let (sequence, first) = CredsspSequence::init(
            credentials,
            domain,
            protocol,
            ServerName::new(&config.host),
            public_key(certificate)?,
            None,
        )
        .map_err(|_| Error::UserUnusable)?;
        let mut sign_in = Self { sequence, sent: 0 };
        sign_in.answer(first, out)?;
        Ok(sign_in)
    }

    /// Whether nothing more is to be said or heard.
    pub(crate) fn is_done(&self) -> bool {
        self.sequence.next_pdu_hint().is_none()
    }

    /// Whether the server knows who we say we are.
    pub(crate) const fn has_answered(&self) -> bool {
        self.sent >= 2
    }

    /// Takes the next message, if there is one, and answers it.
    pub(crate) fn step(
        &mut self,
        input: &mut Pieces<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        let hint = self.sequence.next_pdu_hint().ok_or(BROKEN)?;
        let message = input.next(|bytes| match bytes.first() {
            // The last word is four bytes of no structure, and `sspi` waits for ever for what
            // does not begin as a sequence.
            Some(0x30) => hint
                .find_size(bytes)
                .map(|size| size.map(|(_, len)| len))
                .map_err(|_| BROKEN),
            Some(_) => match hint.find_size(&[]) {
                Ok(Some((_, len))) => Ok(Some(len)),
                _ => Err(BROKEN),
            },
            None => Ok(None),
        })?;
        let Some(message) = message else {
            return Ok(Progress::Starved);
        };
        let request = self.sequence.decode_server_message(&message);
        if let Some(request) = request.map_err(|error| connector_error(&error))? {
            self.answer(request, out)?;
        }
        Ok(Progress::Moved)
    }

    fn answer(&mut self, request: TsRequest, out: &mut Vec<u8>) -> Result<(), Error> {
        let refused = request.error_code;
        let processed = self
            .sequence
            .process_ts_request(request)
            .resolve_to_result();
        let state = processed.map_err(|error| sspi_error(refused, &error))?;
        let mut buffer = WriteBuf::new();
        self.sequence
            .handle_process_result(state, &mut buffer)
            .map_err(|_| BROKEN)?;
        self.sent = self.sent.saturating_add(1);
        out.extend_from_slice(buffer.filled());
        Ok(())
    }
}

/// The key that the sign-in is bound to (MS-CSSP section 3.1.5): as it lies in the certificate.
pub(crate) fn public_key(certificate: &[u8]) -> Result<Vec<u8>, Error> {
    let certificate = Certificate::from_der(certificate).map_err(|_| Error::Certificate)?;
    let key = certificate.tbs_certificate().subject_public_key_info();
    let key = key.subject_public_key.as_bytes();
    Ok(key.ok_or(Error::Certificate)?.to_vec())
}

fn connector_error(error: &ConnectorError) -> Error {
    match error.kind() {
        ConnectorErrorKind::AccessDenied => Error::AccessDenied,
        _ => BROKEN,
    }
}

fn sspi_error(refused: Option<NStatusCode>, error: &sspi::Error) -> Error {
    match (refused, error.error_type) {
        (Some(NStatusCode(status)), _) => Error::of_status(status),
        (None, sspi::ErrorKind::MessageAltered | sspi::ErrorKind::DecryptFailure) => {
            Error::ServerUnproven
        }
        (None, _) => BROKEN,
    }
}
