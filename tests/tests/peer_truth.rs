//! Does every moment show what the screen showed? One long recording of the painter, with idle
//! stretches, is read back through every door and compared with the painter's own log.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::{pass_until_utc_ms, wait_for};
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::paint_log::Paint;
use pipeline_tests::picture::{self, Picture};
use pipeline_tests::playhead::{Home, Recorder, Server, Session};
use pipeline_tests::schedule::Random;
use pipeline_tests::truth::{LATE_MS, check_answer, check_moment, wall};
use serde_json::{Value, json};

/// Paints come for this long, but for the idle stretches; the first of these is longer than an
/// idle GOP, so that it is stored as a repetition.
const PAINTER: [&str; 8] = [
    "--seed",
    "2107",
    "--seconds",
    "140",
    "--idle",
    "18-98",
    "--idle",
    "112-121",
];
const PAINTED: Duration = Duration::from_secs(170);
const MOMENTS: u64 = 200;
const RUN: &str = "r-truth";

#[test]
fn peer_every_moment_shows_what_the_painter_showed() -> anyhow::Result<()> {
    let home = Home::new()?;
    let paints = record(&home)?;
    let rows = settled_rows(&paints)?;
    let imported = home.path().join("rows.ndjson");
    std::fs::write(
        &imported,
        rows.values()
            .map(|row| format!("{row}\n"))
            .collect::<String>(),
    )?;
    let output = home.playhead(&["events", "import", &imported.to_string_lossy()])?;
    ensure!(output.status.success(), "{output:?}");

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    check_frames(&session, &paints)?;
    check_rows(&server, &session, &rows)?;
    check_segments(&home)?;
    check_playlist(&session)?;
    Ok(())
}

/// Records until the painter's schedule is over.
fn record(home: &Home) -> anyhow::Result<Vec<Paint>> {
    let desktop = Desktop::start(home.path(), (1280, 800))?;
    let recorder = Recorder::start(home, &desktop.url(), &["--run", RUN])?;
    let painter = Painter::start(home.path(), &desktop, &PAINTER)?;
    let first = painter.paints()?[0];
    let end_ms = first.utc_ms + 140_000;
    wait_for("the painter's last second", PAINTED, || {
        let last = painter.paints()?.last().copied();
        Ok(last.filter(|last| end_ms <= last.utc_ms + 1_500))
    })?;
    // The last paint stands for two seconds more.
    pass_until_utc_ms(end_ms + 2_000);
    recorder.close()?;
    painter.paints()
}

/// Random moments from the first paint to the last, asked for by media time and by UTC.
fn check_frames(session: &Session<'_>, paints: &[Paint]) -> anyhow::Result<()> {
    let start_ms = session.start_ms()?;
    let mut random = Random::new(2107);
    let (first, last) = (paints[0].painted_ms, paints[paints.len() - 1].painted_ms);
    let mut wrong = Vec::new();
    for moment in 0..MOMENTS {
        let utc_ms = random.within(first + LATE_MS..last + 1_000);
        let checked = if moment % 2 == 0 {
            let asked = format!("/frame?format=png&t={}", utc_ms - start_ms);
            check_answer(session, &asked, utc_ms, paints)
        } else {
            check_moment(session, utc_ms, paints)
        };
        wrong.extend(checked.err().map(|error| format!("{error:#}")));
    }
    ensure!(
        wrong.is_empty(),
        "{} of {MOMENTS} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}

/// Rows 180 ms after paints that then stood for at least half a second, keyed by the paint's time.
fn settled_rows(paints: &[Paint]) -> anyhow::Result<BTreeMap<u64, Value>> {
    let stood = paints
        .windows(2)
        .filter(|pair| pair[0].painted_ms + 500 < pair[1].utc_ms);
    let row = |pair: &[Paint]| {
        let time = wall(pair[0].painted_ms + 180)?;
        let id = format!("paint-{}", pair[0].n);
        let row =
            json!({"id": id, "time": time, "run": RUN, "source": "painter", "text": "painted"});
        Ok((pair[0].utc_ms, row))
    };
    stood.map(row).collect()
}

/// Each row resolves to the frame that shows exactly its paint.
fn check_rows(
    server: &Server,
    session: &Session<'_>,
    rows: &BTreeMap<u64, Value>,
) -> anyhow::Result<()> {
    ensure!(rows.len() > 10, "only {} rows", rows.len());
    for (painted, row) in rows {
        let id = row["id"].as_str().context("id")?;
        let found = server.json(&format!("/api/v1/resolve?event={id}"))?;
        let candidate = &found["candidates"][0];
        ensure!(candidate["session"] == *session.id, "{id}: {found}");
        let t = candidate["t"].as_u64().context("t")?;
        for asked in [format!("t={t}"), format!("event={id}")] {
            let answer = session.get(&format!("/frame?format=png&{asked}"))?;
            let code = Picture::of(&answer)?
                .code()
                .with_context(|| asked.clone())?;
            ensure!(
                code.utc_ms == *painted,
                "{id} by {asked} shows {code:?}, not {painted}"
            );
        }
    }
    Ok(())
}

/// Every stored object plays by itself, and none has a hole.
fn check_segments(home: &Home) -> anyhow::Result<()> {
    let segments = home.objects(".mp4")?;
    ensure!(segments.len() > 2, "only {segments:?}");
    segments
        .iter()
        .try_for_each(|segment| picture::plays_alone(segment))
}

/// EXTINF sums equal the timeline to the ms, repetitions included.
fn check_playlist(session: &Session<'_>) -> anyhow::Result<()> {
    let timeline = session.json("/timeline")?;
    let durations = timeline["fragments"].as_array().context("fragments")?;
    let expected: u64 = durations
        .iter()
        .filter_map(|fragment| fragment["dur"].as_u64())
        .sum();
    let playlist = session.get("/hls/index.m3u8")?.text();
    let mut listed = 0;
    for line in playlist.lines() {
        if let Some(seconds) = line.strip_prefix("#EXTINF:") {
            listed += milliseconds(seconds.trim_end_matches(','))?;
        }
    }
    ensure!(
        listed == expected,
        "EXTINF sums to {listed} ms, the timeline to {expected} ms"
    );
    let repeated = durations
        .iter()
        .filter(|fragment| !fragment["at"].is_null())
        .count();
    ensure!(
        repeated > 0,
        "the idle stretch is not stored as a repetition: {timeline}"
    );
    Ok(())
}

/// `12.345` as 12345.
fn milliseconds(seconds: &str) -> anyhow::Result<u64> {
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let thousandths = format!("{part:0<3}");
    ensure!(
        thousandths.len() == 3,
        "{seconds} is finer than a millisecond"
    );
    Ok(whole.parse::<u64>()? * 1_000 + thousandths.parse::<u64>()?)
}
