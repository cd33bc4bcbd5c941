//! `playhead serve`: answers on a loopback address, as the user `local`.

use std::{net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context, anyhow};
use clap::Args;
use index::owner;
use store::Store;
use telemetry::{
    listen::{Limits, listen},
    log::LogFormat,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use super::{Failure, Outcome, open_later, say};
use crate::{
    clock,
    home::Places,
    http::{LocalNames, router},
    watch,
};

#[derive(Args, Debug)]
pub(super) struct Serve {
    /// The address to serve on
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:8900",
        env = "PLAYHEAD_LISTEN"
    )]
    listen: SocketAddr,
    /// How long a recorder may be silent before its session counts as interrupted
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "1h",
        env = "PLAYHEAD_INTERRUPTED_AFTER",
        value_parser = capture::time::parse_span
    )]
    interrupted_after: Duration,
    /// How the log is written to standard error
    #[arg(long, value_enum, default_value_t, env = "PLAYHEAD_LOG_FORMAT")]
    log_format: LogFormat,
}

/// Far more connections than viewers on one machine hold open.
const LIMITS: Limits = Limits {
    connections: 512,
    lifetime: None,
};

impl Serve {
    pub(super) async fn run(self, places: &Places) -> Outcome {
        if !self.listen.ip().is_loopback() {
            return Err(Failure::usage(anyhow!(
                "{} can be reached by others and sign-in is not configured: listen on 127.0.0.1, \
                 or configure [auth]",
                self.listen
            )));
        }
        self.log_format.start("info");
        let archive = Arc::new(open_later(places)?);
        // A catalogue that is busy or broken is told to whoever asks, and may be mended meanwhile.
        let claimed = owner::claim(&archive.store, &*archive.catalog, clock::fresh()).await;
        if let Err(error) = claimed
            && !watch::may_pass(&error)
        {
            return Err(Failure::usage(error));
        }
        let listener = TcpListener::bind(self.listen).await;
        let listener = listener
            .with_context(|| format!("cannot listen on {}", self.listen))
            .map_err(Failure::usage)?;
        let address = listener.local_addr()?;
        let (mut interrupt, mut terminate) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        );
        let stop = async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        let stores: Vec<_> = archive.store.each().map(Store::url).collect();
        tracing::info!(
            stores = stores.join(" "),
            catalog = archive.catalog.url(),
            "Serving"
        );
        say(format_args!("http://{address}/sessions"));
        let watching = tokio::spawn(watch::look_after(archive.clone(), self.interrupted_after));
        let router = router(archive, LocalNames::loopback());
        listen(listener, router, LIMITS, stop).await;
        watching.abort();
        Ok(ExitCode::SUCCESS)
    }
}
