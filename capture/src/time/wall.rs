//! UTC, to the millisecond.

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01 UTC. Written `2026-11-30T09:14:03.250Z`, always with three
/// decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WallTime(i64);

impl WallTime {
    /// 9999-12-31T23:59:59.999Z: RFC 3339 has four year digits.
    const MAX_MS: i64 = 253_402_300_799_999;

    /// The instant `ms` after 1970-01-01 UTC, limited to the years 1970–9999.
    #[must_use]
    pub const fn from_unix_ms(ms: i64) -> Self {
        if ms < 0 {
            Self(0)
        } else if ms > Self::MAX_MS {
            Self(Self::MAX_MS)
        } else {
            Self(ms)
        }
    }

    /// Milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn unix_ms(self) -> i64 {
        self.0
    }

    /// The instant `ms` later, or earlier when negative; saturates.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self::from_unix_ms(self.0.saturating_add(ms))
    }

    /// The UTC day as `yyyy/mm/dd`, the shape used in object keys.
    #[must_use]
    pub fn day(self) -> String {
        self.timestamp().strftime("%Y/%m/%d").to_string()
    }

    fn timestamp(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }
}

impl std::fmt::Display for WallTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.timestamp().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
    }
}

/// A text that is not a UTC time.
#[derive(Debug, thiserror::Error)]
#[error("time {text:?} is not RFC 3339 with a zone, such as 2026-11-30T09:14:03.250Z")]
pub struct ParseWallTimeError {
    text: String,
}

impl std::str::FromStr for WallTime {
    type Err = ParseWallTimeError;

    /// Any RFC 3339 time with a zone; parts finer than a millisecond are cut off.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseWallTimeError {
            text: text.chars().take(64).collect(),
        };
        let timestamp: jiff::Timestamp = text.parse().map_err(|_| error())?;
        let ms = timestamp.as_millisecond();
        if (0..=Self::MAX_MS).contains(&ms) {
            Ok(Self(ms))
        } else {
            Err(error())
        }
    }
}

impl TryFrom<String> for WallTime {
    type Error = ParseWallTimeError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<WallTime> for String {
    fn from(time: WallTime) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_three_decimals_and_round_trips() {
        for (text, canonical) in [
            ("2026-11-30T09:14:03.250Z", "2026-11-30T09:14:03.250Z"),
            ("2026-11-30T09:14:03Z", "2026-11-30T09:14:03.000Z"),
            ("2026-11-30T14:44:03.25+05:30", "2026-11-30T09:14:03.250Z"),
            ("2026-11-30T09:14:03.250999Z", "2026-11-30T09:14:03.250Z"),
        ] {
            assert_eq!(text.parse::<WallTime>().unwrap().to_string(), canonical);
        }
    }

    #[test]
    fn a_time_without_a_zone_is_refused() {
        assert!("2026-11-30T09:14:03".parse::<WallTime>().is_err());
        assert!("yesterday".parse::<WallTime>().is_err());
    }

    #[test]
    fn day_is_utc() {
        let late = "2026-11-30T23:30:00-02:00".parse::<WallTime>().unwrap();
        assert_eq!(late.day(), "2026/12/01");
    }
}
