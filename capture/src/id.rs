//! The name of a session.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A session's id: a version 7 UUID, so ids sort by start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

impl SessionId {
    /// An id for a session created at `unix_ms` UTC; `random` makes it unique.
    #[must_use]
    pub fn new(unix_ms: u64, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid())
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// A text that is not a session id.
#[derive(Debug, thiserror::Error)]
#[error("session id {text:?} is not a UUID such as 01937f0e-7c1a-7b2c-9d3e-0123456789ab")]
pub struct ParseIdError {
    text: String,
}

impl std::str::FromStr for SessionId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Only the hyphenated form: an id has one spelling in keys, URLs and rows.
        let uuid = (text.len() == 36)
            .then(|| Uuid::try_parse(text).ok())
            .flatten();
        uuid.map(Self).ok_or_else(|| ParseIdError {
            text: text.chars().take(64).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_round_trip() {
        let early = SessionId::new(1_000, [0xff; 10]);
        let late = SessionId::new(1_001, [0; 10]);
        assert!(early < late);
        assert_eq!(late.to_string().parse::<SessionId>().unwrap(), late);
    }

    #[test]
    fn other_spellings_are_refused() {
        let id = SessionId::new(1_000, [1; 10]).to_string();
        assert!(id.replace('-', "").parse::<SessionId>().is_err());
        assert!(format!("{{{id}}}").parse::<SessionId>().is_err());
        assert!("../../etc/passwd".parse::<SessionId>().is_err());
    }
}
