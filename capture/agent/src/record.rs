//! `record`: the parent. It starts the child, watches it, delivers what it sealed and closes the
//! session; when the child dies it begins another run of the same session.

mod announce;
mod child_process;
mod courier;

use std::{path::Path, time::Duration};

use anyhow::{Context as _, anyhow};
use capture::{MediaTime, SessionId, session::SessionHead};
use encoder::Policy;
use segment::end::EndReason;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Instant, sleep, sleep_until},
};

use self::{
    announce::Announcer,
    child_process::ChildProcess,
    courier::{Courier, Delivered},
};
use crate::{
    cli,
    clock::{self, BootTime},
    delivery::{Delivery, Places, Position},
    exit::{Failure, Kind},
    flush,
    spool::{Claim, Epoch, Folder},
    wire::{Command, Refusal, Report, Resume, Spec},
};

/// A child that dies this often in a row without a new frame will not do better the next time.
const MAX_BARREN_RUNS: u32 = 8;
/// The wait before a barren child is started again; each further one is twice as long.
const FIRST_RESTART_WAIT: Duration = Duration::from_millis(250);
/// How long a closed session waits for its store before the spool is left for `flush`.
const DELIVERY_PATIENCE: Duration = Duration::from_secs(30);

/// Records one machine until it is given up, the duration passes or a signal asks to stop.
pub(crate) async fn record(options: cli::Record) -> Result<(), Failure> {
    let policy = options.policy.as_deref().map(read_policy).transpose()?;
    let password = options.secret.read().context("reading --password-file");
    let password = password.map_err(|error| Kind::Usage.because(error))?;
    let places = Places::open(&options.places).await?;
    let session = match options.session {
        Some(session) => session,
        None => new_session().map_err(|error| Kind::Internal.because(error))?,
    };
    let folder = Folder::of(&options.places.spool, session);
    let internal = |error: std::io::Error| Kind::Internal.because(error);
    let (claim, resume) = if options.session.is_some() {
        let resume = resume(&places, &folder).await?;
        (folder.claim().map_err(internal)?, Some(resume))
    } else {
        let created = folder
            .create()
            .context("creating the spool folder; choose one with --spool");
        (created.map_err(|error| Kind::Store.because(error))?, None)
    };
    let recovery = flush::in_background(places.clone(), options.places.spool.clone());
    let spec = Spec {
        session,
        source: options.source,
        password,
        spool: std::path::absolute(folder.path()).map_err(internal)?,
        context: options.context.into(),
        policy,
        fps_max: options.fps_max,
        encoder: options.encoder,
        give_up: options.give_up_after,
        resume,
    };
    let announcer = Announcer::new(session, options.json);
    let recorder = Recorder {
        courier: Courier::new(places, folder.clone(), announcer),
        spec,
        folder,
        claim,
        duration: options.duration,
        ready_file: options.ready_file,
        stop: StopSignals::listen().map_err(internal)?,
        deadline: None,
        stopping: None,
        announced: false,
    };
    let done = recorder.run().await;
    recovery.abort();
    done
}

fn read_policy(path: &Path) -> Result<String, Failure> {
    let refuse = |error: anyhow::Error| {
        let what = format!("policy {} refused, so nothing is recorded", path.display());
        Kind::Policy.because(error.context(what))
    };
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.into()))?;
    Policy::parse(&text).map_err(|error| refuse(error.into()))?;
    Ok(text)
}

fn new_session() -> std::io::Result<SessionId> {
    let unix_ms = u64::try_from(clock::wall().unix_ms()).unwrap_or(0);
    Ok(SessionId::new(unix_ms, clock::random()?))
}

