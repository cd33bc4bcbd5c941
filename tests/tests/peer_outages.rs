//! What becomes of a session when its source stalls, goes away, or changes its size? One playable
//! session, with the right gaps, and the truth on both sides of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::{pass_until_utc_ms, utc_ms, wait_for};
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::numbers::Numbers;
use pipeline_tests::paint_log::Paint;
use pipeline_tests::picture::{self, Picture};
use pipeline_tests::playhead::{Home, Server, Session};
use pipeline_tests::scene::Scene;
use pipeline_tests::truth::check_moment;
use rustix::process::Signal;

/// Stillness is proved each second, so the last proof is at most this old.
const PROOF_MS: u64 = 1_000;
/// Room for the scheduler of a busy machine.
const SLACK_MS: u64 = 700;
/// A store that is back is tried within 30 s, and a machine may be busy.
const TOLD: Duration = Duration::from_secs(60);
/// Reconnecting backs off to some seconds at first.
const RETURN_MS: u64 = 12_000;

#[test]
fn peer_a_server_that_stops_answering_is_a_stalled_gap() -> anyhow::Result<()> {
    let scene = Scene::start((800, 600), &[])?;
    let before = scene.work(2_000)?;
    let stopped = utc_ms();
    scene.desktop.server.signal(Signal::STOP)?;
    pass_until_utc_ms(stopped + 5_000);
    scene.desktop.server.signal(Signal::CONT)?;
    let continued = utc_ms();
    let after = scene.work(PROOF_MS + 2_000)?;
    let (home, paints) = scene.close()?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    check_gap(
        &session,
        "stalled",
        stopped,
        continued..continued + PROOF_MS + SLACK_MS,
    )?;
    check_both_sides(&home, &session, &paints, before, after)
}

#[test]
fn peer_a_server_that_goes_away_and_returns_gives_one_session() -> anyhow::Result<()> {
    let scene = Scene::start((800, 600), &["--give-up-after", "1m"])?;
    let before = scene.work(2_000)?;
    let Scene {
        recorder,
        painter,
        mut desktop,
        home,
    } = scene;
    let mut paints = painter.paints()?;
    let gone = utc_ms();
    let display = desktop.display;
    desktop.server.signal(Signal::TERM)?;
    desktop.server.wait(Duration::from_secs(10))?;
    drop((painter, desktop));
    pass_until_utc_ms(gone + 3_000);

    let desktop = Desktop::start_with(
        home.path(),
        display,
        (800, 600),
        &["-SecurityTypes", "None"],
    )?;
    let returned = utc_ms();
    let painter = Painter::start(home.path(), &desktop, &["--seed", "2", "--seconds", "600"])?;
    let scene = Scene {
        recorder,
        painter,
        desktop,
        home,
    };
    let after = scene.work(RETURN_MS)?;
    let (home, painted) = scene.close()?;
    paints.extend(painted);

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    check_gap(
        &session,
        "disconnected",
        gone,
        returned..returned + RETURN_MS,
    )?;
    check_both_sides(&home, &session, &paints, before, after)
}

/// The new size closes an object while the store is away, and the recorder's numbers tell of both.
#[test]
fn peer_a_new_size_in_mid_session_goes_on_in_the_same_session() -> anyhow::Result<()> {
    let home = Home::new()?.with("PLAYHEAD_LOG", "info");
    let options = ["--metrics", "0", "--log-format", "json"];
    let scene = Scene::start_in(home, (1280, 800), &options)?;
    let numbers = Numbers::of(&scene.recorder)?;
    let before = scene.work(2_000)?;
    let outage = Outage::begin(scene.home.path())?;
    scene
        .desktop
        .run("xrandr", &["--output", "VNC-0", "--mode", "1024x768"])?;
    let after = scene.work(2_500)?;
    outage.is_told(numbers)?;
    outage.end(numbers)?;
    let log = fs::read_to_string(scene.home.path().join("recorder.log"))?;
    let (home, paints) = scene.close()?;
    check_log(&log)?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    check_both_sides(&home, &session, &paints, before, after)?;
    check_size(&session, before, (1280, 800))?;
    check_size(&session, after, (1024, 768))?;
    let inits = session.json("/timeline")?["inits"].clone();
    ensure!(
        inits.as_array().is_some_and(|inits| inits.len() >= 2),
        "{inits}"
    );
    ensure!(session.gaps()?.is_empty(), "{:?}", session.gaps()?);
    Ok(())
}

#[test]
fn peer_an_odd_size_is_recorded_as_it_is() -> anyhow::Result<()> {
    let scene = Scene::start((801, 603), &[])?;
    let moment = scene.work(2_000)?;
    let (home, paints) = scene.close()?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    check_both_sides(&home, &session, &paints, moment, moment)?;
    check_size(&session, moment, (801, 603))
}

/// The store cannot be used, though all that is in it stays.
struct Outage {
    store: PathBuf,
    aside: PathBuf,
}

impl Outage {
    fn begin(home: &Path) -> anyhow::Result<Self> {
        let (store, aside) = (home.join("store"), home.join("store.aside"));
        fs::rename(&store, &aside)?;
        // Below a file no folder can be made.
        fs::write(&store, "")?;
        Ok(Self { store, aside })
    }

