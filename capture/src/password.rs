//! What a source is signed in to with.

use std::fmt;

/// A password. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// A password as the user gave it.
    #[must_use]
    pub const fn new(password: String) -> Self {
        Self(password)
    }

    /// The password itself, for the one place that proves to know it.
    #[must_use]
    pub const fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
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
}
