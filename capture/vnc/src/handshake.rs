//! From the first byte to `ServerInit`: version, security, the desktop's size and name
//! (RFC 6143 sections 7.1–7.3).

mod offer;
mod vencrypt;
mod version;

use capture::Size;

use self::vencrypt::{SignIn, Subtype};
pub use self::vencrypt::{Tls, TlsRequest};
pub(crate) use self::{offer::Offer, version::Version};
use crate::{
    auth::{Credentials, apple, vnc},
    error::Error,
    input::Input,
    limits, request,
};

/// Security types of RFC 6143 and the community's registry.
pub(crate) const SECURITY_NONE: u8 = 1;
pub(crate) const SECURITY_VNC_PASSWORD: u8 = 2;
const SECURITY_VENCRYPT: u8 = 19;
const SECURITY_APPLE: u8 = 30;

/// Which refusal a server is about to explain.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    Connection,
    Password,
    TooManyAttempts,
}

impl Refusal {
    pub(crate) fn error(self, said: String) -> Error {
        match self {
            Self::Connection => Error::Refused { said },
            Self::Password => Error::PasswordRefused { said },
            Self::TooManyAttempts => Error::TooManyAttempts { said },
        }
    }
}

/// What the client waits for.
#[derive(Clone, Copy, Debug)]
enum State {
    /// The server's version.
    Version,
    /// 3.3: the one security type the server has chosen.
    SecurityChoice,
    /// 3.7 and later: the security types on offer.
    SecurityOffer,
    /// The bytes to encrypt with the password.
    Challenge,
    /// Apple's numbers: how long they are, then they.
    AppleHead,
    AppleKey(apple::Head),
    /// VeNCrypt: its version, whether ours is taken, what is on offer, whether our choice is.
    VencryptVersion,
    VencryptVersionTaken,
    VencryptOffer,
    VencryptTaken(Subtype),
    /// The caller to encrypt the connection; the server says nothing before.
    Upgrade(Subtype),
    /// Whether the server lets us in.
    SecurityResult,
    /// Why it does not.
    Reason(Refusal),
    /// The desktop's size and pixel format, and how long its name is.
    ServerInit,
    /// The desktop's name.
    Name {
        size: Size,
        pixel_format: [u8; 16],
        len: usize,
    },
}

impl State {
    const fn after_version(version: Version) -> Self {
        match version {
            Version::V3_3 => Self::SecurityChoice,
            Version::V3_7 | Version::V3_8 | Version::Apple => Self::SecurityOffer,
        }
    }
}

/// A handshake under way.
pub(crate) struct Handshake {
    state: State,
    version: Version,
    credentials: Credentials,
    /// The encryption that must be agreed on.
    tls: Option<Tls>,
    /// A password was sent, so a refusal is about it.
    password_sent: bool,
}

/// What came of one step.
pub(crate) enum Progress {
    /// More bytes must arrive first.
    Starved,
    /// A part is done; the next step may go on.
    Moved,
    /// The desktop is known.
    Done(Desktop),
}

/// What the handshake yields.
pub(crate) struct Desktop {
    pub(crate) size: Size,
    /// How its pixels come unless another format is set.
    pub(crate) pixel_format: [u8; 16],
    pub(crate) name: String,
}

impl Handshake {
    pub(crate) const fn new(credentials: Credentials, tls: Option<Tls>) -> Self {
        Self {
            state: State::Version,
            version: Version::V3_3,
            credentials,
            tls,
            password_sent: false,
        }
    }

    /// A handshake whose server was already answered that `version` is spoken.
    pub(crate) const fn versed(
        version: Version,
        credentials: Credentials,
        tls: Option<Tls>,
    ) -> Self {
        Self {
            state: State::after_version(version),
            version,
            credentials,
            tls,
            password_sent: false,
        }
    }

    /// A handshake whose server has let someone in and was told that the desktop is shared.
    pub(crate) const fn signed_in() -> Self {
        Self {
            state: State::ServerInit,
            version: Version::V3_8,
            credentials: Credentials::NONE,
            tls: None,
            password_sent: false,
        }
    }

    /// The error that a server which says no more than this deserves: its refusal, if it was
    /// explaining one, else `other`.
    pub(crate) fn cut_short(&self, other: Error) -> Error {
        match self.state {
            State::Reason(refusal) => refusal.error(String::new()),
            _ => other,
        }
    }

