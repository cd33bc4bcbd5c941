//! VeNCrypt, security type 19 (rfbproto): which encryption and sign-in follow.

use crate::{auth::Credentials, error::Error};

/// The version spoken; it is the only one in use.
pub(super) const VERSION: [u8; 2] = [0, 2];

/// What the session must be wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// TLS whose certificate the caller checks.
    Certified,
    /// Also, where the server has no certificate, TLS that anyone in between could have answered.
    Anonymous,
}

/// What the caller is to wrap the connection in now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsRequest {
    /// The server shows no certificate: only cipher suites without one work.
    pub anonymous: bool,
}

/// How we sign in once the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignIn {
    Nothing,
    VncPassword,
    /// Name and password as they are.
    Plain,
}

/// An encryption and a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subtype {
    pub(super) number: u32,
    pub(super) anonymous: bool,
    pub(super) sign_in: SignIn,
}

const fn subtype(number: u32, anonymous: bool, sign_in: SignIn) -> Subtype {
    Subtype {
        number,
        anonymous,
        sign_in,
    }
}

/// Those supported, the most trusted first. Anonymous encryption carries no plain password: it
/// would be given to whoever answers.
const SUBTYPES: [Subtype; 5] = [
    subtype(262, false, SignIn::Plain),
    subtype(261, false, SignIn::VncPassword),
    subtype(260, false, SignIn::Nothing),
    subtype(258, true, SignIn::VncPassword),
    subtype(257, true, SignIn::Nothing),
];

/// Chooses from what a server offers.
///
/// # Errors
/// When nothing fits; what is missing, if that is all.
pub(super) fn choose(
    offered: &[u32],
    tls: Tls,
    credentials: &Credentials,
) -> Result<Subtype, Error> {
    let mut missing = None;
    for subtype in SUBTYPES {
        let trusted = !subtype.anonymous || tls == Tls::Anonymous;
        if !trusted || !offered.contains(&subtype.number) {
            continue;
        }
        let needs = match subtype.sign_in {
            SignIn::Nothing => None,
            _ if credentials.password.is_none() => Some(Error::PasswordRequired),
            SignIn::Plain if credentials.user.is_none() => Some(Error::UserRequired),
            SignIn::Plain | SignIn::VncPassword => None,
        };
        match needs {
            None => return Ok(subtype),
            Some(needs) => missing = missing.or(Some(needs)),
        }
    }
    let offered = offered.to_vec();
    Err(missing.unwrap_or(Error::VencryptUnsupported { offered }))
}

/// `Plain`: both lengths, then both texts.
pub(super) fn plain(user: &str, password: &str) -> Vec<u8> {
    let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut message = Vec::new();
    message.extend(length(user));
    message.extend(length(password));
    message.extend(user.bytes());
    message.extend(password.bytes());
    message
}

#[cfg(test)]
mod tests {
    use capture::Password;

    use super::*;

    const X509_NONE: u32 = 260;
    const X509_VNC: u32 = 261;
    const X509_PLAIN: u32 = 262;
    const TLS_NONE: u32 = 257;
    const TLS_VNC: u32 = 258;
    const TLS_PLAIN: u32 = 259;

    fn check(offered: &[u32], tls: Tls, user: bool, password: bool, expected: Result<u32, Error>) {
        let credentials = Credentials {
            user: user.then(|| "ada".into()),
            password: password.then(|| Password::new("secret".into())),
            random: None,
        };
        let chosen = choose(offered, tls, &credentials);
        assert_eq!(
            chosen.map(|subtype| subtype.number),
            expected,
            "{offered:?}"
        );
    }

    #[test]
    fn the_most_trusted_sign_in_that_fits_is_chosen() {
        use Tls::{Anonymous, Certified};
        let all = [
            TLS_NONE, TLS_VNC, TLS_PLAIN, X509_NONE, X509_VNC, X509_PLAIN,
        ];
        check(&all, Certified, true, true, Ok(X509_PLAIN));
        check(&all, Certified, false, true, Ok(X509_VNC));
        check(&all, Certified, false, false, Ok(X509_NONE));
        check(&[TLS_NONE, TLS_VNC], Anonymous, true, true, Ok(TLS_VNC));
        check(&[TLS_NONE, X509_VNC], Anonymous, false, true, Ok(X509_VNC));
    }

    #[test]
    fn what_is_missing_is_named() {
        let (user, password) = (Err(Error::UserRequired), Err(Error::PasswordRequired));
        check(&[X509_PLAIN], Tls::Certified, false, true, user);
        check(&[X509_VNC], Tls::Certified, true, false, password);
        let offered = vec![TLS_VNC, TLS_PLAIN];
        let unsupported = Err(Error::VencryptUnsupported { offered });
        check(
            &[TLS_VNC, TLS_PLAIN],
            Tls::Certified,
            true,
            true,
            unsupported,
        );
        let offered = vec![TLS_PLAIN, 256];
        let unsupported = Err(Error::VencryptUnsupported { offered });
        check(&[TLS_PLAIN, 256], Tls::Anonymous, true, true, unsupported);
    }
}
