//! What becomes of sessions when the spool's disk fills, and is freed again? Each does as its policy
//! says, the record tells of it, and recording goes on.

#![allow(clippy::print_stderr, reason = "a test that is skipped says why")]

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::{utc_ms, wait_for};
use pipeline_tests::desktop::Desktop;
use pipeline_tests::driver::Driver;
use pipeline_tests::marks::Marks;
use pipeline_tests::numbers::Numbers;
use pipeline_tests::paint_log::Paint;
use pipeline_tests::picture::{self, Picture};
use pipeline_tests::playhead::{Home, Proxy, Recorder, Server, Session};
use pipeline_tests::process::{children_of, signal_id};
use pipeline_tests::scene::Scene;
use pipeline_tests::truth::check_moment;
use pipeline_tests::volume::Volume;
use rustix::process::Signal;
use serde_json::Value;

const SOON: Duration = Duration::from_secs(30);
const DISK_MIB: u32 = 20;
const RESERVE: &str = "4MiB";
/// Less than the reserve, and enough for what the reserve is for.
const LEFT_BYTES: u64 = 2 << 20;
/// Stillness is proved each second, and the disk looked at each second.
const PROOF_MS: u64 = 1_000;
/// Room for the scheduler of a busy machine.
const SLACK_MS: u64 = 1_500;
/// All is hidden between two marks.
const POLICY: &str = "[[mask]]\nname = \"secret\"\nrect = \"full\"\n\
                      from_mark = \"secret.begin\"\nto_mark = \"secret.end\"\n";

fn small_disk() -> anyhow::Result<Option<Volume>> {
    let disk = Volume::new(DISK_MIB)?;
    if disk.is_none() {
        eprintln!("skipped: mounting a small disk takes root");
    }
    Ok(disk)
}

/// A home whose spool lies on `disk`.
fn home_on(disk: &Volume, spool: &str, reserve: &str) -> anyhow::Result<Home> {
    let spool = disk.path().join(spool);
    Ok(Home::new()?
        .with("PLAYHEAD_SPOOL", &spool.to_string_lossy())
        .with("PLAYHEAD_SPOOL_RESERVE", reserve))
}

#[test]
fn peer_a_disk_that_fills_is_a_gap_and_each_policy_is_kept() -> anyhow::Result<()> {
    let Some(disk) = small_disk()? else {
        return Ok(());
    };
    let closed = home_on(&disk, "closed", RESERVE)?;
    let open = home_on(&disk, "open", RESERVE)?;
    let (told, paused) = (closed.path().join("told"), closed.path().join("paused"));
    let hook = format!(
        "cat >> {told}; echo >> {told}; test -e {paused}",
        told = told.display(),
        paused = paused.display()
    );
    let (policy, socket) = (closed.policy(POLICY)?, closed.path().join("marks"));
    let listener = format!("unix:{}", socket.display());
    let options = [
        ["--on-unrecorded", &hook],
        ["--policy", &policy],
        ["--marks", &listener],
    ];
    let scene = Scene::start_in(closed, (640, 480), &options.concat())?;
    let options = ["--unrecorded", "fail-open"];
    let mut proxy = Proxy::start(&open, &scene.desktop.url(), &options)?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.ignore_pictures()?;
    driver.tap(0x61)?;
    driver.key(0x62, true)?;
    let before = scene.work(1_500)?;

    let filled = utc_ms();
    disk.fill_but(LEFT_BYTES)?;
    proxy.wait_for("gap", 1)?;
    driver.key(0x62, false)?;
    driver.key(0x63, true)?;
    wait_for("two tries to have the machine paused", SOON, || {
        let told = std::fs::read_to_string(&told).unwrap_or_default();
        Ok((2 <= told.lines().count()).then_some(()))
    })?;
    std::fs::write(&paused, "")?;
    wait_for_health(&scene.recorder, "enforced")?;
    let mut marks = Marks::at_socket(&socket)?;
    let begun = marks.tell("secret.begin")?;
    ensure!(begun["ok"] == true, "without a picture too: {begun}");

    disk.free()?;
    let freed = utc_ms();
    proxy.wait_for("gap", 2)?;
    let secret = wait_for_gaps(&scene.recorder, 1)?;
    driver.key(0x63, false)?;
    driver.tap(0x64)?;
    scene.work(1_000)?;
    let ended = marks.tell("secret.end")?;
    ensure!(ended["ok"] == true, "{ended}");
    let after = scene.work(1_500)?;
    drop(driver);
    proxy.wait_for("ended", 1)?;
    proxy.close()?;
    let (closed, paints) = scene.close()?;
    disk.check_empty("open")?;
    disk.check_empty("closed")?;

    let back = freed..freed + 2 * PROOF_MS + SLACK_MS;
    let told = first_line(&told)?;
    let server = Server::start(&closed)?;
    let session = server.only_session()?;
    ensure!(told["session"] == session.id, "{told}");
    ensure!(told["reason"] == "disk-full", "{told}");
    check_gap(&session, filled, &back)?;
    check_both_sides(&closed, &session, &paints, before, after)?;
    check_health(&session, &["disk-full", "enforced", "disk-ok"])?;
    let hidden = Picture::of(&session.get(&format!("/frame?format=png&t={}", secret + 500))?)?;
    ensure!(hidden.code().is_err(), "a secret is shown after the gap");
    drop(server);

    let server = Server::start(&open)?;
    let session = server.only_session()?;
    check_gap(&session, filled, &back)?;
    check_both_sides(&open, &session, &paints, before, after)?;
    check_health(&session, &["disk-full", "disk-ok"])?;
    // What went down before comes up when the gap begins, and what went down within it is unseen.
    let keys = session.recorded("key")?;
    let downs: Vec<bool> = keys.iter().map(|key| key.data["down"] == true).collect();
    ensure!(downs == [true, false, true, false, true, false], "{keys:?}");
    Ok(())
}

