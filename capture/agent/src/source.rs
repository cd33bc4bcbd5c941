//! What to record: the machine a URL names. The URL's query may be a secret, so it is kept apart
//! from what is shown.

use std::path::PathBuf;

use capture::source::Protocol;

/// A machine to record, as its URL names it.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Source {
    /// The URL as people may see it: a query is left out.
    shown: String,
    /// What it speaks.
    pub(crate) protocol: Protocol,
    /// The user's name, where sign-in takes one.
    pub(crate) user: Option<String>,
    /// Where it is.
    pub(crate) address: Address,
}

/// How a source is reached.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Address {
    /// A host that speaks the protocol itself.
    Tcp { host: String, port: u16 },
    /// A socket of this machine.
    Unix(PathBuf),
    /// A host that carries RFB inside WebSocket; `url` is whole and may hold secrets.
    WebSocket {
        host: String,
        port: u16,
        tls: bool,
        url: String,
    },
}

/// Why a URL does not name a source this recorder can record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceUrlError {
    #[error("source URL is not a URL: {0}; try vnc://host:5900")]
    NotAUrl(#[from] url::ParseError),
    #[error("source URL has no host; try {scheme}://host")]
    NoHost { scheme: String },
    #[error("source URL unix: needs the socket's absolute path; try unix:/run/desk.sock")]
    NoPath,
    #[error(
        "source URL must not carry a password, which any process list would show; \
         use --password-file or PLAYHEAD_PASSWORD"
    )]
    Password,
    #[error("source URL {scheme}://host has a path or query, which only ws:// and wss:// take")]
    Path { scheme: String },
    #[error("source URL's user name is not UTF-8")]
    User(#[from] std::str::Utf8Error),
    #[error("source URL mac:// needs a user's name; try mac://user@host")]
    NoUser,
    #[error(
        "source scheme {scheme:?} is not recorded by this version; it records vnc://host[:port], \
         rdp://[user@]host[:port], mac://user@host[:port], unix:/path, ws://host/path and wss://host/path"
    )]
    Scheme { scheme: String },
}

impl Source {
    /// RFC 6143's port for display 0.
    const VNC_PORT: u16 = 5900;
    /// MS-RDPBCGR's port.
    const RDP_PORT: u16 = 3389;

    /// Whom a certificate must name, and whether the address itself says that the connection is
    /// encrypted.
    pub(crate) fn peer(&self) -> (&str, bool) {
        match &self.address {
            Address::Tcp { host, .. } => (host, false),
            Address::WebSocket { host, tls, .. } => (host, *tls),
            Address::Unix(_) => ("localhost", false),
        }
    }
}

impl std::str::FromStr for Source {
    type Err = SourceUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A socket's path is taken as it is: nothing in it is an escape, a query or a user.
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if !path.starts_with('/') {
                return Err(SourceUrlError::NoPath);
            }
            return Ok(Self {
                shown: format!("unix:{path}"),
                protocol: Protocol::Vnc,
                user: None,
                address: Address::Unix(path.into()),
            });
        }

        let mut url = url::Url::parse(text)?;
        let scheme = url.scheme().to_owned();
        let (protocol, port) = match &*scheme {
            "vnc" | "mac" | "ws" | "wss" => (Protocol::Vnc, Self::VNC_PORT),
            "rdp" => (Protocol::Rdp, Self::RDP_PORT),
            _ => return Err(SourceUrlError::Scheme { scheme }),
        };
        if url.password().is_some() {
            return Err(SourceUrlError::Password);
        }
        // The brackets of an IPv6 address belong to the URL, not to the address.
        let host = url.host_str().unwrap_or_default();
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        if host.is_empty() {
            return Err(SourceUrlError::NoHost { scheme });
        }
        let port = url.port_or_known_default().unwrap_or(port);
        let user = percent_encoding::percent_decode_str(url.username()).decode_utf8()?;
        let user = (!user.is_empty()).then(|| user.into_owned());
        url.set_fragment(None);

        let address = if scheme.starts_with("ws") {
            let mut asked = url.clone();
            let _ = asked.set_username(""); // it signs in to the desktop, not to the web server
            Address::WebSocket {
                host,
                port,
                tls: scheme == "wss",
                url: asked.into(),
            }
        } else {
            if !["", "/"].contains(&url.path()) || url.query().is_some() {
                return Err(SourceUrlError::Path { scheme });
            }
            if scheme == "mac" && user.is_none() {
                return Err(SourceUrlError::NoUser);
            }
            url.set_path("");
            let _ = url.set_port(Some(port)); // it has a host, so it takes a port
            Address::Tcp { host, port }
        };
        let hidden = url.query().is_some();
        url.set_query(hidden.then_some("…"));
        let shown = String::from(url).replace("%E2%80%A6", "…");
        Ok(Self {
            shown,
            protocol,
            user,
            address,
        })
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Source {
        text.parse().unwrap()
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = text.parse::<Source>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_url_has_a_default_port_and_prints_without_secrets() {
        for (text, shown) in [
            ("vnc://desk", "vnc://desk:5900"),
            ("vnc://127.0.0.1:5901/", "vnc://127.0.0.1:5901"),
            ("vnc://[::1]:5901", "vnc://[::1]:5901"),
            ("vnc://ada@desk", "vnc://ada@desk:5900"),
            ("mac://Ada%20L@mini", "mac://Ada%20L@mini:5900"),
            ("rdp://CORP%5Cada@desk", "rdp://CORP%5Cada@desk:3389"),
            ("unix:/run/desk?a#b", "unix:/run/desk?a#b"),
            ("unix:///run/desk", "unix:/run/desk"),
            ("ws://desk:6080", "ws://desk:6080/"),
            ("wss://desk/vnc?token=hunter2#hunter2", "wss://desk/vnc?…"),
        ] {
            let source = parse(text);
            assert_eq!(source.to_string(), shown);
            assert_eq!(format!("{source:?}"), shown);
        }
    }

    #[test]
    fn what_is_secret_still_reaches_the_server() {
        let Address::WebSocket {
            host,
            port,
            tls,
            url,
        } = parse("wss://ada@desk/vnc?token=hunter2").address
        else {
            panic!("wss:// is a WebSocket");
        };
        assert_eq!((host.as_str(), port, tls), ("desk", 443, true));
        assert_eq!(url, "wss://desk/vnc?token=hunter2");
    }

    #[test]
    fn a_user_is_read_as_written() {
        assert_eq!(parse("mac://Ada%20L@mini").user.as_deref(), Some("Ada L"));
        let domain = parse("rdp://CORP%5Cada@desk").user;
        assert_eq!(domain.as_deref(), Some("CORP\\ada"));
        assert_eq!(parse("vnc://desk").user, None);
    }

    #[test]
    fn other_urls_are_refused_with_the_reason() {
        refused("desk:5900", "is not recorded by this version");
        refused("127.0.0.1", "is not a URL");
        refused("vnc://", "no host");
        refused("vnc://u:hunter2@desk", "--password-file");
        refused("wss://:hunter2@desk", "--password-file");
        refused("vnc://desk/?token=hunter2", "only ws:// and wss://");
        refused("unix:desk", "absolute path");
        refused("mac://mini", "mac://user@host");
        refused("spice://desk", "\"spice\"");
        refused("rdp://desk/?token=hunter2", "only ws:// and wss://");
    }
}
