//! One connection to a source: its socket, its protocol session and the picture it paints.

use std::time::Duration;

use capture::{Framebuffer, GapReason, Size};
use capture_vnc::{Config, ErrorKind, Password, Session};
use tokio::{io::AsyncReadExt as _, io::AsyncWriteExt as _, net::TcpStream};

use crate::{clock, clock::BootTime, source::Source, wire::Refusal};

/// A TCP connection that takes longer than this is a host that does not answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// What is read from the socket at once; past it the kernel's buffer slows the peer down.
const READ_BYTES: usize = 64 << 10;
/// A peer that takes nothing for this long is stalled.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// A source that cannot be reached, or no longer.
#[derive(Debug)]
pub(super) struct Lost {
    /// The reason that the gap carries.
    pub(super) reason: GapReason,
    /// Whether the source refused who we are.
    refused: bool,
    /// What happened, for the operator.
    pub(super) detail: String,
}

impl Lost {
    /// How a first connection that failed like this is reported.
    pub(super) const fn refusal(&self) -> Refusal {
        if self.refused {
            Refusal::Authentication
        } else {
            Refusal::Unreachable
        }
    }

    fn disconnected(detail: String) -> Self {
        Self {
            reason: GapReason::Disconnected,
            refused: false,
            detail,
        }
    }
}

impl From<capture_vnc::Error> for Lost {
    fn from(error: capture_vnc::Error) -> Self {
        Self {
            reason: error.reason(),
            refused: error.kind() == ErrorKind::Refused,
            detail: error.to_string(),
        }
    }
}

/// A connected source.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Box<[u8]>,
    /// The protocol's state.
    pub(super) session: Session,
    /// The picture as the source has painted it.
    pub(super) framebuffer: Framebuffer,
}

impl Connection {
    /// Connects to `source`.
    pub(super) async fn open(source: &Source, password: Option<String>) -> Result<Self, Lost> {
        let Source::Vnc { host, port } = source;
        let connect = TcpStream::connect((host.as_str(), *port));
        let stream = match tokio::time::timeout(CONNECT_TIMEOUT, connect).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                return Err(Lost::disconnected(format!(
                    "cannot connect to {source}: {error}"
                )));
            }
            Err(_) => {
                return Err(Lost::disconnected(format!(
                    "{source} does not answer a connection"
                )));
            }
        };
        // Requests are a few bytes that answers wait for; they must not wait to be gathered.
        stream
            .set_nodelay(true)
            .map_err(|error| Lost::disconnected(error.to_string()))?;
        let seed = clock::random().map_err(|error| Lost::disconnected(error.to_string()))?;
        let framebuffer = Framebuffer::new(Size::new(1, 1), u64::from_ne_bytes(seed))
            .map_err(|error| Lost::disconnected(error.to_string()))?;
        let password = password.map(Password::new);
        let config = Config {
            password,
            ..Config::default()
        };
        let session = Session::new(config, BootTime::now().ms());
        let buffer = vec![0; READ_BYTES].into_boxed_slice();
        Ok(Self {
            stream,
            buffer,
            session,
            framebuffer,
        })
    }

    /// Waits for bytes, gives them to the session and says when they arrived. Cancel-safe: bytes
    /// are read only when this completes.
    pub(super) async fn receive(&mut self) -> Result<BootTime, Lost> {
        let read = self.stream.read(&mut self.buffer).await;
        let received = BootTime::now();
        let bytes = match read {
            Ok(0) => return Err(self.session.handle_close().into()),
            Ok(len) => self.buffer.get(..len).unwrap_or_default(),
            Err(error) => return Err(Lost::disconnected(format!("connection broke: {error}"))),
        };
        self.session
            .handle_bytes(received.ms(), bytes, &mut self.framebuffer)?;
        Ok(received)
    }

    /// As [`receive`](Self::receive), but no longer than the session is willing to wait.
    pub(super) async fn receive_or_timeout(&mut self) -> Result<(), Lost> {
        let due = self.session.poll_timeout().unwrap_or(u64::MAX);
        let wait = Duration::from_millis(due.saturating_sub(BootTime::now().ms()));
        match tokio::time::timeout(wait, self.receive()).await {
            Ok(received) => received.map(|_| ()),
            Err(_) => Ok(self.session.handle_timeout(BootTime::now().ms())?),
        }
    }

    /// Sends what the session has to say.
    pub(super) async fn send(&mut self) -> Result<(), Lost> {
        while let Some(bytes) = self.session.poll_transmit() {
            let write = self.stream.write_all(&bytes);
            match tokio::time::timeout(WRITE_TIMEOUT, write).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    return Err(Lost::disconnected(format!("connection broke: {error}")));
                }
                Err(_) => {
                    let detail = "source takes no bytes".to_owned();
                    return Err(Lost {
                        reason: GapReason::Stalled,
                        refused: false,
                        detail,
                    });
                }
            }
        }
        Ok(())
    }
}