#[test]
fn peer_a_driver_is_cut_off_where_nothing_may_go_unrecorded() -> anyhow::Result<()> {
    let Some(disk) = small_disk()? else {
        return Ok(());
    };
    let home = home_on(&disk, "spool", RESERVE)?;
    let desktop = Desktop::start(home.path(), (320, 240))?;
    let mut proxy = Proxy::start(&home, &desktop.url(), &[])?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.ignore_pictures()?;
    driver.tap(0x61)?;
    let filled = utc_ms();
    disk.fill_but(LEFT_BYTES)?;
    driver.wait_for_end()?;
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == "policy", "{ended:?}");
    let refused = Driver::connect(proxy.address, None);
    ensure!(refused.is_err(), "somebody is let in unrecorded");
    disk.free()?;
    drop(Driver::connect(proxy.address, None).context("when there is room again")?);
    proxy.wait_for("ended", 2)?;
    proxy.close()?;
    disk.check_empty("spool")?;

    let server = Server::start(&home)?;
    let id = ended[0]["session"].as_str().context("no session")?;
    let session = server.session(id);
    let start = session.start_ms()?;
    let gaps = session.gaps()?;
    let [(from, _, reason)] = gaps.as_slice() else {
        anyhow::bail!("expected one gap: {gaps:?}");
    };
    ensure!(reason == "disk-full", "{gaps:?}");
    ensure!(filled < start + from + PROOF_MS + SLACK_MS, "{gaps:?}");
    ensure!(session.recorded("key")?.len() == 2, "a key down and up");
    check_health(&session, &["disk-full"])?;
    verify(&home, id)?;

    disk.fill_but(LEFT_BYTES)?;
    let mut once = Proxy::start(&home, &desktop.url(), &["--once"])?;
    ensure!(Driver::connect(once.address, None).is_err(), "let in");
    let status = once.process.wait(SOON)?;
    ensure!(status.code() == Some(6), "it ended with {status}");
    Ok(())
}

#[test]
fn peer_what_a_full_disk_does_not_take_is_written_when_there_is_room() -> anyhow::Result<()> {
    let Some(disk) = small_disk()? else {
        return Ok(());
    };
    let home = home_on(&disk, "spool", "1MiB")?;
    let options = ["--unrecorded", "fail-closed", "--metrics", "0"];
    let scene = Scene::start_in(home, (800, 600), &options)?;
    let numbers = Numbers::of(&scene.recorder)?;
    let before = scene.work(1_500)?;

    let filled = utc_ms();
    disk.fill_but(0)?;
    wait_for("the gap", SOON, || {
        Ok(gaps_told(&scene.recorder)?.0.eq(&1).then_some(()))
    })?;
    wait_for_unrecorded(numbers, 1.0)?;
    wait_for("readiness to tell it", SOON, || {
        let (_, parts) = numbers.readiness()?;
        Ok((parts["spool"]["code"] == "spool_full").then_some(()))
    })?;
    let reserve = numbers.get("spool_reserve_bytes")?;
    ensure!(reserve == 1_048_576.0, "a reserve of {reserve}");
    scene.work(2_000)?;
    disk.free()?;
    let freed = utc_ms();
    wait_for_gaps(&scene.recorder, 1)?;
    wait_for_unrecorded(numbers, 0.0)?;
    let between = scene.work(1_500)?;

    // And once more, with a recorder that dies meanwhile: the next waits for room.
    disk.fill_but(0)?;
    wait_for("the second gap", SOON, || {
        Ok(gaps_told(&scene.recorder)?.0.eq(&2).then_some(()))
    })?;
    for child in children_of(scene.recorder.process.id())? {
        signal_id(child, Signal::KILL)?;
    }
    wait_for_health(&scene.recorder, "child-died")?;
    wait_for_unrecorded(numbers, 1.0)?;
    scene.work(2_000)?;
    disk.free()?;
    wait_for_gaps(&scene.recorder, 2)?;
    wait_for_unrecorded(numbers, 0.0)?;
    let after = scene.work(1_500)?;
    let (home, paints) = scene.close()?;
    disk.check_empty("spool")?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let gaps = session.gaps()?;
    ensure!(
        gaps.len() == 2 && gaps.iter().all(|(_, _, reason)| reason == "disk-full"),
        "{gaps:?}"
    );
    let start = session.start_ms()?;
    let (from, to) = (start + gaps[0].0, start + gaps[0].1);
    ensure!(
        filled - PROOF_MS - SLACK_MS <= from,
        "{from}, filled {filled}"
    );
    ensure!(freed <= to, "{to}, freed {freed}");
    check_both_sides(&home, &session, &paints, before, after)?;
    check_moment(&session, between, &paints).context("between")?;
    let health = session.recorded("health")?;
    let unenforced = health
        .iter()
        .filter(|event| event.data["state"] == "unenforced");
    ensure!(unenforced.count() == 2, "{health:?}");
    Ok(())
}

