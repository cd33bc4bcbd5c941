//! What to record: the source's URL and its secret.

use capture::source::Protocol;

/// A machine to record, as its URL names it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Source {
    /// `vnc://host[:port]`
    Vnc {
        /// Host name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
}

/// Why a URL does not name a source this recorder can record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceUrlError {
    #[error("source URL {text:?} is not a URL: {cause}; try vnc://host:5900")]
    NotAUrl {
        text: String,
        cause: url::ParseError,
    },
    #[error("source URL {text:?} has no host; try vnc://host:5900")]
    NoHost { text: String },
    #[error(
        "source URL must not carry a password, which any process list would show; \
         use --password-file or PLAYHEAD_PASSWORD"
    )]
    Password,
    #[error(
        "source scheme {scheme:?} is not recorded by this version; it records vnc://host[:port]"
    )]
    Scheme { scheme: String },
    #[error("source URL has a user name, which vnc:// sign-in does not use")]
    User,
}

impl Source {
    /// RFC 6143's port for display 0.
    const VNC_PORT: u16 = 5900;

    /// The protocol it speaks.
    pub(crate) const fn protocol(&self) -> Protocol {
        match self {
            Self::Vnc { .. } => Protocol::Vnc,
        }
    }
}

impl std::str::FromStr for Source {
    type Err = SourceUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shown = || text.chars().take(256).collect();
        let url = url::Url::parse(text).map_err(|cause| SourceUrlError::NotAUrl {
            text: shown(),
            cause,
        })?;
        if url.password().is_some() {
            return Err(SourceUrlError::Password);
        }
        if url.scheme() != "vnc" {
            return Err(SourceUrlError::Scheme {
                scheme: url.scheme().to_owned(),
            });
        }
        if !url.username().is_empty() {
            return Err(SourceUrlError::User);
        }
        // The brackets of an IPv6 address belong to the URL, not to the address.
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(SourceUrlError::NoHost { text: shown() });
        }
        Ok(Self::Vnc {
            host: host.to_owned(),
            port: url.port().unwrap_or(Self::VNC_PORT),
        })
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vnc { host, port } if host.contains(':') => write!(f, "vnc://[{host}]:{port}"),
            Self::Vnc { host, port } => write!(f, "vnc://{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = text.parse::<Source>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_vnc_url_has_a_default_port_and_prints_without_secrets() {
        for (text, shown) in [
            ("vnc://desk", "vnc://desk:5900"),
            ("vnc://127.0.0.1:5901/", "vnc://127.0.0.1:5901"),
            ("vnc://[::1]:5901", "vnc://[::1]:5901"),
        ] {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn other_urls_are_refused_with_the_reason() {
        refused("desk:5900", "is not recorded by this version");
        refused("127.0.0.1", "is not a URL");
        refused("vnc://", "no host");
        refused("vnc://u:secret@desk", "--password-file");
        refused("rdp://desk", "\"rdp\"");
        assert!(
            !"vnc://:hunter2@desk"
                .parse::<Source>()
                .unwrap_err()
                .to_string()
                .contains("hunter2")
        );
    }
}
