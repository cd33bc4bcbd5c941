//! How far are the figures? The painter on a 1080p desktop, recorded by Playhead and by FFmpeg's
//! x11grab side by side in one run, then read back through the server.

use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use pipeline_tests::clock::{monotonic, pass_until_utc_ms, utc_ms};
use pipeline_tests::cost::{cpu, resident_kib};
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::paint_log::Paint;
use pipeline_tests::playhead::{Home, Recorder, Server, Session};
use pipeline_tests::process::Process;
use pipeline_tests::schedule::Random;
use pipeline_tests::truth::wall;
use rustix::process::Signal;
use serde_json::json;

const ACTIVE: Duration = Duration::from_secs(60);
/// What is left of a GOP, and a whole idle one, after which the encoder rests.
const SETTLE: Duration = Duration::from_secs(125);
const IDLE: Duration = Duration::from_secs(60);
const FRAMES: u64 = 200;
const RESOLVES: u64 = 2_000;

fn main() -> anyhow::Result<()> {
    let mut table = Table::default();
    let (home, paints) = recording(&mut table)?;
    reading(&home, &paints, &mut table)?;
    table.print()
}

/// An active minute beside x11grab, then an idle one.
fn recording(table: &mut Table) -> anyhow::Result<(Home, Vec<Paint>)> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (1920, 1080))?;
    let recorder = Recorder::start(&home, &desktop.url(), &["--run", "r-figures"])?;
    let painter = Painter::start(home.path(), &desktop, &["--seconds", "60"])?;
    let grabbed = home.path().join("grab.mp4");
    let mut grab = Process::start(
        "x11grab",
        home.path(),
        Command::new("ffmpeg")
            .args([
                "-v",
                "error",
                "-f",
                "x11grab",
                "-framerate",
                "15",
                "-i",
                &format!(":{}", desktop.display),
            ])
            .args(["-c:v", "libx264", "-preset", "veryfast"])
            .arg(&grabbed),
    )?;

    let id = recorder.process.id();
    let (ours, theirs) = (cpu(id)?, cpu(grab.id())?);
    pass(ACTIVE);
    let (ours, theirs) = (cpu(id)? - ours, cpu(grab.id())? - theirs);
    grab.signal(Signal::INT)?;
    grab.wait(Duration::from_secs(10))?;
    let share = 100.0 * ours.as_secs_f64() / theirs.as_secs_f64();
    table.row(
        "7 CPU, active minute",
        format!("{share:.0} % of x11grab's {theirs:.1?}"),
        "≤ 35 %",
    );
    table.row(
        "10 memory, RSS",
        format!("{} MiB", resident_kib(id)? / 1024),
        "≤ 110 MB",
    );

    pass(SETTLE);
    let (resting, stored) = (cpu(id)?, bytes(&home)?);
    pass(IDLE);
    let resting = cpu(id)? - resting;
    let share = 100.0 * resting.as_secs_f64() / IDLE.as_secs_f64();
    table.row("7 CPU, idle", format!("{share:.1} % of a core"), "≤ 0.5 %");
    recorder.close()?;
    let idle = bytes(&home)? - stored;
    table.row(
        "8 bytes, idle minute and end",
        format!("{idle} bytes"),
        "≤ 50 KB an hour",
    );
    let segments = home.objects(".mp4")?;
    let first = segments.first().context("no segment")?;
    let (ours, theirs) = (fs::metadata(first)?.len(), fs::metadata(&grabbed)?.len());
    let sizes = format!("{} KB, x11grab {} KB", ours / 1000, theirs / 1000);
    table.row("8 bytes, active minute", sizes, "≤ x11grab's");
    Ok((home, painter.paints()?))
}

/// Random moments and rows of that recording, over HTTP.
fn reading(home: &Home, paints: &[Paint], table: &mut Table) -> anyhow::Result<()> {
    let server = Server::start(home)?;
    let rows = paints.iter().map(|paint| {
        let time = wall(paint.painted_ms)?;
        Ok(json!({"id": format!("p-{}", paint.n), "time": time, "run": "r-figures", "text": "painted"}).to_string())
    });
    server.post_rows(&rows.collect::<anyhow::Result<Vec<_>>>()?.join("\n"))?;
    let session = server.only_session()?;
    frames(&session, table)?;
    resolves(&server, paints.len(), table)
}

fn frames(session: &Session<'_>, table: &mut Table) -> anyhow::Result<()> {
    let mut random = Random::new(1);
    let times = timed(FRAMES, || {
        let t = random.within(1_000..60_000);
        session.get(&format!("/frame?t={t}")).map(drop)
    })?;
    table.row(
        "5 exact frame, 1080p JPEG",
        times,
        "p50 ≤ 60 ms, p95 ≤ 200 ms",
    );
    Ok(())
}

fn resolves(server: &Server, paints: usize, table: &mut Table) -> anyhow::Result<()> {
    let mut random = Random::new(2);
    let last = u64::try_from(paints)?;
    let times = timed(RESOLVES, || {
        let n = random.within(0..last);
        server
            .get(&format!("/api/v1/resolve?event=p-{n}"))
            .map(drop)
    })?;
    table.row("6 resolve an event (few rows)", times, "p99 ≤ 2 ms");
    Ok(())
}

/// Percentiles of how long `ask` takes.
fn timed(times: u64, mut ask: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<String> {
    let mut took = Vec::new();
    for _ in 0..times {
        let began = monotonic();
        ask()?;
        took.push(began.elapsed());
    }
    took.sort();
    let at = |percent: usize| took[took.len() * percent / 100];
    Ok(format!(
        "p50 {:.1?}, p95 {:.1?}, p99 {:.1?}",
        at(50),
        at(95),
        at(99)
    ))
}

/// Size of all objects in the store.
fn bytes(home: &Home) -> anyhow::Result<u64> {
    let sizes = home
        .objects("")?
        .into_iter()
        .map(|path| Ok(fs::metadata(path)?.len()));
    sizes.sum()
}

fn pass(span: Duration) {
    pass_until_utc_ms(utc_ms() + u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
}

/// Rows of figure, today's value, goal.
#[derive(Default)]
struct Table(Vec<[String; 3]>);

impl Table {
    fn row(&mut self, figure: &str, today: String, goal: &str) {
        self.0.push([figure.to_owned(), today, goal.to_owned()]);
    }

    fn print(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{:<32}{:<48}goal", "figure", "today")?;
        for [figure, today, goal] in &self.0 {
            writeln!(out, "{figure:<32}{today:<48}{goal}")?;
        }
        Ok(())
    }
}
