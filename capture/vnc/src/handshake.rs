//! From the first byte to `ServerInit`: version, security, the desktop's size and name
//! (RFC 6143 sections 7.1–7.3).

use capture::Size;

use crate::{
    auth::{self, CHALLENGE_BYTES, Password},
    error::Error,
    input::Input,
    limits, request,
};

/// The versions this client speaks. Later ones in the same line are compatible, so it answers
/// with the latest it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    V3_3,
    V3_7,
    V3_8,
}

impl Version {
    /// Which version to speak with a server that announces `announced`.
    ///
    /// 3.4 to 3.6 were never published; what announces them speaks 3.3. Apple's 3.889 and what
    /// vendors number above 3.8 or 4.0 speak 3.8 when told so.
    fn parse(announced: [u8; 12]) -> Result<Self, Error> {
        let Some((major, minor)) = parse_version(announced) else {
            return Err(Error::NotRfb);
        };
        match (major, minor) {
            (3, 3..=6) => Ok(Self::V3_3),
            (3, 7) => Ok(Self::V3_7),
            (3, 8..) | (4.., _) => Ok(Self::V3_8),
            _ => Err(Error::VersionUnsupported { major, minor }),
        }
    }

    const fn announcement(self) -> [u8; 12] {
        match self {
            Self::V3_3 => *b"RFB 003.003\n",
            Self::V3_7 => *b"RFB 003.007\n",
            Self::V3_8 => *b"RFB 003.008\n",
        }
    }
}

fn parse_version(announced: [u8; 12]) -> Option<(u16, u16)> {
    let number = |digits: [u8; 3]| -> Option<u16> {
        digits.iter().try_fold(0_u16, |number, digit| {
            let digit = char::from(*digit).to_digit(10)?;
            number
                .checked_mul(10)?
                .checked_add(u16::try_from(digit).ok()?)
        })
    };
    let [b'R', b'F', b'B', b' ', a, b, c, b'.', d, e, f, b'\n'] = announced else {
        return None;
    };
    Some((number([a, b, c])?, number([d, e, f])?))
}

/// Security types of RFC 6143.
const SECURITY_NONE: u8 = 1;
const SECURITY_VNC_PASSWORD: u8 = 2;

/// Which refusal a server is about to explain.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    Connection,
    Password,
    TooManyAttempts,
}

impl Refusal {
    fn error(self, said: String) -> Error {
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

/// A handshake under way.
pub(crate) struct Handshake {
    state: State,
    version: Version,
    password: Option<Password>,
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
    pub(crate) const fn new(password: Option<Password>) -> Self {
        Self {
            state: State::Version,
            version: Version::V3_3,
            password,
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
            State::SecurityResult => self.security_result(input, out)?,
            State::Reason(refusal) => return reason(refusal, input),
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
        // Something else may say less than 12 bytes and wait: its first ones tell.
        let start = input.available(4);
        if !b"RFB ".starts_with(start) {
            return Err(Error::NotRfb);
        }
        let Some(announced) = input.take_array() else {
            return Ok(None);
        };
        self.version = Version::parse(announced)?;
        out.extend(self.version.announcement());
        Ok(Some(match self.version {
            Version::V3_3 => State::SecurityChoice,
            Version::V3_7 | Version::V3_8 => State::SecurityOffer,
        }))
    }

    fn security_choice(
        &mut self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<State>, Error> {
        let Some(kind) = input.take_array().map(u32::from_be_bytes) else {
            return Ok(None);
        };
        match u8::try_from(kind) {
            Ok(0) => Ok(Some(State::Reason(Refusal::Connection))),
            Ok(kind @ (SECURITY_NONE | SECURITY_VNC_PASSWORD)) => self.enter(kind, out).map(Some),
            Ok(kind) => Err(Error::SecurityUnsupported {
                offered: vec![kind],
            }),
            Err(_) => Err(Error::SecurityChoice { kind }),
        }
    }

    fn security_offer(
        &mut self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<State>, Error> {
        let Some([count]) = input.peek_array() else {
            return Ok(None);
        };
        if count == 0 {
            input.consume(1);
            return Ok(Some(State::Reason(Refusal::Connection)));
        }
        let len = usize::from(count).saturating_add(1);
        let Some(offered) = input.peek(len).map(|bytes| bytes.iter().skip(1)) else {
            return Ok(None);
        };
        // A configured password is used where it can be.
        let wanted = match self.password {
            Some(_) => [SECURITY_VNC_PASSWORD, SECURITY_NONE],
            None => [SECURITY_NONE, SECURITY_VNC_PASSWORD],
        };
        let Some(kind) = wanted
            .into_iter()
            .find(|kind| offered.clone().any(|offer| offer == kind))
        else {
            return Err(Error::SecurityUnsupported {
                offered: offered.copied().collect(),
            });
        };
        input.consume(len);
        if kind == SECURITY_VNC_PASSWORD && self.password.is_none() {
            return Err(Error::PasswordRequired);
        }
        out.push(kind);
        self.enter(kind, out).map(Some)
    }

    /// What follows once both sides know the security type.
    fn enter(&self, kind: u8, out: &mut Vec<u8>) -> Result<State, Error> {
        match (kind, &self.password) {
            (SECURITY_VNC_PASSWORD, None) => Err(Error::PasswordRequired),
            (SECURITY_VNC_PASSWORD, Some(_)) => Ok(State::Challenge),
            // Only 3.8 confirms that no security was agreed on.
            _ if self.version < Version::V3_8 => {
                out.extend(request::CLIENT_INIT);
                Ok(State::ServerInit)
            }
            _ => Ok(State::SecurityResult),
        }
    }

    fn challenge(&mut self, input: &mut Input<'_>, out: &mut Vec<u8>) -> Option<State> {
        let challenge = input.take_array::<CHALLENGE_BYTES>()?;
        if let Some(password) = self.password.take() {
            out.extend(auth::answer(&password, challenge));
            self.password_sent = true;
        }
        Some(State::SecurityResult)
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
            Version::V3_8 => Ok(Some(State::Reason(refusal))),
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

/// Reads the beginning of the server's sentence, and ends with the refusal it explains.
fn reason(refusal: Refusal, input: &mut Input<'_>) -> Result<Progress, Error> {
    let Some(len_bytes) = input.peek_array().map(u32::from_be_bytes) else {
        return Ok(Progress::Starved);
    };
    let kept = len_bytes.min(limits::REFUSAL_BYTES) as usize;
    match input.peek(kept.saturating_add(4)) {
        Some(reason) => {
            let said = reason.get(4..).unwrap_or_default();
            Err(refusal.error(String::from_utf8_lossy(said).into_owned()))
        }
        None => Ok(Progress::Starved),
    }
}
