//! What does the server answer? A blocking HTTP client of one request a connection.
//!
//! HTTP/1.0 has no chunks and ends a body by closing, which is all that tests need; a client
//! crate would cost more to build than these lines.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, ensure};

/// No answer in a test is larger.
const MAX_ANSWER_BYTES: u64 = 256 << 20;
/// No request in a test takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Answer {
    /// A header's value.
    ///
    /// # Errors
    /// When the answer has no such header.
    pub fn header(&self, name: &str) -> anyhow::Result<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.as_str())
            .with_context(|| format!("no header {name}: {:?}", self.headers))
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// When it is something else.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        serde_json::from_slice(&self.body).with_context(|| self.text())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Asks for `path`.
///
/// # Errors
/// When no well-formed answer comes. A status such as 404 is an answer.
pub fn get(at: SocketAddr, path: &str) -> anyhow::Result<Answer> {
    exchange(at, &format!("GET {path} HTTP/1.0\r\n\r\n"), &[]).with_context(|| path.to_owned())
}

/// Sends `body` to `path`.
///
/// # Errors
/// When no well-formed answer comes.
pub fn post(at: SocketAddr, path: &str, kind: &str, body: &[u8]) -> anyhow::Result<Answer> {
    let length = body.len();
    let head =
        format!("POST {path} HTTP/1.0\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    exchange(at, &head, body).with_context(|| path.to_owned())
}

fn exchange(at: SocketAddr, head: &str, body: &[u8]) -> anyhow::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&at, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(head.as_bytes())?;
    // A server may refuse a body before it has read all of it; its answer is still there.
    let _ = stream.write_all(body);
    let mut bytes = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes)?;
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> anyhow::Result<Answer> {
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .context("no end of headers")?;
    let head = std::str::from_utf8(&bytes[..end])?;
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    ensure!(first.starts_with("HTTP/1."), "no HTTP answer: {first:?}");
    let status = first.split(' ').nth(1).context("no status")?.parse()?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    Ok(Answer {
        status,
        headers,
        body: bytes[end + 4..].to_vec(),
    })
}
