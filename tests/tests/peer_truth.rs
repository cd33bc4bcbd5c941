//! Does every moment show what the screen showed? One long recording of the painter, with idle
//! stretches, is read back through every door and compared with the painter's own log.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::{pass_until_utc_ms, utc_ms, wait_for};
use pipeline_tests::code::Code;
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::paint_log::Paint;
use pipeline_tests::picture::{self, Picture};
use pipeline_tests::playhead::{Home, Recorder, Server, Session};
use pipeline_tests::schedule::Random;
use pipeline_tests::truth::{LATE_MS, check_answer, check_code, check_moment, wall};
use serde_json::{Value, json};

/// Paints come for this long, but for two idle stretches, in seconds. The first holds a whole idle
/// GOP of 60 s wherever the cuts fall, and some seconds that are stored as its repetition.
const PAINT_S: u64 = 185;
const IDLE_S: [&str; 2] = ["16-148", "160-168"];
/// When the screen takes a new size, in the last active stretch.
const RESIZE_S: u64 = 174;
/// A new size is recorded at most 1 s after it came; up to then the old picture is held.
const RESIZE_SETTLES_MS: u64 = 1_000 + LATE_MS;
const PAINTED: Duration = Duration::from_secs(20);
const MOMENTS: usize = 200;
const RUN: &str = "r-truth";

/// What was painted, and when no picture can be held to it.
struct Painted {
    paints: Vec<Paint>,
    resizing: Range<u64>,
}

#[test]
fn peer_every_moment_shows_what_the_painter_showed() -> anyhow::Result<()> {
    let home = Home::new()?;
    let painted = record(&home)?;
    let rows = settled_rows(&painted)?;
    let imported = home.path().join("rows.ndjson");
    let lines: Vec<String> = rows.values().map(Value::to_string).collect();
    std::fs::write(&imported, lines.join("\n"))?;
    let output = home.playhead(&["events", "import", &imported.to_string_lossy()])?;
    ensure!(output.status.success(), "{output:?}");

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    check_segments(&home)?;
    check_frames(&session, &painted)?;
    check_rows(&server, &session, &rows)?;
    check_playlist(&session)?;
    check_browser(&server, &session, &painted)
}

/// Records until the painter's schedule is over.
fn record(home: &Home) -> anyhow::Result<Painted> {
    let desktop = Desktop::start(home.path(), (1280, 800))?;
    let recorder = Recorder::start(home, &desktop.url(), &["--run", RUN])?;
    let seconds = PAINT_S.to_string();
    let options = ["--seed", "2107", "--seconds", &seconds];
    let idle = IDLE_S.map(|span| ["--idle", span]).concat();
    let painter = Painter::start(home.path(), &desktop, &[&options, idle.as_slice()].concat())?;
    let start_ms = painter.paints()?[0].utc_ms;

    pass_until_utc_ms(start_ms + 1_000 * RESIZE_S);
    let resized = utc_ms();
    desktop.run("xrandr", &["--output", "VNC-0", "--mode", "1024x768"])?;
    let resizing = resized..utc_ms() + RESIZE_SETTLES_MS;

    let end_ms = start_ms + 1_000 * PAINT_S;
    wait_for("the painter's last second", PAINTED, || {
        let last = painter.paints()?.last().copied();
        Ok(last.filter(|last| end_ms <= last.utc_ms + 1_500))
    })?;
    // The last paint stands for two seconds more.
    pass_until_utc_ms(end_ms + 2_000);
    recorder.close()?;
    let paints = painter.paints()?;
    Ok(Painted { paints, resizing })
}

impl Painted {
    /// Random moments from the first paint to the last, in ms since 1970.
    fn moments(&self, seed: u64) -> Vec<u64> {
        let (first, last) = (self.paints[0], self.paints[self.paints.len() - 1]);
        let span = first.painted_ms + LATE_MS..last.painted_ms + 1_000;
        let mut random = Random::new(seed);
        std::iter::repeat_with(|| random.within(span.clone()))
            .filter(|moment| !self.resizing.contains(moment))
            .take(MOMENTS)
            .collect()
    }
}

/// Random moments, asked for by media time and by UTC.
fn check_frames(session: &Session<'_>, painted: &Painted) -> anyhow::Result<()> {
    let start_ms = session.start_ms()?;
    let mut wrong = Vec::new();
    for (i, moment) in painted.moments(2107).into_iter().enumerate() {
        let checked = if i % 2 == 0 {
            let asked = format!("/frame?format=png&t={}", moment - start_ms);
            check_answer(session, &asked, moment, &painted.paints)
        } else {
            check_moment(session, moment, &painted.paints)
        };
        wrong.extend(checked.err().map(|error| format!("{error:#}")));
    }
    none_wrong(&wrong)
}

fn none_wrong(wrong: &[String]) -> anyhow::Result<()> {
    let count = wrong.len();
    ensure!(
        count == 0,
        "{count} of {MOMENTS} wrong:\n{}",
        wrong.join("\n")
    );
    Ok(())
}

/// Rows 180 ms after paints that then stood for at least half a second, keyed by the paint's time.
fn settled_rows(painted: &Painted) -> anyhow::Result<BTreeMap<u64, Value>> {
    let stood = painted
        .paints
        .windows(2)
        .filter(|pair| !painted.resizing.contains(&(pair[0].painted_ms + 180)))
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
    let gaps: u64 = session.gaps()?.iter().map(|(from, to, _)| to - from).sum();
    let length = timeline["duration_ms"].as_u64().context("duration_ms")?;
    ensure!(
        expected + gaps == length,
        "{expected} ms of picture, {gaps} of gaps, {length} in all"
    );
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
        "the idle stretch is not stored as a repetition"
    );
    Ok(())
}

/// The same in Chromium: deep link, then seeks forward and backward, every fourth of them into
/// playback and out of it again, read from the pixels of the video.
fn check_browser(server: &Server, session: &Session<'_>, painted: &Painted) -> anyhow::Result<()> {
    let start_ms = session.start_ms()?;
    let moments = painted.moments(4471).into_iter().enumerate();
    let asked: Vec<Value> = moments
        .map(|(i, moment)| json!({"t": moment - start_ms, "playing": i % 4 == 3}))
        .collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/seeks.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .args([&server.origin(), &session.id])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("node")?;
    let mut input = node.stdin.take().context("no input")?;
    input.write_all(Value::from(asked).to_string().as_bytes())?;
    drop(input);
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "seeks.mjs: {}", output.status);

    let shown: Vec<Value> = String::from_utf8(output.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    ensure!(
        shown.len() == MOMENTS,
        "seeks.mjs told of {} moments",
        shown.len()
    );
    let wrong = shown.iter().filter_map(|shown| {
        let checked = check_shown(shown, start_ms, painted);
        checked.err().map(|error| format!("{shown}: {error:#}"))
    });
    none_wrong(&wrong.collect::<Vec<_>>())
}

fn check_shown(shown: &Value, start_ms: u64, painted: &Painted) -> anyhow::Result<()> {
    let utc_ms = start_ms + shown["t"].as_u64().context("t")?;
    let code = Code {
        utc_ms: shown["code"]["utc_ms"]
            .as_u64()
            .context("no code in the picture")?,
        n: u16::try_from(shown["code"]["n"].as_u64().context("n")?)?,
    };
    if painted.resizing.contains(&utc_ms) {
        // Playback ran into the moment at which nothing can be said.
        return Ok(());
    }
    check_code(code, utc_ms, &painted.paints)
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
