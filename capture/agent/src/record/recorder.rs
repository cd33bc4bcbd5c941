//! The parent's loop: it serves one child after another until the session is closed.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use capture::{GapReason, MediaTime, WallTime};
use segment::end::EndReason;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep, sleep_until},
};
use tracing::Instrument as _;

use super::{
    announce::Announcer,
    child_process::{ChildProcess, Drivers},
    courier::{Courier, Delivered},
    driver, marks,
    resume::next_run,
    unrecorded::{Alarm, News},
};
use crate::{
    clock::{self, BootTime},
    exit::{Failure, Kind},
    metrics::{Meter, metrics},
    spool::{Claim, Disk, Folder, Room, is_out_of_room},
    wire::{Command, Report, Spec, Task},
};

/// A child that dies this often in a row without a new frame will not do better the next time.
const MAX_BARREN_RUNS: u32 = 8;
/// The wait before a barren child is started again; each further one is twice as long.
const FIRST_RESTART_WAIT: Duration = Duration::from_millis(250);
/// How long a closed session waits for its store before the spool is left for `flush`.
const DELIVERY_PATIENCE: Duration = Duration::from_secs(30);
/// How often the disk is looked at while there is no room for another run.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A child needs about 80 MB for a 1080p screen and 300 MB for an 8K one; past this its peer has
/// found a way to make it grow.
const MAX_CHILD_RSS_BYTES: u64 = 1 << 30;

/// SIGINT and SIGTERM. A clone hears of all that this one has not heard yet.
#[derive(Clone)]
pub(crate) struct StopSignals(watch::Receiver<()>);

impl StopSignals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (tell, told) = watch::channel(());
        tokio::spawn(async move {
            while !tell.is_closed() {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                tell.send_replace(());
            }
        });
        Ok(Self(told))
    }

    /// Waits for either.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await; // the runtime is shutting down
        }
    }
}

/// One session being recorded.
pub(crate) struct Recorder {
    /// Delivers what is sealed.
    pub(super) courier: Courier,
    /// What each child is told.
    pub(super) spec: Spec,
    /// The session's folder in the spool.
    pub(super) folder: Folder,
    /// The claim on that folder.
    pub(super) claim: Claim,
    /// How long to record.
    pub(super) duration: Option<Duration>,
    /// The file that says that the first frame is durable.
    pub(super) ready_file: Option<PathBuf>,
    /// The operator's wish to stop.
    pub(super) stop: StopSignals,
    /// Marks that somebody tells.
    pub(super) marks: mpsc::Receiver<marks::Request>,
    /// What drivers want done to the machine.
    pub(super) driver: mpsc::Receiver<driver::Request>,
    /// Who drives the machine through the first child.
    pub(super) drivers: Option<Drivers>,
    /// Tells whoever is to know that the machine is used unrecorded.
    pub(super) alarm: Alarm,
    /// Reads how it goes, for whoever asks for numbers.
    pub(super) meter: Meter,
    /// What has happened so far.
    pub(super) progress: Progress,
}

/// What has happened so far.
#[derive(Default)]
pub(super) struct Progress {
    /// When the asked duration passes; set by the first frame.
    deadline: Option<Instant>,
    /// Why the child was asked to stop.
    stopping: Option<EndReason>,
    /// The operator knows that recording has started.
    announced: bool,
}

/// What became of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is over.
    Over,
    /// There was none: who came to drive was not let in, or had gone before there was a picture.
    NotDriven,
}

/// How one child came to its end.
enum RunEnd {
    Ended {
        t: MediaTime,
        reason: EndReason,
    },
    Refused(Failure),
    /// The driver was not let in, or had gone before there was a picture.
    NotDriven(EndReason, String),
    /// It stopped without a word, or with one that helps the operator.
    Died {
        frames: bool,
        detail: String,
    },
}

/// What one child has been told and has not answered. It is dropped with it: who waits for the
/// answer hears that there will be none.
struct UnderWay<A> {
    told: u64,
    waiting: HashMap<u64, oneshot::Sender<A>>,
}

impl<A> Default for UnderWay<A> {
    fn default() -> Self {
        Self {
            told: 0,
            waiting: HashMap::new(),
        }
    }
}

impl<A> UnderWay<A> {
    /// Something is told that `answer` is awaited for: its id.
    fn tell(&mut self, answer: oneshot::Sender<A>) -> u64 {
        self.told += 1;
        self.waiting.insert(self.told, answer);
        self.told
    }

    fn answer(&mut self, id: u64, answer: A) {
        if let Some(awaited) = self.waiting.remove(&id) {
            let _ = awaited.send(answer); // who told it may have given up waiting
        }
    }
}

