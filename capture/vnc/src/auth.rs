//! Who we say we are, and how each way of signing in proves it.

pub(crate) mod apple;
pub(crate) mod vnc;

use capture::Password;

/// Bytes that nobody can guess, of which a session makes its private key. `Debug` hides them.
#[derive(Clone, PartialEq, Eq)]
pub struct Random([u8; Self::BYTES]);

impl Random {
    /// A private key and the padding around a user's name and password.
    pub const BYTES: usize = apple::SECRET_BYTES + apple::CREDENTIALS_BYTES;

    /// Bytes of the operating system's generator, drawn for this connection alone.
    #[must_use]
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for Random {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Random(…)")
    }
}

/// What a session signs in with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Password>,
    pub(crate) random: Option<Random>,
}

impl Credentials {
    /// Nothing to sign in with.
    pub(crate) const NONE: Self = Self {
        user: None,
        password: None,
        random: None,
    };

    /// The user's name and password, if there are both.
    pub(crate) fn account(&self) -> Option<(&str, &Password)> {
        Some((self.user.as_deref()?, self.password.as_ref()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_show_secrets() {
        let credentials = Credentials {
            user: None,
            password: Some(Password::new("hunter2".into())),
            random: Some(Random::new([77; Random::BYTES])),
        };
        let shown = format!("{credentials:?}");
        assert!(
            !shown.contains("hunter2") && !shown.contains("77"),
            "{shown}"
        );
    }
}
