//! Accepts connections, within bounds of their number and of how long they may stay silent.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

/// How long a client may take for a request's head, and stay silent between requests.
const MAX_SILENCE: Duration = Duration::from_secs(30);
/// The most that the head of a request may take.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// How long answers under way may take once the server is asked to stop.
const MAX_GOODBYE: Duration = Duration::from_secs(10);
/// The pause after a connection could not be accepted, as when files run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// How long a connection may last, whatever it does; `None` for as long as it is not silent.
    pub lifetime: Option<Duration>,
}

/// Serves `router` on `listener` until `stop` is done, then lets answers under way finish.
pub async fn listen(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(MAX_SILENCE)
        .max_buf_size(MAX_HEAD_BYTES);
    server
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(MAX_SILENCE)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX));
    let service = TowerToHyperService::new(router);
    let places = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        // A place first: what cannot be served waits in the system's own, bounded queue.
        let accept = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = &mut stop => break,
            accepted = accept => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "Cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let connection = server.serve_connection(TokioIo::new(stream), service.clone());
        let connection = graceful.watch(connection.into_owned());
        tokio::spawn(async move {
            let ended = match limits.lifetime {
                None => connection.await,
                // What is late is cut off.
                Some(lifetime) => timeout(lifetime, connection).await.unwrap_or(Ok(())),
            };
            if let Err(error) = ended {
                tracing::debug!(error, "Connection ended");
            }
            drop(place);
        });
    }
    drop(listener);
    if timeout(MAX_GOODBYE, graceful.shutdown()).await.is_err() {
        tracing::warn!("Some answers did not finish in time");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    use super::*;

    /// A listener with one place, whose connections last that long.
    async fn one_place(lifetime: Duration) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(async || "well"));
        let limits = Limits {
            connections: 1,
            lifetime: Some(lifetime),
        };
        tokio::spawn(listen(listener, router, limits, std::future::pending()));
        address
    }

    async fn ask(stream: &mut TcpStream) -> String {
        let mut answer = String::new();
        let request = b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn who_says_nothing_loses_its_place_to_who_does() {
        let address = one_place(Duration::from_millis(100)).await;
        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut waiting = TcpStream::connect(address).await.unwrap();
        assert!(ask(&mut waiting).await.ends_with("well"));
        assert_eq!(silent.read(&mut [0; 16]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_head_without_end_is_refused() {
        let address = one_place(MAX_SILENCE).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        let (mut read, mut write) = stream.split();
        let flood = async {
            for _ in 0..MAX_HEAD_BYTES / 1024 * 4 {
                if write.write_all(&[b'x'; 1024]).await.is_err() {
                    return;
                }
            }
        };
        let mut answer = Vec::new();
        // It may be reset before the answer is read.
        let (_, _) = tokio::join!(flood, read.read_to_end(&mut answer));
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.contains(" 431 "), "{answer}");
    }
}