    /// Takes the next part off `input` and appends what to answer to `out`.
    pub(crate) fn step(
        &mut self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Error> {
        let done = match self.state {
            State::Version => self.version(input, out)?,
            State::SecurityChoice => self.security_choice(input, out)?,
            State::SecurityOffer => self.security_offer(input, out)?,
            State::Challenge => self.challenge(input, out),
            State::AppleHead => match input.take_array() {
                Some(head) => Some(State::AppleKey(apple::Head::parse(head)?)),
                None => None,
            },
            State::AppleKey(head) => self.apple_key(head, input, out)?,
            State::VencryptVersion => vencrypt_version(input, out)?,
            State::VencryptVersionTaken => match input.take_array() {
                Some([0]) => Some(State::VencryptOffer),
                Some(_) => return Err(Error::VencryptRefused),
                None => None,
            },
            State::VencryptOffer => self.vencrypt_offer(input, out)?,
            State::VencryptTaken(subtype) => match input.take_array() {
                Some([1]) => Some(State::Upgrade(subtype)),
                Some(_) => return Err(Error::VencryptRefused),
                None => None,
            },
            // Whoever stands between could have said it, to be taken for the server later.
            State::Upgrade(_) if !input.available(1).is_empty() => {
                return Err(Error::UnencryptedBytes);
            }
            State::Upgrade(_) => None,
            State::SecurityResult => self.security_result(input, out)?,
            State::Reason(refusal) => {
                return match reason(input) {
                    Some(said) => Err(refusal.error(said)),
                    None => Ok(Progress::Starved),
                };
            }
            State::ServerInit => self.server_init(input)?,
            State::Name {
                size,
                pixel_format,
                len,
            } => {
                let Some(name) = input.peek(len) else {
                    return Ok(Progress::Starved);
                };
                let name = String::from_utf8_lossy(name).into_owned();
                input.consume(len);
                return Ok(Progress::Done(Desktop {
                    size,
                    pixel_format,
                    name,
                }));
            }
        };
        Ok(match done {
            Some(next) => {
                self.state = next;
                Progress::Moved
            }
            None => Progress::Starved,
        })
    }

    fn version(
        &mut self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<State>, Error> {
        let Some(version) = Version::take(input)? else {
            return Ok(None);
        };
        self.version = version;
        out.extend(self.version.announcement());
        Ok(Some(State::after_version(self.version)))
    }

    fn security_choice(
        &mut self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<State>, Error> {
        let Some(Offer { kinds, len }) = Offer::peek(self.version, input)? else {
            return Ok(None);
        };
        input.consume(len);
        match kinds.first() {
            None => Ok(Some(State::Reason(Refusal::Connection))),
            Some(&kind @ (SECURITY_NONE | SECURITY_VNC_PASSWORD)) if self.tls.is_none() => {
                self.enter(kind, out).map(Some)
            }
            Some(_) => Err(Error::SecurityUnsupported { offered: kinds }),
        }
    }

    fn security_offer(
        &mut self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<State>, Error> {
        let Some(Offer { kinds, len }) = Offer::peek(self.version, input)? else {
            return Ok(None);
        };
        if kinds.is_empty() {
            input.consume(len);
            return Ok(Some(State::Reason(Refusal::Connection)));
        }
        let Some(&kind) = self.wanted().iter().find(|kind| kinds.contains(kind)) else {
            let apple = self.tls.is_none() && kinds.contains(&SECURITY_APPLE);
            return Err(if apple && self.credentials.user.is_none() {
                Error::UserRequired
            } else {
                Error::SecurityUnsupported { offered: kinds }
            });
        };
        input.consume(len);
        if kind == SECURITY_VNC_PASSWORD && self.credentials.password.is_none() {
            return Err(Error::PasswordRequired);
        }
        out.push(kind);
        self.enter(kind, out).map(Some)
    }

    /// The security types to agree on, the most wanted first: encryption when it is asked for, and
    /// a configured account or password where it can be used.
    const fn wanted(&self) -> &'static [u8] {
        let Credentials {
            user,
            password,
            random,
        } = &self.credentials;
        match (self.tls, user, password, random) {
            (Some(_), ..) => &[SECURITY_VENCRYPT],
            (None, Some(_), Some(_), Some(_)) => {
                &[SECURITY_APPLE, SECURITY_VNC_PASSWORD, SECURITY_NONE]
            }
            (None, _, Some(_), _) => &[SECURITY_VNC_PASSWORD, SECURITY_NONE],
            (None, _, None, _) => &[SECURITY_NONE, SECURITY_VNC_PASSWORD],
        }
    }

    /// What follows once both sides know the security type.
    fn enter(&self, kind: u8, out: &mut Vec<u8>) -> Result<State, Error> {
        match (kind, &self.credentials.password) {
            (SECURITY_VNC_PASSWORD, None) => Err(Error::PasswordRequired),
            (SECURITY_VNC_PASSWORD, Some(_)) => Ok(State::Challenge),
            (SECURITY_APPLE, _) => Ok(State::AppleHead),
            (SECURITY_VENCRYPT, _) => Ok(State::VencryptVersion),
            // Only 3.8 confirms that no security was agreed on.
            _ if self.version < Version::V3_8 => {
                out.extend(request::CLIENT_INIT);
                Ok(State::ServerInit)
            }
            _ => Ok(State::SecurityResult),
        }
    }

    fn challenge(&mut self, input: &mut Input<'_>, out: &mut Vec<u8>) -> Option<State> {
        let challenge = input.take_array::<{ vnc::CHALLENGE_BYTES }>()?;
        if let Some(password) = self.credentials.password.take() {
            out.extend(vnc::answer(&password, challenge));
            self.password_sent = true;
        }
        Some(State::SecurityResult)
    }

    fn apple_key(
        &mut self,
        head: apple::Head,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<State>, Error> {
        let len = head.key_bytes().saturating_mul(2);
        let Some(numbers) = input.peek(len) else {
            return Ok(None);
        };
        let (prime, public) = numbers
            .split_at_checked(head.key_bytes())
            .unwrap_or_default();
        let random = self.credentials.random.take();
        let account = self.credentials.account().zip(random.as_ref());
        let (account, random) = account.ok_or(Error::UserRequired)?;
        out.extend(apple::answer(head, prime, public, account, random)?);
        input.consume(len);
        self.password_sent = true;
        Ok(Some(State::SecurityResult))
    }

    fn vencrypt_offer(
        &self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<State>, Error> {
        let Some([count]) = input.peek_array() else {
            return Ok(None);
        };
        let len = usize::from(count).saturating_mul(4).saturating_add(1);
        let Some(offered) = input.peek(len).and_then(|bytes| bytes.get(1..)) else {
            return Ok(None);
        };
        let (offered, _) = offered.as_chunks();
        let offered: Vec<u32> = offered
            .iter()
            .map(|&kind| u32::from_be_bytes(kind))
            .collect();
        input.consume(len);
        // Entered only when encryption is asked for.
        let tls = self.tls.unwrap_or(Tls::Certified);
        let subtype = vencrypt::choose(&offered, tls, &self.credentials)?;
        out.extend(subtype.number.to_be_bytes());
        Ok(Some(State::VencryptTaken(subtype)))
    }

    /// The encryption that the caller is to begin, if it is time.
    pub(crate) fn upgrade(&self) -> Option<TlsRequest> {
        match self.state {
            State::Upgrade(Subtype { anonymous, .. }) => Some(TlsRequest { anonymous }),
            _ => None,
        }
    }

    /// The connection is encrypted now: the sign-in follows.
    pub(crate) fn upgraded(&mut self, out: &mut Vec<u8>) {
        let State::Upgrade(subtype) = self.state else {
            return;
        };
        self.state = match subtype.sign_in {
            SignIn::VncPassword => State::Challenge,
            SignIn::Nothing => State::SecurityResult,
            SignIn::Plain => {
                // Chosen only when there are both.
                if let Some((user, password)) = self.credentials.account() {
                    out.extend(vencrypt::plain(user, password.as_str()));
                    self.password_sent = true;
                }
                State::SecurityResult
            }
        };
    }

    fn security_result(
        &self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<State>, Error> {
        let Some(code) = input.take_array().map(u32::from_be_bytes) else {
            return Ok(None);
        };
        let refusal = match code {
            0 => {
                out.extend(request::CLIENT_INIT);
                return Ok(Some(State::ServerInit));
            }
            1 if self.password_sent => Refusal::Password,
            1 => Refusal::Connection,
            2 => Refusal::TooManyAttempts,
            code => return Err(Error::SecurityResult { code }),
        };
        match self.version {
            Version::V3_8 | Version::Apple => Ok(Some(State::Reason(refusal))),
            Version::V3_3 | Version::V3_7 => Err(refusal.error(String::new())),
        }
    }

    fn server_init(&self, input: &mut Input<'_>) -> Result<Option<State>, Error> {
        let Some(head) = input.take_array::<24>() else {
            return Ok(None);
        };
        let [w0, w1, h0, h1, pixel_format @ .., n0, n1, n2, n3] = head;
        let size = Size {
            w: u16::from_be_bytes([w0, w1]).into(),
            h: u16::from_be_bytes([h0, h1]).into(),
        };
        let len_bytes = u32::from_be_bytes([n0, n1, n2, n3]);
        if len_bytes > limits::NAME_BYTES {
            return Err(Error::NameTooLong { len_bytes });
        }
        let len = len_bytes as usize;
        Ok(Some(State::Name {
            size,
            pixel_format,
            len,
        }))
    }
}

fn vencrypt_version(input: &mut Input<'_>, out: &mut Vec<u8>) -> Result<Option<State>, Error> {
    match input.take_array::<2>() {
        Some(version) if version >= vencrypt::VERSION => {
            out.extend(vencrypt::VERSION);
            Ok(Some(State::VencryptVersionTaken))
        }
        Some([major, minor]) => Err(Error::VencryptVersion { major, minor }),
        None => Ok(None),
    }
}

/// Reads the beginning of the sentence in which a server says why it refuses.
pub(crate) fn reason(input: &mut Input<'_>) -> Option<String> {
    let len_bytes = input.peek_array().map(u32::from_be_bytes)?;
    let kept = len_bytes.min(limits::REFUSAL_BYTES) as usize;
    let said = input.peek(kept.saturating_add(4))?.get(4..)?;
    Some(String::from_utf8_lossy(said).into_owned())
}
