//! Who we say we are.

/// A password. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// A password as the user gave it.
    #[must_use]
    pub const fn new(password: String) -> Self {
        Self(password)
    }

    pub(crate) const fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(…)")
    }
}

/// A user's name taken apart: `DOMAIN\user`, or a name alone. `user@domain` is one name, which
/// servers take apart themselves.
pub(crate) fn account(user: &str) -> (Option<&str>, &str) {
    match user.split_once('\\') {
        Some((domain, name)) if !domain.is_empty() => (Some(domain), name),
        Some((_, name)) => (None, name),
        None => (None, user),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_show_the_password() {
        let shown = format!("{:?}", Password::new("hunter2".into()));
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_domain_stands_before_a_backslash() {
        assert_eq!(account("WORK\\ada"), (Some("WORK"), "ada"));
        assert_eq!(account("\\ada"), (None, "ada"));
        assert_eq!(account("ada@work.example"), (None, "ada@work.example"));
        assert_eq!(account("LIVE\\ada@work"), (Some("LIVE"), "ada@work"));
    }
}
