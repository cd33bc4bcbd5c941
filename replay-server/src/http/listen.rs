//! Accepts connections, within bounds of their number and of how long they may stay silent.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore};

/// Connections at a time: far more than viewers on one machine hold open.
const MAX_CONNECTIONS: usize = 512;
/// How long a client may take for a request's head, and stay silent between requests.
const MAX_SILENCE: Duration = Duration::from_secs(30);
/// The most that the head of a request may take.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// How long answers under way may take once the server is asked to stop.
const MAX_GOODBYE: Duration = Duration::from_secs(10);
/// The pause after a connection could not be accepted, as when files run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `router` on `listener` until `stop` is done, then lets answers under way finish.
pub async fn listen(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
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
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
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
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let connection = server.serve_connection(TokioIo::new(stream), service.clone());
        let connection = graceful.watch(connection.into_owned());
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error, "Connection ended");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(MAX_GOODBYE, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("Some answers did not finish in time");
    }
}
