//! How long to wait for a source, as people write it on a command line.

use std::time::Duration;

use capture::time::parse_span;

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
            _ => parse_span(text)
                .map(Self::After)
                .map_err(|error| error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giving_up_can_be_immediate_or_never() {
        assert_eq!("0".parse(), Ok(GiveUp::After(Duration::ZERO)));
        assert_eq!("never".parse(), Ok(GiveUp::Never));
        assert_eq!("10m".parse(), Ok(GiveUp::After(Duration::from_secs(600))));
    }
}