/// How many gaps were told to begin, and when each that ended did, in ms since the session's start.
fn gaps_told(recorder: &Recorder) -> anyhow::Result<(usize, Vec<u64>)> {
    let told = recorder.events("gap")?;
    let begun = told.iter().filter(|gap| gap["from"].is_u64()).count();
    let ended = told.iter().filter_map(|gap| gap["to"].as_u64()).collect();
    Ok((begun, ended))
}

/// Waits until so many gaps have ended, and gives back when the last of them did.
fn wait_for_gaps(recorder: &Recorder, count: usize) -> anyhow::Result<u64> {
    wait_for("the picture", SOON, || {
        let (_, ended) = gaps_told(recorder)?;
        Ok(ended.get(count - 1).copied())
    })
}

fn wait_for_health(recorder: &Recorder, state: &str) -> anyhow::Result<()> {
    wait_for(state, SOON, || {
        let told = recorder.events("health")?;
        Ok(told.iter().any(|told| told["state"] == state).then_some(()))
    })
}

fn wait_for_unrecorded(numbers: Numbers, sessions: f64) -> anyhow::Result<()> {
    wait_for("the number of what is not recorded", SOON, || {
        Ok((numbers.get("unrecorded")? == sessions).then_some(()))
    })
}

fn first_line(file: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(file)?;
    Ok(serde_json::from_str(
        text.lines().next().context("no line")?,
    )?)
}

/// The session has one gap, from the last proof before `filled` to some moment in `back`, and a
/// frame asked for within it says so.
fn check_gap(session: &Session<'_>, filled: u64, back: &Range<u64>) -> anyhow::Result<()> {
    let start = session.start_ms()?;
    let gaps = session.gaps()?;
    let [(from, to, reason)] = gaps.as_slice() else {
        anyhow::bail!("expected one gap: {gaps:?}");
    };
    ensure!(reason == "disk-full", "{gaps:?}");
    let seen = filled - PROOF_MS - SLACK_MS..filled + PROOF_MS + SLACK_MS;
    ensure!(
        seen.contains(&(start + from)),
        "{gaps:?}, filled at {filled}"
    );
    ensure!(back.contains(&(start + to)), "{gaps:?}, back at {back:?}");
    let inside = session.get(&format!("/frame?t={}", (from + to) / 2))?;
    let said = inside.header("x-playhead-gap")?;
    ensure!(said.starts_with("disk-full"), "a frame within says {said}");
    Ok(())
}

/// Every object plays and verifies, and the frames at both moments tell the truth.
fn check_both_sides(
    home: &Home,
    session: &Session<'_>,
    paints: &[Paint],
    before: u64,
    after: u64,
) -> anyhow::Result<()> {
    for segment in home.objects(".mp4")? {
        picture::plays_alone(&segment)?;
    }
    verify(home, &session.id)?;
    check_moment(session, before, paints).context("before")?;
    check_moment(session, after, paints).context("after")
}

/// What the record says of the disk and the policy, in order.
fn check_health(session: &Session<'_>, expected: &[&str]) -> anyhow::Result<()> {
    let recorded = session.recorded("health")?;
    let states = recorded
        .iter()
        .filter_map(|event| event.data["state"].as_str());
    let about_disk = |state: &&str| state.starts_with("disk-") || state.ends_with("enforced");
    let states: Vec<&str> = states.filter(about_disk).collect();
    ensure!(states == expected, "{states:?}, expected {expected:?}");
    Ok(())
}

fn verify(home: &Home, session: &str) -> anyhow::Result<()> {
    let verified = home.playhead(&["verify", session])?;
    ensure!(verified.status.success(), "{verified:?}");
    Ok(())
}
