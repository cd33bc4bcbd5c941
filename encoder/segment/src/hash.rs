//! SHA-256 as the format writes it.

use serde::{Deserialize, Serialize};
use sha2::Digest;

/// A SHA-256 digest, written as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256([u8; 32]);

impl Sha256 {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest's 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Sha256 {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Display for Sha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A text that is not a SHA-256 digest.
#[derive(Debug, thiserror::Error)]
#[error("a SHA-256 digest is 64 lowercase hexadecimal digits")]
pub struct ParseSha256Error;

impl std::str::FromStr for Sha256 {
    type Err = ParseSha256Error;

    fn from_str(text: &str) -> Result<Self, ParseSha256Error> {
        let digit = |c: u8| {
            char::from(c)
                .to_digit(16)
                .filter(|_| !c.is_ascii_uppercase())
        };
        let mut digest = [0; 32];
        if text.len() != 64 {
            return Err(ParseSha256Error);
        }
        for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let &[high, low] = pair else {
                return Err(ParseSha256Error);
            };
            let (high, low) = digit(high).zip(digit(low)).ok_or(ParseSha256Error)?;
            *byte = u8::try_from(high * 16 + low).map_err(|_| ParseSha256Error)?;
        }
        Ok(Self(digest))
    }
}

impl TryFrom<String> for Sha256 {
    type Error = ParseSha256Error;
    fn try_from(text: String) -> Result<Self, ParseSha256Error> {
        text.parse()
    }
}

impl From<Sha256> for String {
    fn from(digest: Sha256) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_round_trip_and_have_one_spelling() {
        let digest = Sha256::of(b"");
        let text = digest.to_string();
        assert!(text.starts_with("e3b0c44298fc1c14"));
        assert_eq!(text.parse::<Sha256>().unwrap(), digest);
        assert!(text.to_uppercase().parse::<Sha256>().is_err());
        assert!(text[1..].parse::<Sha256>().is_err());
    }
}