impl Recorder {
    /// Records until the session is closed, and says whether there was one.
    pub(crate) async fn run(self) -> Result<Outcome, Failure> {
        // Whatever level is asked for, each line of the log names the session.
        let span = tracing::error_span!("recording", session = %self.spec.session);
        self.record().instrument(span).await
    }

    async fn record(mut self) -> Result<Outcome, Failure> {
        let internal = |error: anyhow::Error| Kind::Internal.because(error);
        let mut barren_runs = 0;
        loop {
            let task = Task::Record(Box::new(self.spec.clone()));
            let child = ChildProcess::start(&task, self.drivers.take()).await;
            let child = child.map_err(internal)?;
            match self.watch(child).await.map_err(internal)? {
                RunEnd::Ended { t, reason } => return self.close(t, reason).await,
                RunEnd::Refused(failure) => {
                    let _ = self.folder.remove(); // nothing was recorded into it
                    return Err(failure);
                }
                RunEnd::NotDriven(reason, detail) => {
                    let _ = self.folder.remove(); // nothing was recorded into it
                    self.courier.announce(|to| to.not_driven(reason, &detail));
                    return Ok(Outcome::NotDriven);
                }
                RunEnd::Died { detail, .. } if !self.has_head().map_err(internal)? => {
                    let _ = self.folder.remove(); // nothing was recorded into it
                    if self.progress.stopping.is_some() {
                        self.courier.announce(Announcer::stopped_early);
                        return Ok(Outcome::Over);
                    }
                    return Err(internal(anyhow!("the recording child stopped: {detail}")));
                }
                RunEnd::Died { frames, detail } => {
                    self.courier
                        .announce(|announcer| announcer.health("child-died", &detail));
                    barren_runs = if frames { 0 } else { barren_runs + 1 };
                    let position = self.courier.settle().await.map_err(internal)?;
                    if let Some(reason) = self.progress.stopping {
                        return self.close(position.from, reason).await;
                    }
                    let full = self.room(Room::Ample).map_err(internal)? == Room::None;
                    // The driver's connection has gone with the child.
                    if self.spec.driven.is_some() {
                        let cut_off = full && self.spec.fail_closed;
                        let reason = if cut_off {
                            EndReason::Policy
                        } else {
                            EndReason::Crash
                        };
                        return self.close(position.from, reason).await;
                    }
                    if full {
                        barren_runs = 0; // nobody can record without room
                        if let Some(reason) = self.wait_for_room().await.map_err(internal)? {
                            return self.close(position.from, reason).await;
                        }
                    } else if barren_runs >= MAX_BARREN_RUNS {
                        return self.close(position.from, EndReason::Crash).await;
                    } else {
                        self.room_again(); // which no child may have lived to tell
                    }
                    let mut resume = next_run(&self.folder, &position).map_err(internal)?;
                    if full {
                        resume.gap = GapReason::DiskFull;
                        resume.enforced = self.alarm.is_acknowledged();
                    }
                    self.spec.resume = Some(resume);
                    metrics().restarted();
                    sleep(FIRST_RESTART_WAIT * 2_u32.pow(barren_runs) - FIRST_RESTART_WAIT).await;
                }
            }
        }
    }

    /// Serves one child until it is gone.
    async fn watch(&mut self, mut child: ChildProcess) -> anyhow::Result<RunEnd> {
        let mut end = None;
        let mut frames = false;
        let mut detail = "it was killed".to_owned();
        let mut line = Vec::new();
        let mut marks = UnderWay::default();
        let mut deeds = UnderWay::default();
        if self.spec.resume.is_some() {
            self.courier.begin();
        }
        loop {
            let deadline = self.progress.deadline;
            tokio::select! {
                report = child.report(&mut line) => match report? {
                    None => break,
                    Some(Report::Started) => {
                        frames = true;
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
                    Some(Report::Health { state, detail }) => {
                        self.meter.health(&state);
                        self.courier.announce(|to| to.health(&state, &detail));
                    }
                    Some(Report::Unrecorded { since }) => self.unrecorded(since),
                    Some(Report::RoomAgain) => self.room_again(),
                    Some(Report::Status(status)) => {
                        self.meter.status(status, BootTime::now());
                        self.courier.status(status);
                        if child.rss_bytes() > Some(MAX_CHILD_RSS_BYTES) {
                            "it used too much memory and was stopped".clone_into(&mut detail);
                            break;
                        }
                    }
                    Some(Report::Marked { id, t }) => marks.answer(id, t),
                    Some(Report::Operated { id, result }) => deeds.answer(id, result),
                    Some(Report::Refused { refusal, detail }) => {
                        let failure = Kind::from(refusal).because(anyhow!(detail));
                        end = Some(RunEnd::Refused(failure));
                    }
                    Some(Report::NotDriven { reason, detail }) => {
                        end = Some(RunEnd::NotDriven(reason, detail));
                    }
                    Some(Report::Ended { t, reason, .. }) => {
                        end = Some(RunEnd::Ended { t, reason });
                    }
                    Some(Report::Failed { detail: said }) => detail = said,
                    Some(Report::Probed { .. }) => {} // it was not asked to
                },
                () = self.alarm.acknowledged() => child.tell(Command::Enforced).await,
                Some(marks::Request { mark, marked }) = self.marks.recv() => {
                    let id = marks.tell(marked);
                    child.tell(Command::Mark { id, mark }).await;
                }
                Some(request) = self.driver.recv() => match request {
                    // Whoever asked has given up waiting, and does not expect it any more.
                    driver::Request::Operate { done, .. } if done.is_closed() => {}
                    driver::Request::Operate { driver, deeds: all, done } => {
                        let id = deeds.tell(done);
                        child.tell(Command::Operate { id, driver, deeds: all }).await;
                    }
                    driver::Request::LetGo { driver } => {
                        child.tell(Command::LetGo { driver }).await;
                    }
                },
                () = self.stop.next(), if self.progress.stopping.is_none() => {
                    self.progress.stopping = Some(EndReason::Stopped);
                    child.tell(Command::Stop(EndReason::Stopped)).await;
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)),
                    if deadline.is_some() && self.progress.stopping.is_none() =>
                {
                    self.progress.stopping = Some(EndReason::DurationReached);
                    child.tell(Command::Stop(EndReason::DurationReached)).await;
                }
            }
        }
        child.reap().await;
        Ok(end.unwrap_or(RunEnd::Died { frames, detail }))
    }