    /// What is not in the store grows older, and each part of the recorder tells the truth.
    fn is_told(&self, numbers: Numbers) -> anyhow::Result<()> {
        let failed = "delivery_attempts_total{step=\"object\",outcome=\"store\"}";
        wait_for("a failed delivery", TOLD, || {
            Ok((numbers.get(failed)? > 0.0).then_some(()))
        })?;
        let age = numbers.get("oldest_unsent_age_seconds")?;
        ensure!(age > 2.0, "the oldest moment is {age} s old");
        wait_for("it to grow older", TOLD, || {
            let now = numbers.get("oldest_unsent_age_seconds")?;
            Ok((age + 1.0 < now).then_some(()))
        })?;
        ensure!(numbers.get("spool_objects")? == 2.0, "not two objects wait");
        ensure!(numbers.get("spool_used_bytes")? > 1_000.0, "of no size");
        ensure!(numbers.get("spool_free_bytes")? > 0.0, "no disk");
        ensure!(numbers.get("frames_total{outcome=\"taken\"}")? > 10.0);
        ensure!(numbers.get("sessions{state=\"ok\"}")? == 1.0, "no session");
        ensure!(numbers.get("health_events_total{state=\"store-unavailable\"}")? == 1.0);
        let (status, parts) = numbers.readiness()?;
        ensure!(status == 503 && parts["ready"] == false, "{parts}");
        ensure!(parts["store"]["code"] == "store_failed", "{parts}");
        for part in ["source", "spool", "catalogue"] {
            ensure!(parts[part]["ok"] == true, "{parts}");
        }
        Ok(())
    }

    fn end(self, numbers: Numbers) -> anyhow::Result<()> {
        let oldest = oldest_ms(numbers)?;
        fs::remove_file(&self.store)?;
        fs::rename(&self.aside, &self.store)?;
        wait_for("what waited to be sent", TOLD, || {
            Ok((numbers.get("spool_objects")? == 1.0).then_some(()))
        })?;
        let younger_ms = oldest_ms(numbers)? - oldest;
        ensure!(younger_ms > 1_500.0, "it is younger by {younger_ms} ms");
        ensure!(numbers.get("rows_owed")? == 0.0, "rows are owed");
        wait_for("readiness", TOLD, || {
            Ok((numbers.readiness()?.0 == 200).then_some(()))
        })
    }
}

/// When the oldest moment was that is not in the store, in ms since 1970.
fn oldest_ms(numbers: Numbers) -> anyhow::Result<f64> {
    let age = numbers.get("oldest_unsent_age_seconds")?;
    #[expect(clippy::cast_precision_loss, reason = "13 digits")]
    Ok(utc_ms() as f64 - age * 1_000.0)
}

/// Each line is JSON, and those of parent and child name the session.
fn check_log(log: &str) -> anyhow::Result<()> {
    let lines = log.lines().map(serde_json::from_str);
    let lines: Vec<serde_json::Value> = lines.collect::<Result<_, _>>().context(log.to_owned())?;
    for said in ["Recorder is up", "Delivery will be tried again"] {
        let line = lines.iter().find(|line| line["message"] == said);
        let session = &line.with_context(|| log.to_owned())?["span"]["session"];
        ensure!(session.is_string(), "{said}: {log}");
    }
    Ok(())
}

/// The session has one gap, for that reason, from the last proof before `lost` to some moment in
/// `back`; and a frame asked for within it says so.
fn check_gap(
    session: &Session<'_>,
    reason: &str,
    lost: u64,
    back: std::ops::Range<u64>,
) -> anyhow::Result<()> {
    let start = session.start_ms()?;
    let gaps = session.gaps()?;
    let [(from, to, found)] = gaps.as_slice() else {
        anyhow::bail!("expected one gap, {reason}: {gaps:?}");
    };
    ensure!(found == reason, "the gap is {found}, not {reason}");
    let (from, to) = (start + from, start + to);
    ensure!(
        (lost - PROOF_MS - SLACK_MS..lost + SLACK_MS).contains(&from),
        "lost at {lost}, but the gap begins at {from}"
    );
    ensure!(
        back.contains(&to),
        "back within {back:?}, but the gap ends at {to}"
    );
    let inside = session.get(&format!("/frame?t={}", (from + to) / 2 - start))?;
    let said = inside.header("x-playhead-gap")?;
    ensure!(
        said.starts_with(reason),
        "a frame within the gap says {said}"
    );
    let refused = session.get(&format!("/frame?gap=refuse&t={}", (from + to) / 2 - start))?;
    ensure!(refused.status == 409, "gap=refuse: {}", refused.status);
    Ok(())
}

/// Every object plays, and the frames at both moments tell the truth.
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
    check_moment(session, before, paints).context("before")?;
    check_moment(session, after, paints).context("after")
}

fn check_size(session: &Session<'_>, utc_ms: u64, size: (usize, usize)) -> anyhow::Result<()> {
    let t = utc_ms - session.start_ms()?;
    let picture = Picture::of(&session.get(&format!("/frame?format=png&t={t}"))?)?;
    let found = (picture.width_px, picture.height_px);
    ensure!(found == size, "the frame has {found:?} px, not {size:?}");
    Ok(())
}
