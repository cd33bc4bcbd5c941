//! Who tells marks: JSON lines over TCP behind a token, or over a Unix socket that only its owner
//! can open.
//!
//! ```text
//! → {"token":"…"}                          the first line, over TCP
//! → {"mark":"secret.begin","text":"…"}     the text may be left out
//! ← {"ok":true,"t":12345}                  in force and durable since then
//! ← {"ok":false,"error":"…"}
//! ```

use std::{io, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use anyhow::Context as _;
use capture::mark::Mark;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::Hub;
use crate::record::lines::{Lines, Listener, Stream};

/// More are not taken on until one has gone.
pub(super) const CONNECTIONS_MAX: usize = 16;
/// The longest line: a mark with the longest text, escaped, fits.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// How long a stranger may take to show its token.
const TOKEN_PATIENCE: Duration = Duration::from_secs(10);
/// A shorter token could be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// Where marks are listened for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("unix:") {
            Some("") => Err("unix: needs a path".to_owned()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| {
                "marks are listened for at an address such as 127.0.0.1:8901, or at unix:PATH"
                    .to_owned()
            }),
        }
    }
}

/// Listens for marks at `address` until the program ends. `token` is what TCP asks for.
pub(crate) fn listen(address: &Address, token: Option<&str>, hub: &Hub) -> anyhow::Result<()> {
    let token = match address {
        Address::Unix(_) => None,
        Address::Tcp(_) => {
            let token = token.context("TCP needs a token: set PLAYHEAD_MARKS_TOKEN")?;
            anyhow::ensure!(
                TOKEN_BYTES_MIN <= token.len(),
                "the token must have at least {TOKEN_BYTES_MIN} bytes"
            );
            Some(Sha256::digest(token).into())
        }
    };
    let listener = match address {
        Address::Tcp(at) => Listener::tcp(*at)?,
        Address::Unix(path) => Listener::unix(path)?,
    };
    let hub = hub.clone();
    listener.serve(CONNECTIONS_MAX, move |stream| {
        let hub = hub.clone();
        async move { serve(stream, token, &hub).await }
    });
    Ok(())
}

/// Answers one connection's lines until it goes, or says what cannot be a line.
async fn serve(stream: impl Stream, token: Option<[u8; 32]>, hub: &Hub) -> io::Result<()> {
    let mut lines = Lines::of(stream, LINE_BYTES_MAX);
    if let Some(token) = token {
        let shown = timeout(TOKEN_PATIENCE, lines.next()).await??;
        let shown = shown.and_then(|line| serde_json::from_slice::<Token>(line).ok());
        // Digests are compared, so that the time this takes tells nothing about the token.
        if shown.is_none_or(|shown| Sha256::digest(shown.token)[..] != token) {
            let refusal = json!({ "ok": false, "error": "the token is refused" });
            return lines.answer(&refusal).await;
        }
    }
    while let Some(line) = lines.next().await? {
        let told = match mark(line) {
            Ok(mark) => hub.tell(&mark).await.map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        let said = match told {
            Ok(Some(t)) => json!({ "ok": true, "t": t }),
            Ok(None) => json!({ "ok": true }),
            Err(error) => json!({ "ok": false, "error": error }),
        };
        lines.answer(&said).await?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    mark: String,
    text: Option<String>,
}

/// The mark that `line` tells. What is wrong is said without repeating it.
fn mark(line: &[u8]) -> Result<Mark, String> {
    let line: Line = serde_json::from_slice(line)
        .map_err(|_| r#"a line is {"mark":NAME} or {"mark":NAME,"text":TEXT}"#.to_owned())?;
    Mark::new(line.mark, line.text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use policy::Policy;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    /// What is answered to these bytes, up to the end of the connection.
    async fn answers(token: Option<&str>, said: &[u8]) -> String {
        let hub = Hub::new(&Policy::default());
        let (mut client, server) = duplex(256 << 10);
        client.write_all(said).await.unwrap();
        client.shutdown().await.unwrap();
        let token = token.map(|token| Sha256::digest(token).into());
        serve(server, token, &hub).await.unwrap();
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        answers
    }

    #[tokio::test]
    async fn who_shows_the_token_may_tell_marks() {
        let said = format!("{{\"token\":\"{TOKEN}\"}}\n{{\"mark\":\"step.1\",\"text\":\"x\"}}\n");
        assert_eq!(
            answers(Some(TOKEN), said.as_bytes()).await,
            "{\"ok\":true}\n"
        );
    }

    #[tokio::test]
    async fn without_the_token_nothing_is_taken() {
        for said in [
            "{\"token\":\"0123456789abcdeF\"}\n{\"mark\":\"step.1\"}\n",
            "{\"mark\":\"step.1\"}\n",
            "\n",
        ] {
            let answers = answers(Some(TOKEN), said.as_bytes()).await;
            assert!(
                answers.contains("refused") && !answers.contains("true"),
                "{answers}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_no_mark_is_refused_unrepeated_and_does_no_harm() {
        let said = "{\"mark\":\"hunter2!\"}\n{\"hunter2\":1}\nhunter2\n{\"mark\":\"m\"}\n";
        let answers = answers(None, said.as_bytes()).await;
        let lines: Vec<&str> = answers.lines().collect();
        assert_eq!(lines.len(), 4, "{answers}");
        assert!(
            lines[..3].iter().all(|line| line.contains("\"ok\":false")),
            "{answers}"
        );
        assert!(
            lines[3].contains("\"ok\":true") && !answers.contains("hunter2"),
            "{answers}"
        );
    }

    #[tokio::test]
    async fn a_line_without_end_ends_the_connection() {
        let endless = vec![b'x'; 128 << 10];
        let answers = answers(None, &endless).await;
        assert!(answers.contains("65536 bytes"), "{answers}");
        assert_eq!(answers.lines().count(), 1, "{answers}");
    }

    #[tokio::test]
    async fn a_token_that_can_be_guessed_is_refused() {
        let hub = Hub::new(&Policy::default());
        let address = "127.0.0.1:0".parse().unwrap();
        for token in [None, Some("short")] {
            let refused = listen(&address, token, &hub).unwrap_err().to_string();
            assert!(refused.contains("token"), "{refused}");
        }
    }
}