/// Takes up the unfinished session in `folder`: what is left of it is delivered first.
async fn resume(places: &Places, folder: &Folder) -> Result<Resume, Failure> {
    let usage = |text: String| Kind::Usage.because(anyhow!(text));
    let shown = folder.path().display();
    let dead = folder
        .claim_dead()
        .map_err(|error| usage(format!("--session: {shown}: {error}")))?;
    let Some(_dead) = dead else {
        return Err(usage(
            "--session: another recorder is still recording this session".into(),
        ));
    };
    if folder
        .ended()
        .map_err(|error| Kind::Internal.because(error))?
        .is_some()
    {
        return Err(usage(
            "--session: this session has ended; start a new one".to_owned(),
        ));
    }
    let store = |error: anyhow::Error| Kind::Store.because(error);
    let delivery = Delivery::open(places.clone(), folder.clone()).await;
    let Some(mut delivery) = delivery.map_err(store)? else {
        return Err(usage(
            "--session: this session never had a frame; start a new one".to_owned(),
        ));
    };
    while delivery.next(u64::MAX).await.map_err(store)?.is_some() {}
    next_run(folder, delivery.head(), &delivery.position())
        .map_err(|error| Kind::Internal.because(error))
}

/// The run that follows `position`, on this boot or a later one.
fn next_run(folder: &Folder, head: &SessionHead, position: &Position) -> anyhow::Result<Resume> {
    let boot_id = clock::boot_id();
    let epoch = match folder.epoch()? {
        Some(epoch) if epoch.boot_id == boot_id => epoch,
        _ => {
            // The boot clock began anew; only the wall clock still knows how long it has been.
            let elapsed_ms = clock::wall().unix_ms() - head.start.unix_ms();
            let t = MediaTime::from_ms(u64::try_from(elapsed_ms).unwrap_or(0)).max(position.from);
            let epoch = Epoch {
                boot_id,
                at: BootTime::now(),
                t,
            };
            folder.write_epoch(&epoch)?;
            epoch
        }
    };
    Ok(Resume {
        run: position.run + 1,
        seq: position.seq,
        from: position.from,
        epoch,
        last_anchor: position.last_anchor,
    })
}

/// SIGINT and SIGTERM.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    fn listen() -> std::io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self {
            interrupt,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

struct Recorder {
    courier: Courier,
    spec: Spec,
    folder: Folder,
    claim: Claim,
    duration: Option<Duration>,
    ready_file: Option<std::path::PathBuf>,
    stop: StopSignals,
    deadline: Option<Instant>,
    stopping: Option<EndReason>,
    announced: bool,
}

/// How one child came to its end.
enum RunEnd {
    Ended {
        t: MediaTime,
        reason: EndReason,
    },
    Refused(Failure),
    Died {
        started: bool,
        frames: bool,
        detail: Option<String>,
    },
}

impl Recorder {
    async fn run(mut self) -> Result<(), Failure> {
        let internal = |error: anyhow::Error| Kind::Internal.because(error);
        let mut barren_runs = 0;
        loop {
            let child = ChildProcess::start(&self.spec).await.map_err(internal)?;
            match self.watch(child).await.map_err(internal)? {
                RunEnd::Ended { t, reason } => return self.close(t, reason).await,
                RunEnd::Refused(failure) => {
                    let _ = self.folder.remove(); // nothing was recorded into it
                    return Err(failure);
                }
                RunEnd::Died {
                    started: false,
                    detail,
                    ..
                } => {
                    let _ = self.folder.remove(); // nothing was recorded into it
                    let detail = detail.unwrap_or_else(|| "it was killed".to_owned());
                    return Err(internal(anyhow!("the recording child stopped: {detail}")));
                }
                RunEnd::Died { frames, detail, .. } => {
                    let detail = detail.unwrap_or_else(|| "it was killed".to_owned());
                    self.courier
                        .announce(|announcer| announcer.health("child-died", &detail));
                    barren_runs = if frames { 0 } else { barren_runs + 1 };
                    let (head, position) = self.courier.settle().await.map_err(internal)?;
                    if let Some(reason) = self.stopping {
                        return self.close(position.from, reason).await;
                    }
                    if barren_runs >= MAX_BARREN_RUNS {
                        return self.close(position.from, EndReason::Crash).await;
                    }
                    let resume = next_run(&self.folder, &head, &position).map_err(internal)?;
                    self.spec.resume = Some(resume);
                    sleep(FIRST_RESTART_WAIT * 2_u32.pow(barren_runs) - FIRST_RESTART_WAIT).await;
                }
            }
        }
    }

