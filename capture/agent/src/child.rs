//! The child: decodes, masks, encodes and spools one recorded machine. It is the only process that
//! reads the machine's bytes, and it holds no credentials but the machine's own.

mod connection;
mod drive;
mod guest;
mod health;
mod inbox;
mod isolate;
mod media_clock;
mod recording;
mod relay;
mod reports;
mod transport;
mod unseen;

use std::{
    io::{BufRead as _, Read as _},
    os::fd::{FromRawFd as _, OwnedFd},
    time::Duration,
};

use anyhow::Context as _;
use capture::{Framebuffer, Size, source::SourceEvent};
use encoder::h264;
use rustix::io::FdFlags;
use segment::end::EndReason;

use self::{
    connection::Connection,
    drive::Outcome,
    guest::Guest,
    inbox::{Inbox, StopCause, Told},
    recording::Recording,
    reports::Reports,
};
use crate::{
    access::Access,
    clock::BootTime,
    duration::GiveUp,
    source::Source,
    wire::{DRIVER_FD, Refusal, Report, Spec},
};

/// The longest spec: a policy and a run's context fit many times over.
const MAX_SPEC_BYTES: u64 = 4 << 20;
/// The first wait before a lost source is tried again; each further one is twice as long.
const FIRST_WAIT_MS: u64 = 500;
/// The longest such wait.
const LONGEST_WAIT_MS: u64 = 30_000;

/// Runs the child until its session ends; reports go to standard output.
pub(crate) fn run() -> anyhow::Result<()> {
    isolate::give_up_privileges().context("giving up privileges")?;
    let reports = Reports::default();
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_SPEC_BYTES)
        .read_line(&mut line)
        .context("reading the spec")?;
    let spec: Spec = serde_json::from_str(&line).context("parsing the spec")?;
    let drivers = u32::from(spec.driven);
    isolate::close_inherited_from(DRIVER_FD.cast_unsigned() + drivers)
        .context("closing what was inherited")?;
    let (mut inbox, tell) = Inbox::open()?;
    if spec.driven {
        inbox.admit(relay::Waiting {
            driver: inherited_driver().context("taking over the driver's connection")?,
            source: spec.source.clone(),
            access: spec.access.clone(),
            tell: tell.clone(),
        });
    }
    confine(&spec).inspect_err(|error| reports.send(&Report::failed(error)))?;
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime
        .block_on(record(spec, inbox, &reports))
        .inspect_err(|error| {
            reports.send(&Report::failed(error));
        })
}

/// Finds the encoder, and from then on starts no programs and reaches for nothing else.
fn confine(spec: &Spec) -> anyhow::Result<()> {
    // The first use of an encoder looks for plugins, which is done in other processes.
    let picture = Framebuffer::new(Size::new(64, 64), 0)?;
    h264::try_out(spec.encoder, &picture).context("starting the encoder")?;
    if let Err(error) = isolate::confine() {
        tracing::warn!(error = %anyhow::Error::from(error), "System calls are not confined");
    }
    Ok(())
}

/// The driver's connection, which the parent has opened and left to this process.
#[expect(
    unsafe_code,
    reason = "nothing safe takes over an inherited descriptor"
)]
fn inherited_driver() -> std::io::Result<std::net::TcpStream> {
    // SAFETY: a spec that says `driven` comes from a parent that has put a socket there, and this
    // is the only place that takes it.
    let socket = unsafe { OwnedFd::from_raw_fd(DRIVER_FD) };
    // Programs that libraries start are no part of this.
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    Ok(socket.into())
}

async fn record(spec: Spec, mut inbox: Inbox, reports: &Reports) -> anyhow::Result<()> {
    let mut recording = Recording::new(&spec, reports)?;
    let mut lost_since: Option<BootTime> = None;
    let mut wait_ms = FIRST_WAIT_MS;
    loop {
        let connecting = Connection::open(&spec.source, &spec.access);
        let lost = match meanwhile(connecting, &mut recording, &mut inbox).await? {
            Err((cause, at)) => return finish(&mut recording, cause, at),
            Ok(Ok(connection)) => {
                let frames = recording.frames();
                match drive::drive(connection, &mut recording, &mut inbox).await? {
                    Outcome::Stopped(cause, at) => return finish(&mut recording, cause, at),
                    Outcome::Lost(lost) => {
                        if recording.frames() > frames {
                            (lost_since, wait_ms) = (None, FIRST_WAIT_MS);
                        }
                        lost
                    }
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
        let away_ms = now.ms() - lost_since.get_or_insert(now).ms();
        let patience_ms = match spec.give_up {
            GiveUp::Never => u64::MAX,
            GiveUp::After(patience) => u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
        };
        // A source that refuses us will refuse us again: waiting would only lock the account.
        if away_ms >= patience_ms || lost.refusal() == Refusal::Authentication {
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
        let due_ms = recording.due().map_or(u64::MAX, |due| due.ms_since(now));
        let told = tokio::select! {
            done = &mut work => return Ok(Ok(done)),
            () = tokio::time::sleep(Duration::from_millis(due_ms)) => continue,
            told = inbox.next() => told,
        };
        let cause = match told {
            Told::Stop(cause) => cause,
            Told::Left(departure) => recording.left(departure)?,
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
            Told::Fence(_) => continue, // the inbox keeps them
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
    recording.hands_off(now)?;
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

/// Connects to `source`, waits for its first picture and tells what it is.
pub(crate) async fn try_source(source: &Source, access: &Access) -> anyhow::Result<String> {
    let lost = |lost: connection::Lost| anyhow::anyhow!(lost.detail);
    let mut connection = Connection::open(source, access).await.map_err(lost)?;
    let mut desktop = String::new();
    loop {
        connection.send().await.map_err(lost)?;
        connection.receive_or_timeout().await.map_err(lost)?;
        while let Some(event) = connection.session.poll_event() {
            match event {
                SourceEvent::Start { size, .. } => desktop = format!("{source} shows {size}"),
                SourceEvent::Update { .. } => return Ok(desktop),
                _ => {}
            }
        }
    }
}
