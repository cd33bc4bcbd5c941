//! Who we say we are, taken apart.

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
    fn a_domain_stands_before_a_backslash() {
        assert_eq!(account("WORK\\ada"), (Some("WORK"), "ada"));
        assert_eq!(account("\\ada"), (None, "ada"));
        assert_eq!(account("ada@work.example"), (None, "ada@work.example"));
        assert_eq!(account("LIVE\\ada@work"), (Some("LIVE"), "ada@work"));
    }
}
