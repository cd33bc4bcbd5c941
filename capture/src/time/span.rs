//! Spans of time as people write them on a command line: `90s`, `10m`, `1h`, `250ms`.

use std::time::Duration;

/// Text that is no span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSpanError {
    /// It has no unit, or no whole number.
    #[error("{0:?} needs a whole number and a unit: 250ms, 90s, 10m, 1h")]
    Form(String),
    /// It is too long to be counted.
    #[error("{0:?} is not a usable span of time")]
    Range(String),
}

/// Reads a span with its unit.
///
/// # Errors
/// When `text` has no unit, no whole number, or is too long to be counted.
pub fn parse_span(text: &str) -> Result<Duration, ParseSpanError> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(ParseSpanError::Form(text.to_owned())),
    };
    let ms = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit_ms));
    ms.map(Duration::from_millis)
        .ok_or_else(|| ParseSpanError::Range(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_need_a_unit() {
        assert_eq!(parse_span("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_span("250ms"), Ok(Duration::from_millis(250)));
        for bad in ["90", "s", "1.5h", "-1s", "99999999999999999999h"] {
            assert!(parse_span(bad).is_err(), "{bad}");
        }
    }
}
