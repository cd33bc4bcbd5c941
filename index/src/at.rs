//! How does a person write a time? As seconds, as a clock, or as UTC.

use std::str::FromStr;

use capture::{MediaTime, WallTime};

/// A time in a session as `--at` and the viewer's links take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Since the session's start: `12.5` seconds, or a clock such as `1:02:03.250`.
    Media(MediaTime),
    /// Wall clock: `2026-11-30T09:14:03.250Z`.
    Utc(WallTime),
}

/// A text that is no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "time {text:?} is none of seconds (12.5), a clock (1:02:03.250) or UTC (2026-11-30T09:14:03.250Z)"
)]
pub struct ParseAtError {
    text: String,
}

impl FromStr for At {
    type Err = ParseAtError;

    fn from_str(text: &str) -> Result<Self, ParseAtError> {
        let media = || parse_clock_ms(text).map(|ms| Self::Media(MediaTime::from_ms(ms)));
        let utc = || text.parse().ok().map(Self::Utc);
        media().or_else(utc).ok_or_else(|| ParseAtError {
            text: text.chars().take(64).collect(),
        })
    }
}

/// `[[h:]m:]s[.mmm]` in milliseconds; digits finer than a millisecond are cut off. Below the
/// first part, minutes and seconds stay under 60.
fn parse_clock_ms(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(fraction) {
        return None;
    }
    let fraction_ms: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let mut seconds = 0u64;
    for (i, part) in whole.split(':').enumerate() {
        let n = digits(part).then(|| part.parse::<u64>().ok()).flatten()?;
        if i > 2 || (i > 0 && n >= 60) {
            return None;
        }
        seconds = seconds.checked_mul(60)?.checked_add(n)?;
    }
    seconds.checked_mul(1000)?.checked_add(fraction_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ms: u64) {
        let at = text.parse::<At>().unwrap();
        assert_eq!(at, At::Media(MediaTime::from_ms(ms)), "{text}");
    }

    #[test]
    fn seconds_and_clocks_are_media_time() {
        check("0", 0);
        check("12.5", 12_500);
        check("12.5009", 12_500);
        check("90", 90_000);
        check("1:02", 62_000);
        check("1:02:03.250", 3_723_250);
    }

    #[test]
    fn a_media_time_displays_as_its_clock() {
        let t = MediaTime::from_ms(3_723_250);
        assert_eq!(t.to_string().parse(), Ok(At::Media(t)));
    }

    #[test]
    fn utc_needs_its_zone() {
        let utc = "2026-11-30T09:14:03.250Z";
        assert_eq!(utc.parse(), Ok(At::Utc(utc.parse().unwrap())));
        for text in [
            "",
            "soon",
            "-1",
            "1:60",
            "1:2:3:4",
            "5.",
            ".5",
            "1e3",
            "2026-11-30T09:14:03",
            "99999999999999999999",
        ] {
            assert!(text.parse::<At>().is_err(), "{text:?}");
        }
    }
}
