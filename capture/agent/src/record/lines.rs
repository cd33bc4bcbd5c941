//! How do others tell the recorder something while it records? In JSON, a line each, and each is
//! answered with a line, in order.

use std::{
    io,
    net::SocketAddr,
    os::unix::{
        fs::FileTypeExt as _,
        net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustix::fs::Mode;
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::{TcpListener, UnixListener},
    sync::Semaphore,
    time::sleep,
};

/// A pause after a connection that could not be accepted, as when no file is left to open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// A buffer that one long line has made longer than this is given back.
const KEEP_CAPACITY_BYTES: usize = 64 << 10;

/// Where they connect.
pub(super) enum Listener {
    /// At an address.
    Tcp(TcpListener),
    /// At a socket that only its owner can open.
    Unix(Private),
}

/// A Unix socket, which goes when nobody listens there any more.
pub(super) struct Private {
    listener: UnixListener,
    path: PathBuf,
}

/// One of them.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Listener {
    /// Listens at an address.
    ///
    /// # Errors
    /// When it cannot be had.
    pub(super) fn tcp(at: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(TcpListener::from_std(listener)?))
    }

    /// Listens at a socket that only its owner can open. One that an ended recorder left behind is
    /// replaced.
    ///
    /// # Errors
    /// When somebody listens there, or something else is there.
    pub(super) fn unix(path: &Path) -> io::Result<Self> {
        let listener = bind_private(path)?;
        listener.set_nonblocking(true)?;
        let path = path.to_owned();
        let listener = UnixListener::from_std(listener)?;
        Ok(Self::Unix(Private { listener, path }))
    }

    async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(listener) => Box::new(listener.accept().await?.0),
            Self::Unix(private) => Box::new(private.listener.accept().await?.0),
        })
    }

    /// Serves whoever connects until the program ends: so many at once, and more are not taken on
    /// until one has gone.
    pub(super) fn serve<S>(
        self,
        connections_max: usize,
        serve: impl Fn(Box<dyn Stream>) -> S + Send + 'static,
    ) where
        S: Future<Output = io::Result<()>> + Send + 'static,
    {
        tokio::spawn(async move {
            let places = Arc::new(Semaphore::new(connections_max));
            // INVARIANT: nobody closes `places`.
            while let Ok(place) = Arc::clone(&places).acquire_owned().await {
                match self.accept().await {
                    Ok(stream) => {
                        let served = serve(stream);
                        tokio::spawn(async move {
                            let _ = served.await; // whoever it was has gone
                            drop(place);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "Nobody can connect");
                        sleep(ACCEPT_PAUSE).await;
                    }
                }
            }
        });
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // the next recorder would find it dead
    }
}

fn bind_private(path: &Path) -> io::Result<StdUnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    let left_behind = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_socket && StdUnixStream::connect(path).is_err_and(left_behind) {
        std::fs::remove_file(path)?;
    }
    let others = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let listener = StdUnixListener::bind(path);
    rustix::process::umask(others);
    listener
}

/// One connection, line by line.
pub(super) struct Lines<S> {
    stream: BufReader<S>,
    line: Vec<u8>,
    longest_bytes: u64,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Lines<S> {
    /// The lines of `stream`, none of which may be longer.
    pub(super) fn of(stream: S, longest_bytes: u64) -> Self {
        Self {
            stream: BufReader::new(stream),
            line: Vec::new(),
            longest_bytes,
        }
    }

    /// The next line; `None` at the end, and after a line that was too long, which is answered.
    ///
    /// # Errors
    /// When the connection is broken.
    pub(super) async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        self.line.shrink_to(KEEP_CAPACITY_BYTES);
        let mut stream = (&mut self.stream).take(self.longest_bytes);
        stream.read_until(b'\n', &mut self.line).await?;
        if self.line.len() as u64 >= self.longest_bytes && !self.line.ends_with(b"\n") {
            let error = format!("a line has less than {} bytes", self.longest_bytes);
            self.answer(&json!({ "ok": false, "error": error })).await?;
        }
        Ok(self.line.strip_suffix(b"\n"))
    }

    /// Answers the last line.
    ///
    /// # Errors
    /// When the connection is broken.
    pub(super) async fn answer(&mut self, said: &Value) -> io::Result<()> {
        let said = format!("{said}\n");
        self.stream.write_all(said.as_bytes()).await?;
        self.stream.flush().await
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use tokio::io::duplex;

    use super::*;

    #[tokio::test]
    async fn lines_end_with_the_connection_or_where_they_are_too_long() {
        for (said, lines, answers) in [
            ("one\ntwo\n", 2, ""),
            ("one\nhalf", 1, ""),
            ("seven 7\n12345678\n", 1, "less than 8 bytes"),
        ] {
            let (mut client, server) = duplex(1 << 10);
            client.write_all(said.as_bytes()).await.unwrap();
            client.shutdown().await.unwrap();
            let mut heard = Lines::of(server, 8);
            for _ in 0..lines {
                assert!(heard.next().await.unwrap().is_some(), "{said:?}");
            }
            assert_eq!(heard.next().await.unwrap(), None, "{said:?}");
            drop(heard);
            let mut answered = String::new();
            client.read_to_string(&mut answered).await.unwrap();
            assert!(answered.contains(answers), "{answered:?}");
        }
    }

    #[tokio::test]
    async fn only_its_owner_can_open_a_socket_and_a_dead_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        drop(bind_private(&path).unwrap());
        let listener = Listener::unix(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
        let taken = bind_private(&path).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert!(!path.exists(), "it goes with who listened there");
    }

    #[test]
    fn what_is_no_socket_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        std::fs::write(&path, "mine").unwrap();
        let taken = bind_private(&path).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
