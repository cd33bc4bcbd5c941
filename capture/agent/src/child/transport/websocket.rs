//! RFB inside WebSocket (RFC 6455), as noVNC and its servers speak it: binary messages are pieces
//! of one stream of bytes, and their borders mean nothing.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures::{Sink as _, Stream as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Bytes, Message,
        client::IntoClientRequest as _,
        error::ProtocolError,
        handshake::client::Request,
        http::{HeaderName, HeaderValue, StatusCode, header::SEC_WEBSOCKET_PROTOCOL},
        protocol::WebSocketConfig,
    },
};

use super::{Error, Transport};

/// The longest message, whole or in frames: servers send what they read from a socket at once, some
/// tens of KiB, but nothing keeps them from sending a whole screen.
const MESSAGE_BYTES: usize = 16 << 20;
/// What is read at once.
const READ_BYTES: usize = 64 << 10;

/// Asks for a WebSocket on `stream`; `url` and `headers` may hold secrets.
pub(super) async fn open(
    stream: Transport,
    url: &str,
    headers: &[(String, String)],
) -> Result<Transport, Error> {
    let request = request(url, headers).ok_or(Error::Request)?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(MESSAGE_BYTES))
        .max_frame_size(Some(MESSAGE_BYTES));
    let opened = client_async_with_config(request, stream, Some(config)).await;
    let (socket, _) = opened.map_err(|error| error_of(&error))?;
    Ok(Box::new(WebSocket {
        socket,
        unread: Bytes::new(),
    }))
}

fn request(url: &str, headers: &[(String, String)]) -> Option<Request> {
    let mut request = url.into_client_request().ok()?;
    let into = request.headers_mut();
    into.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("binary"));
    for (name, value) in headers {
        let name = HeaderName::try_from(name).ok()?;
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        if name != SEC_WEBSOCKET_PROTOCOL {
            into.append(name, value);
        } else if value.is_empty() {
            into.remove(SEC_WEBSOCKET_PROTOCOL);
        } else {
            into.insert(name, value);
        }
    }
    Some(request)
}

fn error_of(error: &tungstenite::Error) -> Error {
    match error {
        tungstenite::Error::Http(response) => match response.status() {
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Error::Unauthorized {
                status: status.as_u16(),
            },
            status => Error::NoWebSocket {
                status: status.as_u16(),
            },
        },
        tungstenite::Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(_)) => {
            Error::Subprotocol
        }
        tungstenite::Error::Protocol(ProtocolError::HandshakeIncomplete)
        | tungstenite::Error::Io(_) => Error::HungUp,
        other => Error::WebSocket(what(other)),
    }
}

/// What went wrong, without a word of the peer's.
const fn what(error: &tungstenite::Error) -> &'static str {
    match error {
        tungstenite::Error::Capacity(_) => "a message is longer than accepted",
        tungstenite::Error::Protocol(_) => "it broke the protocol",
        tungstenite::Error::AttackAttempt => "its answer has no end",
        _ => "its answer is broken",
    }
}

/// The bytes that a WebSocket carries.
struct WebSocket {
    socket: WebSocketStream<Transport>,
    /// What is left of the last message.
    unread: Bytes,
}

impl AsyncRead for WebSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.unread.is_empty() {
            match ready!(Pin::new(&mut this.socket).poll_next(context)) {
                Some(Ok(Message::Binary(bytes))) => this.unread = bytes,
                // Pings are answered by the socket itself.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(_))) | None => return Poll::Ready(Ok(())),
                Some(Ok(Message::Text(_))) => {
                    return Poll::Ready(Err(broken("a message is text")));
                }
                Some(Err(error)) => return Poll::Ready(Err(io_error(error))),
            }
        }
        let len = this.unread.len().min(into.remaining());
        into.put_slice(&this.unread.split_to(len));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WebSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut socket = Pin::new(&mut self.get_mut().socket);
        ready!(socket.as_mut().poll_ready(context)).map_err(io_error)?;
        let message = Message::Binary(Bytes::copy_from_slice(bytes));
        socket.start_send(message).map_err(io_error)?;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = Pin::new(&mut self.get_mut().socket);
        socket.poll_flush(context).map_err(io_error)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = Pin::new(&mut self.get_mut().socket);
        socket.poll_close(context).map_err(io_error)
    }
}

fn io_error(error: tungstenite::Error) -> io::Error {
    match error {
        tungstenite::Error::Io(error) => error,
        tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => {
            io::ErrorKind::ConnectionReset.into()
        }
        other => broken(what(&other)),
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("WebSocket: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{SinkExt as _, StreamExt as _};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio_tungstenite::{accept_hdr_async, tungstenite::handshake::server::ErrorResponse};

    /// A client and its server, which agrees to what it is asked.
    async fn connected() -> (Transport, WebSocketStream<DuplexStream>) {
        use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
        let (near, far) = tokio::io::duplex(1 << 20);
        #[expect(clippy::result_large_err, reason = "the library's own signature")]
        let agree = |request: &Request, mut response: Response| -> Result<_, ErrorResponse> {
            let asked = &request.headers()[SEC_WEBSOCKET_PROTOCOL];
            response
                .headers_mut()
                .insert(SEC_WEBSOCKET_PROTOCOL, asked.clone());
            Ok(response)
        };
        let (client, server) = tokio::join!(
            open(Box::new(near), "ws://desk/", &[]),
            accept_hdr_async(far, agree)
        );
        (client.unwrap(), server.unwrap())
    }

    #[tokio::test]
    async fn messages_are_one_stream_of_bytes() {
        let (mut client, mut server) = connected().await;
        for piece in [&b"RFB"[..], b"", b" 003", b".008\n"] {
            server
                .send(Message::Binary(Bytes::from_static(piece)))
                .await
                .unwrap();
        }
        server.send(Message::Ping(Bytes::new())).await.unwrap();
        let mut heard = [0; 12];
        client.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"RFB 003.008\n");

        client.write_all(b"said").await.unwrap();
        client.flush().await.unwrap();
        let said = server.next().await.unwrap().unwrap();
        assert_eq!(said, Message::Binary(Bytes::from_static(b"said")));

        server.close(None).await.unwrap();
        assert_eq!(client.read(&mut heard).await.unwrap(), 0);
    }

    /// How reading ends for a client whose server writes `raw` past its framing.
    async fn check_broken(raw: &[u8], expected: &str) {
        let (mut client, mut server) = connected().await;
        server.get_mut().write_all(raw).await.unwrap();
        let error = client.read(&mut [0; 16]).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[tokio::test]
    async fn what_is_no_stream_of_bytes_is_an_error() {
        check_broken(b"\x81\x02hi", "WebSocket: a message is text").await;
        check_broken(b"\x83\x02hi", "WebSocket: it broke the protocol").await;
        let too_long = u64::try_from(MESSAGE_BYTES).unwrap() + 1;
        let announced = [&b"\x82\x7f"[..], &too_long.to_be_bytes()].concat();
        check_broken(&announced, "WebSocket: a message is longer than accepted").await;
    }
}
