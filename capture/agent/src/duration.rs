//! Spans of time as people write them on a command line: `90s`, `10m`, `1h`, `250ms`.

use std::time::Duration;

/// Reads a span with its unit.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => {
            return Err(format!(
                "{text:?} needs a whole number and a unit: 250ms, 90s, 10m, 1h"
            ));
        }
    };
    let ms = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit_ms));
    ms.map(Duration::from_millis)
        .ok_or_else(|| format!("{text:?} is not a usable span of time"))
}

/// How long to wait for a lost source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum GiveUp {
    /// Give up when it has been away this long.
    After(Duration),
    /// Wait for as long as it takes.
    Never,
}

impl std::str::FromStr for GiveUp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Self::Never),
            "0" => Ok(Self::After(Duration::ZERO)),
            _ => parse(text).map(Self::After),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_need_a_unit() {
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        for bad in ["90", "s", "1.5h", "-1s", "99999999999999999999h"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn giving_up_can_be_immediate_or_never() {
        assert_eq!("0".parse(), Ok(GiveUp::After(Duration::ZERO)));
        assert_eq!("never".parse(), Ok(GiveUp::Never));
        assert_eq!("10m".parse(), Ok(GiveUp::After(Duration::from_secs(600))));
    }
}
