//! Network level authentication of a driver (MS-CSSP section 3.1.5, as the server).

use ironrdp_connector::sspi::{
    self, AuthIdentity, NegotiateConfig, Username,
    credssp::{
        CredSspServer, CredentialsProxy, NStatusCode, ServerError, ServerMode, ServerState,
        TsRequest,
    },
    ntlm::NtlmConfig,
};

use crate::{
    error::{Error, Phase},
    handshake,
    pieces::Pieces,
    proxy::{Credentials, error::DriverError},
};

const BROKEN: DriverError = DriverError::Handshake(Phase::SignIn);

/// A sign-in in progress: CredSSP with NTLM, bare or in SPNEGO. As with the machine's, `sspi` draws
/// its random numbers itself.
pub(super) struct SignIn {
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

    /// Asked before anybody has told a name. In SPNEGO no other name is let in than one of these.
    fn auth_data(&mut self) -> std::io::Result<Vec<AuthIdentity>> {
        let mut known = vec![self.0.clone()];
        let alone = Username::new_down_level_logon_name(self.0.username.account_name(), "");
        known.extend(alone.ok().map(|username| AuthIdentity {
            username,
            password: self.0.password.clone(),
        }));
        Ok(known)
    }
}

impl SignIn {
    pub(super) fn new(credentials: &Credentials, certificate: &[u8]) -> Result<Self, DriverError> {
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

    /// Whether the driver knows the password, and nothing more is to be said or heard.
    pub(super) const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Takes the next message, if there is one, and answers it.
    pub(super) fn step(
        &mut self,
        driver: &mut Pieces<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, DriverError> {
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

#[cfg(test)]
mod tests {
    use capture::Password;
    use ironrdp_connector::sspi::{
        Credentials as Own,
        credssp::{ClientMode, ClientState, CredSspClient, CredSspMode},
    };

    use super::*;

    const CERTIFICATE: &[u8] = include_bytes!("certificate.der");

    /// What comes of a driver's sign-in, and the status that it is told.
    fn sign_in(
        mode: ClientMode,
        user: &str,
        password: &str,
        certificate: &[u8],
    ) -> (Result<(), DriverError>, Option<NStatusCode>) {
        let known = Credentials {
            user: "WORK\\Ada".into(),
            password: Password::new("correct horse".into()),
        };
        let mut door = SignIn::new(&known, CERTIFICATE).unwrap();
        let own = Own::AuthIdentity(AuthIdentity {
            username: Username::parse(user).unwrap(),
            password: password.to_owned().into(),
        });
        let mut client = CredSspClient::new(
            handshake::public_key(certificate).unwrap(),
            own,
            CredSspMode::WithCredentials,
            mode,
            "TERMSRV/relay".into(),
        )
        .unwrap();
        let mut request = TsRequest::default();
        loop {
            let said = match client.process(request).resolve_to_result().unwrap() {
                ClientState::ReplyNeeded(said) | ClientState::FinalMessage(said) => said,
            };
            let mut bytes = Vec::new();
            said.encode_ts_request(&mut bytes).unwrap();
            let mut out = Vec::new();
            let stepped = door.step(&mut Pieces::new(&mut Vec::new(), &bytes), &mut out);
            let answer = (!out.is_empty()).then(|| TsRequest::from_buffer(&out).unwrap());
            match (stepped, door.is_done()) {
                (Ok(_), false) => request = answer.unwrap(),
                (Ok(_), true) => return (Ok(()), None),
                (Err(error), _) => return (Err(error), answer.and_then(|said| said.error_code)),
            }
        }
    }

    fn bare() -> ClientMode {
        ClientMode::Ntlm(NtlmConfig::default())
    }

    fn wrapped() -> ClientMode {
        ClientMode::Negotiate(NegotiateConfig {
            protocol_config: Box::new(NtlmConfig::default()),
            package_list: Some("ntlm,!kerberos,!pku2u".into()),
            client_computer_name: "driver".into(),
        })
    }

    fn check_let_in(mode: fn() -> ClientMode, users: &[&str]) {
        for user in users {
            let (let_in, _) = sign_in(mode(), user, "correct horse", CERTIFICATE);
            assert_eq!(let_in, Ok(()), "{user}");
        }
    }

    #[test]
    fn who_knows_the_password_is_let_in() {
        check_let_in(
            bare,
            &["Ada", "ADA", "work\\ada", "HOME\\ada", "ada@work.example"],
        );
        check_let_in(wrapped, &["Ada", "ADA", "work\\ada"]);
    }

    #[test]
    fn who_does_not_is_told_so() {
        for mode in [bare, wrapped] {
            for (user, password) in [("ada", "wrong"), ("ada", ""), ("eve", "correct horse")] {
                let (refused, told) = sign_in(mode(), user, password, CERTIFICATE);
                assert_eq!(refused, Err(DriverError::PasswordRefused), "{user}");
                assert_eq!(told, Some(NStatusCode::LOGON_FAILURE), "{user}");
            }
        }
    }

    #[test]
    fn a_driver_that_was_shown_another_certificate_is_not_let_in() {
        let mut other = CERTIFICATE.to_vec();
        let key = handshake::public_key(CERTIFICATE).unwrap();
        let at = other.windows(key.len()).position(|part| part == key);
        other[at.unwrap() + 20] ^= 1;
        let (refused, _) = sign_in(bare(), "ada", "correct horse", &other);
        assert!(refused.is_err());
    }

    #[test]
    fn what_is_no_sign_in_is_an_error() {
        let known = Credentials {
            user: "ada".into(),
            password: Password::new("correct horse".into()),
        };
        for said in [&b"\x31\x05hello"[..], &[0x30, 3, 1, 2, 3], &[0x30, 0x84, 1]] {
            let mut door = SignIn::new(&known, CERTIFICATE).unwrap();
            let mut held = Vec::new();
            let stepped = door.step(&mut Pieces::new(&mut held, said), &mut Vec::new());
            assert_eq!(stepped, Err(BROKEN));
        }
        let mut door = SignIn::new(&known, CERTIFICATE).unwrap();
        let long = [0x30, 0x83, 1, 0, 0];
        let stepped = door.step(&mut Pieces::new(&mut Vec::new(), &long), &mut Vec::new());
        assert!(matches!(stepped, Err(DriverError::MessageTooLong { .. })));
    }
}
