//! `playhead serve`: answers on a loopback address, as the user `local`.

use std::{net::SocketAddr, process::ExitCode};

use anyhow::{Context, anyhow};
use clap::Args;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use super::{Failure, Outcome, claim, open_shared, say};
use crate::{
    home::Places,
    http::{LocalNames, listen, router},
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
}

impl Serve {
    pub(super) async fn run(self, places: &Places) -> Outcome {
        if !self.listen.ip().is_loopback() {
            return Err(Failure::usage(anyhow!(
                "{} can be reached by others and sign-in is not configured: listen on 127.0.0.1, \
                 or configure [auth]",
                self.listen
            )));
        }
        log();
        let archive = open_shared(places)?;
        claim(&archive).await?;
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
        tracing::info!(
            store = archive.store.url(),
            catalog = archive.catalog.url(),
            "Serving"
        );
        say(format_args!("http://{address}/sessions"));
        listen::listen(listener, router(archive, LocalNames::loopback()), stop).await;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the log to standard error: `PLAYHEAD_LOG=debug` says more.
fn log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("PLAYHEAD_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}
