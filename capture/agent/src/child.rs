//! The child: decodes, masks, encodes and spools one recorded machine. It is the only process that
//! reads the machine's bytes, and it holds no credentials but the machine's own.

mod connection;
mod drive;
mod health;
mod isolate;
mod media_clock;
mod recording;
mod reports;
mod transport;

use std::{io::BufRead as _, time::Duration};

use anyhow::Context as _;
use capture::{Framebuffer, Size, source::SourceEvent};
use encoder::h264;
use segment::end::EndReason;
use tokio::sync::watch;

use self::{connection::Connection, drive::Outcome, recording::Recording, reports::Reports};
use crate::{
    access::Access,
    clock::BootTime,
    duration::GiveUp,
    source::Source,
    wire::{Command, Refusal, Report, Spec},
};

/// The longest line the parent sends: a policy and a run's context fit many times over.
const MAX_LINE_BYTES: usize = 4 << 20;
/// The first descriptor after standard input, output and error: the parent leaves no more.
const FIRST_INHERITED_FD: u32 = 3;
/// The first wait before a lost source is tried again; each further one is twice as long.
const FIRST_WAIT_MS: u64 = 500;
/// The longest such wait.
const LONGEST_WAIT_MS: u64 = 30_000;

/// Runs the child until its session ends; reports go to standard output.
pub(crate) fn run() -> anyhow::Result<()> {
    isolate::give_up_privileges().context("giving up privileges")?;
    isolate::close_inherited_from(FIRST_INHERITED_FD).context("closing what was inherited")?;
    let reports = Reports::default();
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .context("reading the spec")?;
    let spec: Spec = serde_json::from_str(&line).context("parsing the spec")?;
    confine(&spec).inspect_err(|error| reports.send(&Report::failed(error)))?;
    let stop = listen(spec.session.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime
        .block_on(record(spec, stop, &reports))
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

/// Why recording should stop: `None` while it should not.
type Stop = watch::Receiver<Option<StopCause>>;

/// Who wants the recording to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopCause {
    /// The parent asks to close the session.
    Asked(EndReason),
    /// The parent is gone; whoever recovers the spool will close the session.
    Orphaned,
}

/// Listens to the parent on a thread of its own, since standard input cannot be polled.
fn listen(name: String) -> anyhow::Result<Stop> {
    let (tell, stop) = watch::channel(None);
    let listener = move || {
        let mut input = std::io::BufReader::with_capacity(4096, std::io::stdin());
        let mut line = String::new();
        let cause = match input.read_line(&mut line) {
            Ok(1..=MAX_LINE_BYTES) => match serde_json::from_str(&line) {
                Ok(Command::Stop(reason)) => StopCause::Asked(reason),
                Err(_) => StopCause::Orphaned,
            },
            _ => StopCause::Orphaned,
        };
        let _ = tell.send(Some(cause)); // nobody listens any more when the session has ended
    };
    std::thread::Builder::new()
        .name(format!("parent-{name}"))
        .spawn(listener)?;
    Ok(stop)
}

async fn record(spec: Spec, mut stop: Stop, reports: &Reports) -> anyhow::Result<()> {
    let mut recording = Recording::new(&spec, reports)?;
    let mut lost_since: Option<BootTime> = None;
    let mut wait_ms = FIRST_WAIT_MS;
    loop {
        let connected = tokio::select! {
            connected = Connection::open(&spec.source, &spec.access) => connected,
            cause = drive::stopped(&mut stop) => {
                return finish(&mut recording, cause, BootTime::now());
            }
        };
        let lost = match connected {
            Ok(connection) => {
                let frames = recording.frames();
                match drive::drive(connection, &mut recording, &mut stop).await? {
                    Outcome::Stopped(cause, at) => return finish(&mut recording, cause, at),
                    Outcome::Lost(lost) => {
                        if recording.frames() > frames {
                            (lost_since, wait_ms) = (None, FIRST_WAIT_MS);
                        }
                        lost
                    }
                }
            }
            Err(lost) => lost,
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
            return finish(&mut recording, StopCause::Asked(EndReason::SourceLost), now);
        }
        let jitter_ms = u64::from(crate::clock::random::<1>()?[0]) * wait_ms / 1024;
        let wait = Duration::from_millis((wait_ms + jitter_ms).min(patience_ms - away_ms));
        wait_ms = (wait_ms * 2).min(LONGEST_WAIT_MS);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            cause = drive::stopped(&mut stop) => {
                return finish(&mut recording, cause, BootTime::now());
            }
        }
    }
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
