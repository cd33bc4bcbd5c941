//! A driver comes to the door: what it can encrypt with, and whether it knows the password
//! (MS-RDPBCGR section 5.4.2, MS-CSSP section 3.1.5 as the server).

use ironrdp_connector::sspi::{
    self, AuthIdentity, NegotiateConfig, Username,
    credssp::{
        CredSspServer, CredentialsProxy, NStatusCode, ServerError, ServerMode, ServerState,
        TsRequest,
    },
    ntlm::NtlmConfig,
};
use ironrdp_core::{decode, encode_vec};
use ironrdp_pdu::{
    find_size,
    nego::{
        ConnectionConfirm, ConnectionRequest, FailureCode, NegoRequestData, ResponseFlags,
        SecurityProtocol,
    },
    x224::X224,
};

use super::{Credentials, error::DriverError};
use crate::{
    error::{Error, Phase},
    handshake,
    pieces::Pieces,
};

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

const BROKEN: DriverError = DriverError::Handshake(Phase::SignIn);

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
                if sign_in.is_done {
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

/// Network level authentication of a driver: CredSSP with NTLM, bare or in SPNEGO. As with the
/// machine's, `sspi` draws its random numbers itself.
struct SignIn {
    known: Known,
    key: Vec<u8>,
    /// Nothing before the first message, which tells the kind.
    server: Option<CredSspServer<Known>>,
    is_done: bool,
}

/// Who is let in.
#[derive(Clone)]
struct Known(AuthIdentity);

impl CredentialsProxy for Known {
    type AuthenticationData = AuthIdentity;

    fn auth_data_by_user(&mut self, user: &Username) -> std::io::Result<AuthIdentity> {
        let known = self.0.username.account_name().to_lowercase();
        if user.account_name().to_lowercase() != known {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        // The driver's own spelling, and its domain, are part of what it proves.
        Ok(AuthIdentity {
            username: user.clone(),
            password: self.0.password.clone(),
        })
    }

    fn auth_data(&mut self) -> std::io::Result<Vec<AuthIdentity>> {
        Ok(vec![self.0.clone()])
    }
}

impl SignIn {
    fn new(credentials: &Credentials, certificate: &[u8]) -> Result<Self, DriverError> {
        let key = handshake::public_key(certificate).map_err(|_| DriverError::Certificate)?;
        // A name that is none lets nobody in.
        let username = Username::parse(&credentials.user).map_err(|_| BROKEN)?;
        Ok(Self {
            known: Known(AuthIdentity {
                username,
                password: credentials.password.as_str().to_owned().into(),
            }),
            key,
            server: None,
            is_done: false,
        })
    }

    fn step(&mut self, driver: &mut Pieces<'_>, out: &mut Vec<u8>) -> Result<bool, DriverError> {
        let message = driver.next(der_len).map_err(|error| match error {
            Error::MessageTooLong { len_bytes } => DriverError::MessageTooLong { len_bytes },
            _ => BROKEN,
        })?;
        let Some(message) = message else {
            return Ok(false);
        };
        let request = TsRequest::from_buffer(&message).map_err(|_| BROKEN)?;
        let token = request.nego_tokens.as_deref().unwrap_or_default();
        let mode = mode_of(token);
        if self.server.is_none() {
            let server = CredSspServer::new(self.key.clone(), self.known.clone(), mode);
            self.server = Some(server.map_err(|_| BROKEN)?);
        }
        let Some(server) = &mut self.server else {
            return Err(BROKEN);
        };
        match server.process(request).resolve_to_result() {
            Ok(ServerState::ReplyNeeded(answer)) => write(&answer, out)?,
            // What the driver would have us sign in with elsewhere is for nobody.
            Ok(ServerState::Finished(_)) => self.is_done = true,
            Err(ServerError { ts_request, error }) => {
                let refused = is_refusal(&error);
                if let (Some(mut answer), true) = (ts_request, refused) {
                    answer.error_code = Some(NStatusCode::LOGON_FAILURE);
                    answer.nego_tokens = None;
                    answer.pub_key_auth = None;
                    write(&answer, out)?;
                }
                return Err(match refused {
                    true => DriverError::PasswordRefused,
                    false => BROKEN,
                });
            }
        }
        Ok(true)
    }
}

/// How long a message is, by its first bytes: a sequence in DER.
fn der_len(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let broken = Error::Handshake(Phase::SignIn);
    match bytes {
        [] | [0x30] => Ok(None),
        [0x30, short @ 0..=0x7f, ..] => Ok(Some(usize::from(*short) + 2)),
        [0x30, long @ 0x81..=0x83, rest @ ..] => {
            let of = usize::from(*long & 0x7f);
            let len = rest.get(..of).map(|len| {
                let len = len
                    .iter()
                    .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
                len + of + 2
            });
            Ok(len)
        }
        _ => Err(broken),
    }
}

/// In which form a driver signs in, by its first token.
fn mode_of(token: &[u8]) -> ServerMode {
    let ntlm = NtlmConfig::default();
    match token.starts_with(b"NTLMSSP\0") {
        true => ServerMode::Ntlm(ntlm),
        false => ServerMode::Negotiate(NegotiateConfig {
            protocol_config: Box::new(ntlm),
            package_list: Some("ntlm,!kerberos,!pku2u".into()),
            client_computer_name: String::new(),
        }),
    }
}

/// Whether a sign-in fails because of who signs in, and not because of how.
fn is_refusal(error: &sspi::Error) -> bool {
    matches!(
        error.error_type,
        sspi::ErrorKind::LogonDenied
            | sspi::ErrorKind::MessageAltered
            | sspi::ErrorKind::DecryptFailure
            | sspi::ErrorKind::NoCredentials
            | sspi::ErrorKind::UnknownCredentials
    )
}

fn write(answer: &TsRequest, out: &mut Vec<u8>) -> Result<(), DriverError> {
    answer.encode_ts_request(out).map_err(|_| BROKEN)
}
