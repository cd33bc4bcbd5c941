//! What does it cost to deliver a recording, and what while it cannot be delivered? CPU for each
//! megabyte that `flush` sends, and the memory of a recorder whose store refuses, or takes
//! everything and never answers.

#[path = "../tests/made/mod.rs"]
mod made;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::bucket::{self, Line, Passage, Service};
use pipeline_tests::clock::{pass_until_utc_ms, utc_ms, wait_for};
use pipeline_tests::cost::{ended_children_cpu, own_resident_kib};
use pipeline_tests::playhead::Home;
use pipeline_tests::scene::Scene;

const SESSIONS: u16 = 4;
const SEGMENTS: u64 = 8;
/// Segments of 4 MB, as a busy screen has them.
const SHAPE: made::Shape = made::Shape {
    segment_ms: 20_000,
    fragment_ms: 10_000,
    sample_ms: 100,
    sample_bytes: 20_000,
};
/// As many objects as an hour without a store leaves in the spool.
const OBJECTS: u64 = 60;
/// A size that changes ends an object, but not much faster than this.
const OBJECT_MS: u64 = 1_500;
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let service = Service::start(folder.path())?;
    upload("a folder", &Home::new()?)?;
    let url = bucket::url("upload", service.address);
    upload("a bucket", &bucket::home(&url)?)?;
    outage(&service)
}

/// What `flush` needs for each megabyte, beside what it needs to start.
fn upload(to: &str, home: &Home) -> anyhow::Result<()> {
    let idle = flush(home)?;
    let spool = home.path().join("spool");
    let mut bytes = 0;
    for n in 0..SESSIONS {
        let folder = made::spool(&spool, n, SEGMENTS, SHAPE)?;
        for entry in fs::read_dir(folder)? {
            bytes += entry?.metadata()?.len();
        }
    }
    let megabytes = Duration::from_micros(bytes).as_secs_f64();
    let needed = flush(home)?.saturating_sub(idle).as_secs_f64();
    say(&format!(
        "upload to {to}: {:.1} ms of CPU a MB ({megabytes:.0} MB)",
        1_000.0 * needed / megabytes
    ))
}

fn flush(home: &Home) -> anyhow::Result<Duration> {
    let before = ended_children_cpu()?;
    let flushed = home.agent(&["flush"])?;
    ensure!(flushed.status.success(), "{flushed:?}");
    Ok(ended_children_cpu()? - before)
}

/// The parent's memory over two outages of as many objects as an hour has.
fn outage(service: &Service) -> anyhow::Result<()> {
    let line = Line::to(service.address)?;
    let home = bucket::home(&bucket::url("outage", line.address))?;
    let scene = Scene::start_in(home, (640, 480), &[])?;
    let parent = scene.recorder.process.id();
    let spool = scene.home.path().join("spool");
    record_objects(&scene, 5)?;
    wait_for("the first objects' delivery", PATIENCE, || {
        Ok((spooled(&spool)? <= 1).then_some(()))
    })?;
    let mut resident = vec![("well", own_resident_kib(parent)?)];
    for (what, passage) in [
        ("refuses", Passage::Refused),
        ("is silent", Passage::Silent),
    ] {
        line.set(passage);
        record_objects(&scene, OBJECTS)?;
        resident.push((what, own_resident_kib(parent)?));
    }
    let waiting = spooled(&spool)?;
    line.set(Passage::Open);
    wait_for("the delivery of all", PATIENCE, || {
        Ok((spooled(&spool)? <= 1).then_some(()))
    })?;
    resident.push(("is well again", own_resident_kib(parent)?));
    let (home, _) = scene.close()?;
    let left = fs::read_dir(home.path().join("spool"))?.count();
    ensure!(left == 0, "{left} sessions are left in the spool");
    let told: Vec<String> = resident
        .iter()
        .map(|(what, kib)| {
            format!(
                "{what} {:.1} MiB",
                f64::from(u32::try_from(*kib).unwrap_or(u32::MAX)) / 1024.0
            )
        })
        .collect();
    say(&format!(
        "memory of the parent while the store: {} ({waiting} objects waited)",
        told.join(", ")
    ))
}

/// How many objects lie below `spool`, with the one being written.
fn spooled(spool: &Path) -> anyhow::Result<usize> {
    let mut files = 0;
    for session in fs::read_dir(spool)? {
        for file in fs::read_dir(session?.path())? {
            files += usize::from(file?.path().extension().is_some_and(|wal| wal == "wal"));
        }
    }
    Ok(files)
}

/// Has so many objects end, by as many changes of the screen's size.
fn record_objects(scene: &Scene, objects: u64) -> anyhow::Result<()> {
    for n in 0..objects {
        let mode = ["800x600", "640x480"][usize::from(n % 2 == 1)];
        let change = ["--output", "VNC-0", "--mode", mode];
        scene.desktop.run("xrandr", &change).context("xrandr")?;
        pass_until_utc_ms(utc_ms() + OBJECT_MS);
    }
    Ok(())
}

fn say(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}
