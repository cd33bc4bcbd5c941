//! `proxy`: stands between a machine and its drivers. Each driver's connection is a session of its
//! own, served by a child of its own; this process only accepts. A VNC server that allows one
//! connection has one session at a time, whose child accepts whoever joins it.

use std::{
    io::Write as _,
    os::fd::{AsFd as _, OwnedFd},
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet, time::sleep};

use crate::{
    cli,
    exit::{Failure, Kind},
    flush,
    record::{Drivers, Outcome, Recorder, Setup, StopSignals},
    wire::Driven,
};

/// Sessions recorded at once: their children take about 100 MB each. More drivers wait.
const SESSIONS_MAX: usize = 16;
/// A pause after a connection that could not be accepted, as when no file is left to open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves drivers until a signal asks to stop, or `--once` the first of them has left.
pub(crate) async fn proxy(options: cli::Proxy) -> Result<(), Failure> {
    let usage = |error: anyhow::Error| Kind::Usage.because(error);
    if options.record.session.is_some() {
        return Err(usage(anyhow!(
            "--session: each driver begins a session of its own"
        )));
    }
    if options.record.driver.is_some() {
        return Err(usage(anyhow!(
            "--driver: a proxy's driver connects to --listen, and tells marks at --marks; this is \
             for `record`"
        )));
    }
    options.record.fails_closed(true).map_err(usage)?;
    let entrance = options.entrance().map_err(usage)?;
    let setup = Setup::new(options.record).await?;
    let driven = match (entrance, options.upstream) {
        (Some(entrance), _) => Driven::Inline(Box::new(entrance)),
        (None, cli::Upstream::Shared) => Driven::Shared,
        (None, cli::Upstream::Single) => Driven::Single,
        (None, cli::Upstream::Auto) => setup.probe().await?,
    };
    let listener = TcpListener::bind(options.listen).await;
    let listener = listener.with_context(|| format!("--listen {}", options.listen));
    let listener = listener.map_err(usage)?;
    let stop = StopSignals::listen().map_err(|error| Kind::Internal.because(error))?;
    announce(&listener, &setup, &driven).map_err(|error| Kind::Internal.because(error))?;
    let recovery = flush::in_background(setup.places.clone(), setup.options.places.spool.clone());
    let proxy = Proxy {
        listener,
        setup,
        driven,
        once: options.once,
    };
    let done = proxy.serve(stop).await;
    recovery.abort();
    done
}

struct Proxy {
    listener: TcpListener,
    setup: Setup,
    driven: Driven,
    once: bool,
}

impl Proxy {
    async fn serve(self, stop: StopSignals) -> Result<(), Failure> {
        let mut stopped = stop.clone();
        if self.once {
            loop {
                let recorder = tokio::select! {
                    recorder = self.next_session(&stop) => recorder?,
                    () = stopped.next() => return Ok(()),
                };
                if recorder.run().await? == Outcome::Over {
                    return Ok(());
                }
            }
        }
        let sessions_max = match self.driven {
            Driven::Shared | Driven::Inline(_) => SESSIONS_MAX,
            Driven::Single => 1,
        };
        let mut sessions = JoinSet::new();
        loop {
            tokio::select! {
                // Each session hears of the signal by itself, one that has just begun too.
                () = stopped.next() => break,
                recorder = self.next_session(&stop), if sessions.len() < sessions_max => {
                    match recorder {
                        Ok(recorder) => drop(sessions.spawn(recorder.run())),
                        Err(failure) => tell(failure),
                    }
                }
                Some(done) = sessions.join_next() => {
                    if let Ok(Err(failure)) = done {
                        tell(failure);
                    }
                }
            }
        }
        let mut outcome = Ok(());
        while let Some(done) = sessions.join_next().await {
            outcome = done.unwrap_or(Ok(Outcome::Over)).and(outcome);
        }
        outcome
    }

    /// Waits for the next driver and begins its session.
    async fn next_session(&self, stop: &StopSignals) -> Result<Recorder, Failure> {
        let internal = |error: std::io::Error| Kind::Internal.because(error);
        let socket = loop {
            match self.listener.accept().await {
                Ok((socket, _)) => break socket,
                Err(error) => {
                    tracing::warn!(%error, "Drivers cannot connect");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        };
        let listener = match self.driven {
            Driven::Shared | Driven::Inline(_) => None,
            Driven::Single => Some(self.joining().map_err(internal)?),
        };
        let drivers = Drivers {
            first: socket.into_std().map_err(internal)?.into(),
            listener,
            driven: self.driven.clone(),
        };
        self.setup.begin(stop.clone(), Some(drivers))
    }

    /// The socket at which others join a session.
    fn joining(&self) -> std::io::Result<OwnedFd> {
        self.listener.as_fd().try_clone_to_owned()
    }
}

/// Tells where drivers are waited for: with port 0 only the system knows. And what they are shown
/// there, so that they can insist on it.
fn announce(listener: &TcpListener, setup: &Setup, driven: &Driven) -> anyhow::Result<()> {
    let (address, source) = (listener.local_addr()?, &setup.options.source);
    let fingerprint = match driven {
        Driven::Inline(entrance) => Some(entrance.certificate.fingerprint()?),
        Driven::Shared | Driven::Single => None,
    };
    let mut out = std::io::stdout().lock();
    // Whoever read it may be gone, which is no reason to stop.
    let _ = if setup.options.json {
        let mut event = json!({
            "event": "listening",
            "address": address,
            "source": source.to_string(),
            "upstream": driven.upstream(),
        });
        if let Some(fingerprint) = fingerprint {
            event["certificate_sha256"] = fingerprint.to_string().into();
        }
        writeln!(out, "{event}")
    } else {
        let shown = fingerprint.map_or_else(String::new, |fingerprint| {
            format!(", with the certificate of SHA-256 {fingerprint}")
        });
        writeln!(out, "Waiting at {address} for drivers of {source}{shown}")
    };
    Ok(())
}

/// Tells the operator of a session that failed; the others go on.
fn tell(failure: Failure) {
    eprintln!("playhead-agent: {:#}", failure.into_cause());
}
