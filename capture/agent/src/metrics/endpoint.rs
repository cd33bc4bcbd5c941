//! Who asks for the numbers, and how little can they do? A listener on a thread of its own: however
//! slow, greedy or many its clients are, they meet bounds, and neither the children that record
//! nor what is delivered beside them waits for it.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::{Router, extract::State, response::Response, routing::get};
use telemetry::{
    health::{self, Latest, PATIENCE},
    listen::{Limits, listen as serve},
};
use tokio::{net::TcpListener, runtime::Handle, time::timeout};

use super::{metrics, readiness::Readiness};
use crate::{
    clock,
    delivery::Places,
    spool::{Backlog, Reserve},
};

/// A few collectors. Each is cut off after a minute and comes again.
const LIMITS: Limits = Limits {
    connections: 16,
    lifetime: Some(Duration::from_secs(60)),
};
/// How long a look at the spool holds.
const SPOOL_FRESH_MS: i64 = 1_000;
/// How long a look at store and catalogue holds: one that is locked is asked no faster than it
/// gives up, which takes it ten seconds.
const READY_FRESH_MS: i64 = 5_000;
/// Looks at the spool that a disk which hangs may hold up; further ones wait for these.
const LOOKS_MAX: usize = 4;

/// What answers are made of.
struct Site {
    places: Places,
    spool: PathBuf,
    reserve: Reserve,
    /// Where store and catalogue are used.
    runtime: Handle,
    backlog: Latest<Option<Backlog>>,
    readiness: Latest<Readiness>,
}

/// Answers at `address` until the program ends; gives the address that it became.
pub(crate) fn listen(
    address: SocketAddr,
    places: Places,
    spool: PathBuf,
    reserve: Reserve,
) -> anyhow::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    let site = Arc::new(Site {
        places,
        spool,
        reserve,
        runtime: Handle::current(),
        backlog: Latest::new(SPOOL_FRESH_MS),
        readiness: Latest::new(READY_FRESH_MS),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(LOOKS_MAX)
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                match TcpListener::from_std(listener) {
                    Ok(listener) => {
                        serve(listener, router(site), LIMITS, std::future::pending()).await;
                    }
                    Err(error) => tracing::error!(%error, "Numbers cannot be told"),
                }
            });
        })
        .context("starting a thread")?;
    Ok(bound)
}

fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/metrics", get(numbers))
        .route("/readyz", get(readyz))
        .route("/healthz", get(async || health::ALIVE))
        .with_state(site)
}

async fn numbers(State(site): State<Arc<Site>>) -> Response {
    let backlog = site.backlog().await;
    metrics().answer(clock::both(), backlog.as_ref())
}

async fn readyz(State(site): State<Arc<Site>>) -> Response {
    let look = async {
        let backlog = site.backlog().await;
        Readiness::look(&site.places, &site.runtime, backlog.as_ref()).await
    };
    let readiness = site.readiness.ask(clock::wall, look).await;
    health::answer(readiness.ready, &readiness)
}

impl Site {
    /// What waits in the spool; `None` when it cannot be told, or not in time.
    async fn backlog(&self) -> Option<Backlog> {
        let (spool, reserve) = (self.spool.clone(), self.reserve);
        let look = async {
            let looked = tokio::task::spawn_blocking(move || Backlog::of(&spool, reserve));
            match timeout(PATIENCE, looked).await {
                Ok(Ok(Ok(backlog))) => Some(backlog),
                Ok(Ok(Err(error))) => {
                    tracing::warn!(%error, "The spool cannot be read");
                    None
                }
                _ => None,
            }
        };
        self.backlog.ask(clock::wall, look).await
    }
}
