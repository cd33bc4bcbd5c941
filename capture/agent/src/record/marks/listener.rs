//! Who tells marks: JSON lines over TCP behind a token, or over a Unix socket that only its owner
//! can open.
//!
//! ```text
//! → {"token":"…"}                          the first line, over TCP
//! → {"mark":"secret.begin","text":"…"}     the text may be left out
//! ← {"ok":true,"t":12345}                  in force and durable since then
//! ← {"ok":false,"error":"…"}
//! ```

use std::{
    io,
    net::SocketAddr,
    os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use capture::mark::Mark;
use rustix::fs::Mode;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
        AsyncWriteExt as _, BufReader,
    },
    net::{TcpListener, UnixListener},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::Hub;

/// More are not taken on until one has gone.
pub(super) const CONNECTIONS_MAX: usize = 16;
/// The longest line: a mark with the longest text, escaped, fits.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// How long a stranger may take to show its token.
const TOKEN_PATIENCE: Duration = Duration::from_secs(10);
/// A pause after a connection that could not be accepted, as when no file is left to open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
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
    let listener = Listener::bind(address)?;
    let hub = hub.clone();
    tokio::spawn(async move {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        // INVARIANT: nobody closes `places`.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match listener.accept().await {
                Ok(stream) => {
                    let hub = hub.clone();
                    tokio::spawn(async move {
                        let _ = serve(stream, token, &hub).await; // who told marks is gone
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "Marks cannot be told");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    });
    Ok(())
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Listener {
    fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(at) => {
                let listener = std::net::TcpListener::bind(at)?;
                listener.set_nonblocking(true)?;
                Ok(Self::Tcp(TcpListener::from_std(listener)?))
            }
            Address::Unix(path) => {
                let listener = bind_private(path)?;
                listener.set_nonblocking(true)?;
                Ok(Self::Unix(UnixListener::from_std(listener)?))
            }
        }
    }

    async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(listener) => Box::new(listener.accept().await?.0),
            Self::Unix(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

/// A socket that only its owner can open. One that an ended recorder left behind is replaced.
fn bind_private(path: &Path) -> io::Result<StdUnixListener> {
    let left_behind = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if StdUnixStream::connect(path).is_err_and(left_behind) {
        std::fs::remove_file(path)?;
    }
    let others = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let listener = StdUnixListener::bind(path);
    rustix::process::umask(others);
    listener
}

/// Answers one connection's lines until it goes, or says what cannot be a line.
async fn serve(
    stream: impl AsyncRead + AsyncWrite,
    token: Option<[u8; 32]>,
    hub: &Hub,
) -> io::Result<()> {
    let (read, mut write) = tokio::io::split(stream);
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    if let Some(token) = token {
        let shown = timeout(TOKEN_PATIENCE, next_line(&mut read, &mut line)).await??;
        let shown = shown.and_then(|line| serde_json::from_slice::<Token>(line).ok());
        // Digests are compared, so that the time this takes tells nothing about the token.
        if shown.is_none_or(|shown| Sha256::digest(shown.token)[..] != token) {
            let refusal = json!({ "ok": false, "error": "the token is refused" });
            return answer(&mut write, &refusal).await;
        }
    }
    while let Some(line) = next_line(&mut read, &mut line).await? {
        let told = match mark(line) {
            Ok(mark) => hub.tell(&mark).await.map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        let said = match told {
            Ok(Some(t)) => json!({ "ok": true, "t": t }),
            Ok(None) => json!({ "ok": true }),
            Err(error) => json!({ "ok": false, "error": error }),
        };
        answer(&mut write, &said).await?;
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

/// The next line; `None` at the end.
async fn next_line<'a>(
    read: &mut (impl AsyncBufRead + Unpin),
    line: &'a mut Vec<u8>,
) -> io::Result<Option<&'a [u8]>> {
    line.clear();
    read.take(LINE_BYTES_MAX).read_until(b'\n', line).await?;
    Ok(line.strip_suffix(b"\n"))
}

async fn answer(write: &mut (impl AsyncWrite + Unpin), said: &serde_json::Value) -> io::Result<()> {
    write.write_all(format!("{said}\n").as_bytes()).await?;
    write.flush().await
}

#[cfg(test)]
mod tests {
    use policy::Policy;
    use tokio::io::duplex;

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
        assert_eq!(answers(None, &endless).await, "");
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

    #[tokio::test]
    async fn only_its_owner_can_open_a_socket_and_a_dead_one_is_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        drop(bind_private(&path).unwrap());
        let _listener = bind_private(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
        let taken = bind_private(&path).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }
}
