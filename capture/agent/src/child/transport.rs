//! How bytes reach a source: TCP or a Unix socket, wrapped in what its URL asks for.

mod tls;
mod websocket;

use std::{io, time::Duration};

use capture::GapReason;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::TlsAcceptor;

pub(super) use self::tls::Encrypted;
use self::tls::wrap;
use super::lost::Lost;
use crate::{
    access::{Access, Trust},
    source::{Address, Source},
};

/// A host that takes longer than this, until bytes of the source itself can flow, does not answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A stream of bytes, whatever carries it.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection to a source. Layers lie within each other: RFB may ask for TLS inside a WebSocket
/// that came through TLS itself.
pub(super) type Transport = Box<dyn Stream>;

/// Why no bytes can flow. The texts hold nothing a peer said.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    #[error("does not answer a connection")]
    Silent,
    #[error("shows a certificate that is not believed: {0}")]
    Certificate(String),
    #[error("cannot read this system's root certificates; give --tls-pin")]
    NoRoots,
    #[error("does not speak TLS as this recorder does: {0}")]
    Tls(String),
    #[error("refuses who we are (HTTP {status}); see --header-file")]
    Unauthorized { status: u16 },
    #[error("answers HTTP {status} instead of opening a WebSocket")]
    NoWebSocket { status: u16 },
    #[error(
        "hangs up on the request for a WebSocket, as some servers do when its token is wrong \
         or has expired"
    )]
    HungUp,
    #[error(
        "does not agree to the WebSocket subprotocol \"binary\"; name its own, or none, by a line \
         Sec-WebSocket-Protocol: in --header-file"
    )]
    Subprotocol,
    #[error("does not speak WebSocket: {0}")]
    WebSocket(&'static str),
    #[error("cannot be asked for a WebSocket: its URL or a header does not fit in a request")]
    Request,
}

impl Error {
    /// Whether the source and we do not believe each other: another try would end the same.
    const fn is_refusal(&self) -> bool {
        matches!(self, Self::Certificate(_) | Self::Unauthorized { .. })
    }

    /// What it means for a recording of `source`.
    pub(super) fn lost(&self, source: &Source) -> Lost {
        let refused = self.is_refusal();
        Lost {
            reason: if refused {
                GapReason::PermissionLost
            } else {
                GapReason::Disconnected
            },
            refused,
            detail: format!("{source} {self}"),
        }
    }
}

/// Connects to `source`, up to where it can say its first byte.
pub(super) async fn connect(source: &Source, access: &Access) -> Result<Transport, Error> {
    let connected = tokio::time::timeout(CONNECT_TIMEOUT, open(source, access));
    connected.await.unwrap_or(Err(Error::Silent))
}

/// Encrypts a connection that began without, to a server that proves to be `host` to `trust`.
pub(super) async fn upgrade(
    plain: Transport,
    host: &str,
    trust: Trust,
) -> Result<Encrypted, Error> {
    let wrapped = tokio::time::timeout(CONNECT_TIMEOUT, wrap(plain, host, trust));
    wrapped.await.unwrap_or(Err(Error::Silent))
}

/// Encrypts a driver's connection, by the key of `own`.
pub(super) async fn accept(
    plain: Transport,
    acceptor: &TlsAcceptor,
    own: &[u8],
) -> Result<Encrypted, Error> {
    let wrapped = tokio::time::timeout(CONNECT_TIMEOUT, tls::accept(plain, acceptor, own));
    wrapped.await.unwrap_or(Err(Error::Silent))
}

async fn open(source: &Source, access: &Access) -> Result<Transport, Error> {
    match &source.address {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).await.map_err(Error::Connect)?;
            Ok(Box::new(stream))
        }
        Address::Tcp { host, port } => tcp(host, *port).await,
        Address::WebSocket {
            host,
            port,
            tls,
            url,
        } => {
            let mut stream = tcp(host, *port).await?;
            if *tls {
                stream = wrap(stream, host, access.trust).await?.stream;
            }
            websocket::open(stream, url, &access.headers).await
        }
    }
}

async fn tcp(host: &str, port: u16) -> Result<Transport, Error> {
    let connected = TcpStream::connect((host, port)).await;
    let stream = connected.map_err(Error::Connect)?;
    // Requests are a few bytes that answers wait for; they must not wait to be gathered.
    stream.set_nodelay(true).map_err(Error::Connect)?;
    Ok(Box::new(stream))
}
