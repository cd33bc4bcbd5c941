//! The child: decodes, masks, encodes and spools one recorded machine. It is the only process that
//! reads the machine's bytes, and it holds no credentials but the machine's own.

mod backlog;
mod clients;
mod connection;
mod drive;
mod guest;
mod hands;
mod health;
mod inbox;
mod inline;
mod isolate;
mod lost;
mod media_clock;
mod probe;
mod recording;
mod relay;
mod reports;
mod session;
mod transport;
mod unseen;

use std::{
    io::{BufRead as _, Read as _},
    os::fd::{FromRawFd as _, OwnedFd, RawFd},
    time::Duration,
};

use anyhow::Context as _;
use capture::{Framebuffer, GapReason, Size, event::Origin};
use encoder::h264;
use rustix::io::FdFlags;
use segment::end::EndReason;

pub(crate) use self::probe::try_source;
use self::{
    connection::Connection,
    drive::Outcome,
    guest::Guest,
    inbox::{Inbox, Operate, StopCause, Told, Waiting},
    recording::{Recording, beside::EVERYBODY},
    reports::Reports,
};
use crate::{
    clock::BootTime,
    duration::GiveUp,
    wire::{DRIVER_FD, Driven, LISTENER_FD, Refusal, Report, Spec, Task, Undone},
};

/// The longest task: a policy and a run's context fit many times over.
const MAX_TASK_BYTES: u64 = 4 << 20;
/// The first wait before a lost source is tried again; each further one is twice as long.
const FIRST_WAIT_MS: u64 = 500;
/// The longest such wait.
const LONGEST_WAIT_MS: u64 = 30_000;

/// Who loses the connection twice within this, its picture there in between, loses it to another
/// client that wants it back each time.
const TAKEN_OVER_MS: u64 = 10_000;

/// Runs the child until its task is done; reports go to standard output.
pub(crate) fn run() -> anyhow::Result<()> {
    isolate::give_up_privileges().context("giving up privileges")?;
    let reports = Reports::default();
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_TASK_BYTES)
        .read_line(&mut line)
        .context("reading the task")?;
    match serde_json::from_str(&line).context("parsing the task")? {
        Task::Record(spec) => run_session(*spec, &reports),
        Task::Probe { source, access } => {
            isolate::close_inherited_from(DRIVER_FD.cast_unsigned())
                .context("closing what was inherited")?;
            confine();
            reports.send(&runtime()?.block_on(probe::probe(&source, &access)));
            Ok(())
        }
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Records a session.
fn run_session(spec: Spec, reports: &Reports) -> anyhow::Result<()> {
    let _span = tracing::error_span!("recording", session = %spec.session).entered();
    let drivers = match spec.driven {
        None => 0,
        Some(Driven::Shared | Driven::Inline(_)) => 1,
        Some(Driven::Single) => 2,
    };
    isolate::close_inherited_from(DRIVER_FD.cast_unsigned() + drivers)
        .context("closing what was inherited")?;
    let (mut inbox, tell) = Inbox::open()?;
    let inherited = |fd| inherited(fd).context("taking over a driver's connection");
    let relayed = || {
        anyhow::Ok(relay::Waiting {
            driver: inherited(DRIVER_FD)?.into(),
            source: spec.source.clone(),
            access: spec.access.clone(),
            tell: tell.clone(),
        })
    };
    let mut entering = None; // who is let in here, once what lets them in is confined
    match &spec.driven {
        None => {}
        Some(Driven::Shared) => inbox.admit(Waiting::Relayed(relayed()?)),
        Some(Driven::Single) => inbox.admit(Waiting::Served(clients::Waiting {
            driver: inherited(DRIVER_FD)?.into(),
            listener: inherited(LISTENER_FD)?.into(),
            password: spec.access.password.clone(),
        })),
        Some(Driven::Inline(entrance)) => entering = Some((relayed()?, entrance.clone())),
    }
    prepare(&spec).inspect_err(|error| reports.send(&Report::failed(error)))?;
    tracing::info!(source = %spec.source, "Recorder is up");
    if let Some(input) = &spec.input {
        let observer = guest::observe(input);
        // A session that is taken up again has begun, and its picture does not depend on this.
        if let (Err(error), None) = (&observer, &spec.resume) {
            let detail = format!("--input {input}: {error}");
            let refusal = guest::refusal(error);
            reports.send(&Report::Refused { refusal, detail });
            return Ok(());
        }
        inbox.watch(Guest::start(input.clone(), observer, tell)?);
    }
    let recorded = match entering {
        None => runtime()?.block_on(record(spec, inbox, reports)),
        Some((driver, entrance)) => {
            let (relay, coming) = driver.show(*entrance)?;
            inbox.enter(relay);
            runtime()?.block_on(inline::record(&spec, coming, inbox, reports))
        }
    };
    recorded.inspect_err(|error| reports.send(&Report::failed(error)))
}

/// Finds the encoder, and from then on starts no programs and reaches for nothing else.
fn prepare(spec: &Spec) -> anyhow::Result<()> {
    // The first use of an encoder looks for plugins, which is done in other processes.
    let picture = Framebuffer::new(Size::new(64, 64), 0)?;
    h264::try_out(spec.encoder, &picture).context("starting the encoder")?;
    confine();
    Ok(())
}

fn confine() {
    if let Err(error) = isolate::confine() {
        tracing::warn!(error = %anyhow::Error::from(error), "System calls are not confined");
    }
}

/// A socket of who drives the machine, which the parent has opened and left to this process.
#[expect(
    unsafe_code,
    reason = "nothing safe takes over an inherited descriptor"
)]
fn inherited(fd: RawFd) -> std::io::Result<OwnedFd> {
    // SAFETY: a spec that says `driven` comes from a parent that has put sockets there, each of
    // them is taken once, and nowhere else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // Programs that libraries start are no part of this.
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    Ok(socket)
}

