//! Where input is seen beside the picture's source.

use capture_screen::x11;

/// A place where input is seen, as `--input` names it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InputSource {
    /// An X11 display that this process can reach: `x11:DISPLAY`.
    X11(String),
}

/// Why a text does not name such a place.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputSourceError {
    #[error("{text:?} is not x11:DISPLAY, such as x11::0")]
    Scheme { text: String },
    #[error(transparent)]
    Display(x11::ObserverError),
}

impl std::str::FromStr for InputSource {
    type Err = InputSourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(display) = text.strip_prefix("x11:") else {
            let text = text.chars().take(256).collect();
            return Err(InputSourceError::Scheme { text });
        };
        x11::check_name(display).map_err(InputSourceError::Display)?;
        Ok(Self::X11(display.to_owned()))
    }
}

impl std::fmt::Display for InputSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::X11(display) => write!(f, "x11:{display}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_named_behind_its_scheme() {
        for text in ["x11::0", "x11:desk:1.0", "x11:unix/:2"] {
            assert_eq!(text.parse::<InputSource>().unwrap().to_string(), text);
        }
        for text in [":0", "x11:", "x11:0", "wayland:0", ""] {
            assert!(text.parse::<InputSource>().is_err(), "{text}");
        }
    }
}
