//! The server's side of a handshake (RFC 6143 sections 7.1–7.3): no security, or the VNC password.

use capture::Password;

use super::DriverError;
use crate::{
    auth::vnc,
    error::Error,
    handshake::{Desktop, SECURITY_NONE, SECURITY_VNC_PASSWORD, Version},
    input::Input,
};

/// Bytes that nobody can guess, which a driver encrypts to show that it knows the password.
/// `Debug` hides them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Challenge([u8; Self::BYTES]);

impl Challenge {
    /// As RFC 6143 has it.
    pub const BYTES: usize = vnc::CHALLENGE_BYTES;

    /// Bytes of the operating system's generator, drawn for this connection alone.
    #[must_use]
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for Challenge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Challenge(…)")
    }
}

/// What came of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// More bytes must arrive first.
    Starved,
    /// A part is done; the next step may go on.
    Moved,
    /// All is done.
    Done,
}

/// What the driver is waited for to say.
#[derive(Clone, Copy, Debug)]
enum State {
    Version,
    /// 3.7 and later: the security type it chooses.
    SecurityChoice,
    /// The encrypted challenge.
    Response,
    /// Whether it shares the desktop, which it always does.
    ClientInit,
}

/// A driver signing in.
pub(crate) struct Accept {
    state: State,
    version: Version,
    password: Option<Password>,
    challenge: Challenge,
}

impl Accept {
    /// Greets a driver that has just connected. It must know `password`, if there is one.
    pub(crate) fn new(password: Option<Password>, challenge: Challenge, out: &mut Vec<u8>) -> Self {
        let version = Version::V3_8;
        out.extend(version.announcement());
        Self {
            state: State::Version,
            version,
            password,
            challenge,
        }
    }

    /// Goes on with a driver that was greeted and has answered that it speaks `version`.
    pub(crate) fn greeted(
        version: Version,
        password: Option<Password>,
        challenge: Challenge,
        out: &mut Vec<u8>,
    ) -> Self {
        let mut accept = Self {
            state: State::Version,
            version,
            password,
            challenge,
        };
        accept.state = accept.offer_security(out);
        accept
    }

    /// Takes the next part off `input` and appends what to answer to `out`.
    ///
    /// # Errors
    /// When the driver speaks something else, chooses what was not offered, or does not know the
    /// password; the answer that tells it so is in `out`.
    pub(crate) fn step(
        &mut self,
        input: &mut Input<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Step, DriverError> {
        let next = match self.state {
            State::Version => version(self.version, input)?.map(|version| {
                self.version = version;
                self.offer_security(out)
            }),
            State::SecurityChoice => match input.take_array() {
                Some([kind]) if kind == self.security() => Some(self.enter(out)),
                Some([kind]) => return Err(DriverError::SecurityChoice { kind }),
                None => None,
            },
            State::Response => match input.take_array() {
                Some(response) => Some(self.check(response, out)?),
                None => None,
            },
            State::ClientInit => {
                let shared = input.take_array::<1>();
                return Ok(if shared.is_some() {
                    Step::Done
                } else {
                    Step::Starved
                });
            }
        };
        Ok(match next {
            Some(next) => {
                self.state = next;
                Step::Moved
            }
            None => Step::Starved,
        })
    }

    const fn security(&self) -> u8 {
        match self.password {
            Some(_) => SECURITY_VNC_PASSWORD,
            None => SECURITY_NONE,
        }
    }

    fn offer_security(&self, out: &mut Vec<u8>) -> State {
        offer(self.version, &[self.security()], out);
        if self.version == Version::V3_3 {
            self.enter(out)
        } else {
            State::SecurityChoice
        }
    }

    fn enter(&self, out: &mut Vec<u8>) -> State {
        if self.password.is_some() {
            out.extend(self.challenge.0);
            return State::Response;
        }
        // Only 3.8 confirms that no security was agreed on.
        if self.version >= Version::V3_8 {
            out.extend(ACCEPTED);
        }
        State::ClientInit
    }

    fn check(
        &self,
        response: [u8; vnc::CHALLENGE_BYTES],
        out: &mut Vec<u8>,
    ) -> Result<State, DriverError> {
        let expected = { self.password.as_ref() }
            .map(|password| vnc::answer(password, self.challenge.0))
            .unwrap_or_default();
        if !equal_in_constant_time(&expected, &response) {
            out.extend(REFUSED);
            if self.version >= Version::V3_8 {
                explain("the password is wrong", out);
            }
            return Err(DriverError::PasswordWrong);
        }
        out.extend(ACCEPTED);
        Ok(State::ClientInit)
    }
}

/// `SecurityResult`.
pub(crate) const ACCEPTED: [u8; 4] = [0; 4];
const REFUSED: [u8; 4] = [0, 0, 0, 1];

/// Takes the version that a driver chooses, no later than the one `announced`.
///
/// # Errors
/// When it speaks something else.
pub(crate) fn version(
    announced: Version,
    input: &mut Input<'_>,
) -> Result<Option<Version>, DriverError> {
    match Version::take(input) {
        Ok(version) => Ok(version.map(|version| version.min(announced))),
        Err(Error::VersionUnsupported { major, minor }) => {
            Err(DriverError::VersionUnsupported { major, minor })
        }
        Err(_) => Err(DriverError::NotRfb),
    }
}

/// Tells a driver the security types it has to choose from; with 3.3 the first is chosen for it.
pub(crate) fn offer(version: Version, kinds: &[u8], out: &mut Vec<u8>) {
    if version == Version::V3_3 {
        let chosen = kinds.first().copied().unwrap_or_default();
        out.extend(u32::from(chosen).to_be_bytes());
    } else {
        out.push(u8::try_from(kinds.len()).unwrap_or(u8::MAX));
        out.extend(kinds);
    }
}

/// Tells a driver that waits for security types why it gets none.
pub(crate) fn refuse(version: Version, why: &str, out: &mut Vec<u8>) {
    offer(version, &[], out);
    explain(why, out);
}

/// A sentence with its length.
pub(crate) fn explain(why: &str, out: &mut Vec<u8>) {
    out.extend(u32::try_from(why.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(why.bytes());
}

/// `ServerInit`.
pub(crate) fn server_init(desktop: &Desktop, out: &mut Vec<u8>) {
    for side in [desktop.size.w, desktop.size.h] {
        // A screen's sides are bounded far below this.
        out.extend(u16::try_from(side).unwrap_or(u16::MAX).to_be_bytes());
    }
    out.extend(desktop.pixel_format);
    explain(&desktop.name, out);
}

/// Takes as long whichever byte differs: how much of it is right is not to be measured.
fn equal_in_constant_time(expected: &[u8], given: &[u8]) -> bool {
    let differing = { expected.iter().zip(given) }.fold(0, |bits, (a, b)| bits | (a ^ b));
    expected.len() == given.len() && std::hint::black_box(differing) == 0
}