async fn record(spec: Spec, mut inbox: Inbox, reports: &Reports) -> anyhow::Result<()> {
    let mut recording = Recording::new(&spec, reports)?;
    let mut lost_since: Option<BootTime> = None;
    let mut wait_ms = FIRST_WAIT_MS;
    let only = matches!(spec.driven, Some(Driven::Single));
    loop {
        let connecting = Connection::open(&spec.source, &spec.access, spec.connection());
        let lost = match meanwhile(connecting, &mut recording, &mut inbox).await? {
            Err((cause, at)) => return finish(&mut recording, cause, at),
            Ok(Ok(connection)) => {
                let shown = recording.shown();
                let opened = BootTime::now();
                match drive::drive(connection, &mut recording, &mut inbox).await? {
                    Outcome::Stopped(cause, at) => return finish(&mut recording, cause, at),
                    Outcome::Lost(lost) if recording.shown() > shown => {
                        (lost_since, wait_ms) = (None, FIRST_WAIT_MS);
                        let shown_ms = BootTime::now().ms_since(opened);
                        if only && shown > 0 && shown_ms < TAKEN_OVER_MS {
                            lost.taken_over()
                        } else {
                            lost
                        }
                    }
                    Outcome::Lost(lost) => lost,
                }
            }
            Ok(Err(lost)) => lost,
        };
        if !recording.started() {
            let (refusal, detail) = (lost.refusal(), lost.detail);
            reports.send(&Report::Refused { refusal, detail });
            return Ok(());
        }
        recording.gap(lost.reason, &lost.detail)?;
        let now = BootTime::now();
        recording.hands_off(now, &[Origin::Driver])?;
        if let Some(clients) = inbox.clients() {
            clients.part();
            recording.hands_off(now, &[Origin::Wire])?;
        }
        let away_ms = now.ms() - lost_since.get_or_insert(now).ms();
        let patience_ms = match spec.give_up {
            GiveUp::Never => u64::MAX,
            GiveUp::After(patience) => u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
        };
        // A source that refuses us will refuse us again: waiting would only lock the account. And
        // who took the machine over would lose it to us, and take it again.
        let in_vain =
            lost.refusal() == Refusal::Authentication || lost.reason == GapReason::TakenOver;
        if away_ms >= patience_ms || in_vain {
            let at = hang_up(&mut recording, &mut inbox).await?;
            return finish(&mut recording, StopCause::Asked(EndReason::SourceLost), at);
        }
        let jitter_ms = u64::from(crate::clock::random::<1>()?[0]) * wait_ms / 1024;
        let wait = Duration::from_millis((wait_ms + jitter_ms).min(patience_ms - away_ms));
        wait_ms = (wait_ms * 2).min(LONGEST_WAIT_MS);
        let waiting = tokio::time::sleep(wait);
        if let Err((cause, at)) = meanwhile(waiting, &mut recording, &mut inbox).await? {
            return finish(&mut recording, cause, at);
        }
    }
}

/// Waits for `work`, and goes on recording what happens beside the picture; or gives back who
/// wants recording to stop before that, and when.
async fn meanwhile<T>(
    work: impl Future<Output = T>,
    recording: &mut Recording<'_>,
    inbox: &mut Inbox,
) -> anyhow::Result<Result<T, (StopCause, BootTime)>> {
    let mut work = std::pin::pin!(work);
    loop {
        let now = BootTime::now();
        recording.keep(now)?;
        if recording.must_end() {
            let at = hang_up(recording, inbox).await?;
            return Ok(Err((recording.cut_off()?, at)));
        }
        let due_ms = recording.due().map_or(u64::MAX, |due| due.ms_since(now));
        let told = tokio::select! {
            done = &mut work => return Ok(Ok(done)),
            () = tokio::time::sleep(Duration::from_millis(due_ms)) => continue,
            told = inbox.next() => told,
        };
        let cause = match told {
            Told::Stop(cause) => cause,
            Told::Left(departure) => recording.left(&departure)?,
            Told::Mark { id, mark } => {
                recording.mark(BootTime::now(), id, &mark)?;
                continue;
            }
            Told::Act(act) => {
                recording.act(&act)?;
                continue;
            }
            Told::Guest { lost } => {
                recording.guest(lost)?;
                continue;
            }
            Told::Enforced => {
                recording.enforced()?;
                continue;
            }
            Told::Operate(Operate { id, .. }) => {
                let why = match recording.started() {
                    true => "the machine is not connected",
                    false => Undone::TOO_EARLY,
                };
                recording.operated(id, Err(Undone::because(why)));
                continue;
            }
            // The inbox keeps fences; and without a machine nobody is served, or holds anything.
            Told::Fence(_) | Told::Asked | Told::LetGo { .. } => continue,
        };
        return Ok(Err((cause, hang_up(recording, inbox).await?)));
    }
}

/// Lets go of whoever drives the machine, and records what they had done until then. Gives back
/// when that was.
async fn hang_up(recording: &mut Recording<'_>, inbox: &mut Inbox) -> anyhow::Result<BootTime> {
    inbox.hang_up();
    while let Some(act) = inbox.last().await {
        recording.act(&act)?;
    }
    let now = BootTime::now();
    recording.hands_off(now, &EVERYBODY)?;
    // The end is past all that was done.
    Ok(now.plus_ms(1))
}

/// Ends the recording as it stood at `at`.
fn finish(recording: &mut Recording<'_>, cause: StopCause, at: BootTime) -> anyhow::Result<()> {
    match cause {
        StopCause::Asked(reason) => recording.end(at, reason),
        StopCause::Orphaned => recording.abandon(),
    }
}