    /// Serves one child until it is gone.
    async fn watch(&mut self, mut child: ChildProcess) -> anyhow::Result<RunEnd> {
        let mut started = self.spec.resume.is_some();
        let mut end = None;
        let mut frames = false;
        let mut detail = None;
        let mut line = Vec::new();
        if self.spec.resume.is_some() {
            self.courier.begin();
        }
        loop {
            let deadline = self.deadline;
            tokio::select! {
                report = child.report(&mut line) => match report? {
                    None => break,
                    Some(Report::Started { .. }) => {
                        (started, frames) = (true, true);
                        self.started()?;
                    }
                    Some(Report::Sealed { seq }) => self.courier.sealed(seq),
                    Some(Report::GapOpened { from, reason, detail }) => {
                        self.courier.announce(|to| to.gap_opened(from, reason, &detail));
                    }
                    Some(Report::GapClosed { to: t }) => {
                        frames = true;
                        self.courier.announce(|to| to.gap_closed(t));
                    }
                    Some(Report::Status(status)) => self.courier.status(status),
                    Some(Report::Refused { refusal, detail }) => {
                        let kind = match refusal {
                            Refusal::Authentication => Kind::Authentication,
                            Refusal::Unreachable => Kind::Unreachable,
                        };
                        end = Some(RunEnd::Refused(kind.because(anyhow!(detail))));
                    }
                    Some(Report::Ended { t, reason, .. }) => {
                        end = Some(RunEnd::Ended { t, reason });
                    }
                    Some(Report::Failed { detail: said }) => detail = Some(said),
                },
                () = self.stop.next(), if self.stopping.is_none() => {
                    self.stopping = Some(EndReason::Stopped);
                    child.tell(Command::Stop(EndReason::Stopped)).await;
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)),
                    if deadline.is_some() && self.stopping.is_none() =>
                {
                    self.stopping = Some(EndReason::DurationReached);
                    child.tell(Command::Stop(EndReason::DurationReached)).await;
                }
            }
        }
        child.reap().await;
        Ok(end.unwrap_or(RunEnd::Died {
            started,
            frames,
            detail,
        }))
    }

    /// A run's first frame is durable; only the first run is news.
    fn started(&mut self) -> anyhow::Result<()> {
        self.courier.begin();
        if std::mem::replace(&mut self.announced, true) {
            return Ok(());
        }
        let source = self.spec.source.to_string();
        self.courier.announce_start(&source);
        if let Some(file) = &self.ready_file {
            let session = self.spec.session;
            std::fs::write(file, format!("{session}\n")).context("writing --ready-file")?;
        }
        if let Some(duration) = self.duration {
            self.deadline = Some(Instant::now() + duration);
        }
        Ok(())
    }

    /// Delivers the rest, the end record last.
    async fn close(mut self, t: MediaTime, reason: EndReason) -> Result<(), Failure> {
        self.folder
            .write_ended(reason)
            .map_err(|error| Kind::Internal.because(error))?;
        let delivered = tokio::select! {
            delivered = self.courier.finish(reason, DELIVERY_PATIENCE) => delivered,
            // Asked to stop once more: what is left waits in the spool.
            () = self.stop.next() => Delivered::Partly(anyhow!("stopped before all was sent")),
        };
        match delivered {
            Delivered::Wholly => {
                self.courier
                    .announce(|announcer| announcer.ended(t, reason));
                drop(self.claim);
                let _ = self.folder.remove(); // an empty folder left behind does no harm
                Ok(())
            }
            Delivered::Partly(error) => {
                let spool = self.folder.path().display();
                Err(Kind::Store.because(error.context(format!(
                    "the recording is complete in {spool} but not yet in the store; \
                     run `playhead-agent flush` when the store is back"
                ))))
            }
        }
    }
}
