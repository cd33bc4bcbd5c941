//! What is lost when the recorder is killed? At most the last second, and the record says so.
//!
//! `PLAYHEAD_KILLS` sets how many random moments are tried (4 by default).

use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::{utc_ms, wait_for};
use pipeline_tests::picture;
use pipeline_tests::playhead::Server;
use pipeline_tests::process::{children_of, signal_id};
use pipeline_tests::scene::Scene;
use pipeline_tests::schedule::Random;
use pipeline_tests::truth::{LATE_MS, check_moment};
use rustix::process::Signal;

/// What may be lost.
const LOST_MS: u64 = 1_000;
const RESTART: Duration = Duration::from_secs(20);

#[test]
fn peer_a_kill_at_any_moment_loses_at_most_a_second() -> anyhow::Result<()> {
    let kills = std::env::var("PLAYHEAD_KILLS")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut random = Random::new(utc_ms());
    for kill in 0..kills.unwrap_or(4) {
        let after_ms = random.within(1_500..6_000);
        let victim = if kill % 2 == 0 {
            kill_child
        } else {
            kill_parent
        };
        victim(after_ms).with_context(|| format!("kill {kill}, after {after_ms} ms"))?;
    }
    Ok(())
}

/// The parent starts a new child, and the session goes on.
fn kill_child(after_ms: u64) -> anyhow::Result<()> {
    let scene = Scene::start((640, 480), &[])?;
    scene.work(after_ms)?;
    let parent = scene.recorder.process.id();
    let child = *children_of(parent)?
        .first()
        .context("the recorder has no child")?;
    signal_id(child, Signal::KILL)?;
    let killed = utc_ms();
    wait_for("a new child", RESTART, || {
        Ok(children_of(parent)?.into_iter().find(|&new| new != child))
    })?;
    let after = scene.work(4_000)?;
    let (home, paints) = scene.close()?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    for segment in home.objects(".mp4")? {
        picture::plays_alone(&segment)?;
    }
    check_moment(&session, killed - LOST_MS - LATE_MS, &paints).context("before the kill")?;
    check_moment(&session, after, &paints).context("after the restart")?;
    let start = session.start_ms()?;
    let gaps = session.gaps()?;
    let (from, _, reason) = gaps.first().context("no gap")?;
    ensure!(
        ["recorder-restarted", "crash-lost"].contains(&reason.as_str()),
        "the gap says {reason}"
    );
    ensure!(
        killed <= start + from + LOST_MS + LATE_MS,
        "lost more than a second: {gaps:?}"
    );
    Ok(())
}

/// The child ends with its parent; `flush` sends what lies in the spool.
fn kill_parent(after_ms: u64) -> anyhow::Result<()> {
    let mut scene = Scene::start((640, 480), &[])?;
    scene.work(after_ms)?;
    let children = children_of(scene.recorder.process.id())?;
    scene.recorder.process.signal(Signal::KILL)?;
    let killed = utc_ms();
    scene.recorder.process.wait(RESTART)?;
    wait_for("the end of the child", RESTART, || {
        let gone = |child: &u32| !std::path::Path::new(&format!("/proc/{child}/fd/0")).exists();
        Ok(children.iter().all(gone).then_some(()))
    })?;
    let flushed = scene.home.agent(&["flush"])?;
    ensure!(flushed.status.success(), "{flushed:?}");
    let paints = scene.painter.paints()?;

    let server = Server::start(&scene.home)?;
    let session = server.only_session()?;
    for segment in scene.home.objects(".mp4")? {
        picture::plays_alone(&segment)?;
    }
    check_moment(&session, killed - LOST_MS - LATE_MS, &paints)?;
    let head = session.head()?;
    let reached = session.start_ms()? + head["duration_ms"].as_u64().context("duration_ms")?;
    ensure!(
        killed <= reached + LOST_MS,
        "the record ends {} ms before the kill",
        killed - reached
    );
    Ok(())
}

#[test]
fn peer_a_second_agent_leaves_a_living_spool_alone() -> anyhow::Result<()> {
    let scene = Scene::start((640, 480), &[])?;
    let before = scene.work(2_000)?;
    let flushed = scene.home.agent(&["flush"])?;
    ensure!(flushed.status.success(), "{flushed:?}");
    let after = scene.work(2_000)?;
    let (home, paints) = scene.close()?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    check_moment(&session, before, &paints)?;
    check_moment(&session, after, &paints)?;
    ensure!(session.gaps()?.is_empty(), "{:?}", session.gaps()?);
    Ok(())
}