    /// Nothing is recorded since then, for want of room.
    fn unrecorded(&mut self, since: WallTime) {
        self.meter.unrecorded(true);
        self.alarm.raise(News {
            session: self.spec.session,
            reason: GapReason::DiskFull,
            since,
        });
    }

    /// What happens is recorded again.
    fn room_again(&mut self) {
        self.meter.unrecorded(false);
        self.alarm.clear();
    }

    /// How much room the spool has, when it had `before`.
    fn room(&self, before: Room) -> anyhow::Result<Room> {
        let disk = Disk::of(self.folder.path()).context("looking at the spool's disk")?;
        Ok(before.now(disk, self.spec.reserve))
    }

    /// Waits, without a child, until there is room for one; or gives back why the session is to end
    /// before that.
    async fn wait_for_room(&mut self) -> anyhow::Result<Option<EndReason>> {
        self.unrecorded(clock::wall());
        let deadline = self.progress.deadline;
        while self.room(Room::None)? == Room::None {
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = self.alarm.acknowledged() => {}
                () = self.stop.next() => return Ok(Some(EndReason::Stopped)),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    return Ok(Some(EndReason::DurationReached));
                }
            }
        }
        Ok(None)
    }

    fn has_head(&self) -> anyhow::Result<bool> {
        Ok(self
            .folder
            .head()
            .context("reading the session's head")?
            .is_some())
    }

    /// A run's first frame is durable; only the first run is news.
    fn started(&mut self) -> anyhow::Result<()> {
        self.courier.begin();
        if std::mem::replace(&mut self.progress.announced, true) {
            return Ok(());
        }
        let source = self.spec.source.to_string();
        self.courier.announce_start(&source);
        if let Some(file) = &self.ready_file {
            let session = self.spec.session;
            announce_in(file, &format!("{session}\n")).context("writing --ready-file")?;
        }
        if let Some(duration) = self.duration {
            self.progress.deadline = Some(Instant::now() + duration);
        }
        Ok(())
    }

    /// Delivers the rest, the end record last.
    async fn close(mut self, t: MediaTime, reason: EndReason) -> Result<Outcome, Failure> {
        drop(self.driver); // nobody drives after the end
        match self.folder.write_ended(reason) {
            // Only whoever finds an undelivered spool asks for it.
            Err(error) if is_out_of_room(&error) => {
                tracing::warn!(%error, "No room to note why the session ended");
            }
            ended => ended.map_err(|error| Kind::Internal.because(error))?,
        }
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
                if reason == EndReason::Policy {
                    return Err(Kind::Policy.because(anyhow!(
                        "there was no room to record, so the driver was cut off; see --unrecorded"
                    )));
                }
                Ok(Outcome::Over)
            }
            Delivered::Stored => Err(Kind::Store.because(anyhow!(
                "the recording is in the store but not yet in the catalogue; \
                 run `playhead-agent flush` when the catalogue is mended"
            ))),
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

/// Whoever waits for the file reads it as soon as it is there, so it appears whole.
fn announce_in(file: &Path, text: &str) -> std::io::Result<()> {
    let unfinished = file.with_added_extension("new");
    std::fs::write(&unfinished, text)?;
    std::fs::rename(unfinished, file)
}
