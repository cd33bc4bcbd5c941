//! How to be let in: what a source is shown of us, and what it has to show.

use capture::Size;
use clap::ValueEnum;
use segment::Sha256;
use serde::{Deserialize, Serialize};

/// What opens a source, beside its URL. `Debug` hides it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Access {
    /// The password, if it asks for one.
    pub(crate) password: Option<String>,
    /// What the request for a WebSocket carries besides: names and values.
    pub(crate) headers: Vec<(String, String)>,
    /// Insist on encryption where the URL does not say.
    pub(crate) encrypt: bool,
    /// Which certificates are believed.
    pub(crate) trust: Trust,
    /// What else an RDP server is asked for.
    pub(crate) rdp: RdpAccess,
}

/// What an RDP server is asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct RdpAccess {
    /// How to sign in.
    pub(crate) security: RdpSecurity,
    /// The desktop's size; the server decides.
    pub(crate) size: Size,
}

impl Default for RdpAccess {
    fn default() -> Self {
        Self {
            security: RdpSecurity::default(),
            size: Size::new(1920, 1080),
        }
    }
}

/// How to sign in over RDP. The connection is encrypted either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RdpSecurity {
    /// Network Level Authentication, or nothing
    #[default]
    Nla,
    /// Network Level Authentication where the server has it, else TLS alone
    NlaOrTls,
    /// TLS alone: whoever holds the certificate is sent the password
    Tls,
}

/// Which certificates are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Trust {
    /// Those that this system's roots vouch for, under the name in the URL.
    #[default]
    Roots,
    /// This one, by the SHA-256 of its DER form, whatever it says.
    Pin(Sha256),
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Access(…)")
    }
}

/// Why a text is not a list of headers. It never shows the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadersError {
    #[error("line {line} is not Name: value")]
    Line { line: usize },
    #[error("line {line} sets {name}, which the WebSocket itself needs")]
    Reserved { line: usize, name: &'static str },
}

/// What the WebSocket's handshake writes itself.
const RESERVED: [&str; 5] = [
    "Host",
    "Connection",
    "Upgrade",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
];

/// Reads `Name: value` lines; empty ones and those that begin with `#` say nothing.
pub(crate) fn parse_headers(text: &str) -> Result<Vec<(String, String)>, HeadersError> {
    let mut headers = Vec::new();
    for (line, said) in (1..).zip(text.lines()) {
        if said.trim().is_empty() || said.starts_with('#') {
            continue;
        }
        let (name, value) = said.split_once(':').ok_or(HeadersError::Line { line })?;
        let (name, value) = (name.trim(), value.trim());
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) || value.chars().any(char::is_control) {
            return Err(HeadersError::Line { line });
        }
        let same = |reserved: &&&str| reserved.eq_ignore_ascii_case(name);
        if let Some(name) = RESERVED.iter().find(same) {
            return Err(HeadersError::Reserved { line, name });
        }
        headers.push((name.to_owned(), value.to_owned()));
    }
    Ok(headers)
}

/// Reads a certificate's fingerprint as tools print it: with or without colons, in either case.
pub(crate) fn parse_pin(text: &str) -> Result<Sha256, String> {
    let digits = text.replace(':', "").to_ascii_lowercase();
    digits.parse().map_err(|_| {
        "a pin is the SHA-256 of the certificate: 64 hexadecimal digits, as \
         `openssl x509 -noout -fingerprint -sha256` prints them"
            .to_owned()
    })
}

/// Reads a desktop's size, such as `1920x1080`.
pub(crate) fn parse_size(text: &str) -> Result<Size, String> {
    let sides = text.split_once('x').and_then(|(w, h)| {
        let side = |text: &str| text.parse().ok().filter(|side| (200..=8192).contains(side));
        Some(Size::new(side(w)?, side(h)?))
    });
    sides.ok_or_else(|| "a size is WIDTHxHEIGHT, each from 200 to 8192".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_lines_of_name_and_value() {
        let text = "# signed\n\nAuthorization: Bearer a:b \nx-Key:v";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = vec![pair("Authorization", "Bearer a:b"), pair("x-Key", "v")];
        assert_eq!(parse_headers(text), Ok(expected));
    }

    #[test]
    fn bad_headers_are_named_by_line_and_not_shown() {
        let line = |line| Err(HeadersError::Line { line });
        assert_eq!(parse_headers("a: b\nhunter2"), line(2));
        assert_eq!(parse_headers("bad name: x"), line(1));
        assert_eq!(parse_headers("a: b\u{7}"), line(1));
        let (line, name) = (1, "Host");
        let reserved = HeadersError::Reserved { line, name };
        assert_eq!(parse_headers("host: elsewhere"), Err(reserved));
    }

    #[test]
    fn a_pin_is_read_as_tools_print_it() {
        let digest = Sha256::of(b"certificate");
        let plain = digest.to_string();
        let pairs: Vec<&str> = (0..64).step_by(2).map(|at| &plain[at..at + 2]).collect();
        for text in [plain.clone(), pairs.join(":").to_ascii_uppercase()] {
            assert_eq!(parse_pin(&text), Ok(digest));
        }
        assert!(parse_pin("AB:CD").unwrap_err().contains("openssl x509"));
    }

    #[test]
    fn a_size_is_two_sides() {
        assert_eq!(parse_size("1366x768"), Ok(Size::new(1366, 768)));
        for text in [
            "",
            "1366",
            "1366x",
            "0x768",
            "1366x9000",
            "-1x5",
            "1366x768x3",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn debug_hides_everything() {
        let access = Access {
            password: Some("hunter2".to_owned()),
            headers: vec![("Authorization".to_owned(), "hunter2".to_owned())],
            ..Access::default()
        };
        assert!(!format!("{access:?}").contains("hunter2"));
    }
}
