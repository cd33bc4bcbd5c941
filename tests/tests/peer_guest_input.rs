//! Is what programs do on the desktop itself recorded, beside the picture's source? xdotool works
//! on a real desktop, past VNC, and an observer of its display tells the recorder.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clipboard::copy;
use pipeline_tests::clock::{pass_until_utc_ms, utc_ms, wait_for};
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::driver::{Driver, keysym};
use pipeline_tests::marks::Marks;
use pipeline_tests::picture::Picture;
use pipeline_tests::playhead::{Home, Proxy, Recorded, Recorder, Server};
use pipeline_tests::process::{children_of, signal_id};
use pipeline_tests::secrets::check_nowhere;
use rustix::process::Signal;
use serde_json::{Value, json};

/// How far a recorded time may lie outside the span in which xdotool ran.
const OFF_MS: u64 = 20;
/// How far a recorded click may lie from where it was.
const OFF_PX: i64 = 2;
const SIZE: (u16, u16) = (1280, 800);
/// The painter's window, and with it the corners that can be seen in the picture.
const CORNERS: [[i64; 2]; 4] = [[32, 32], [415, 32], [32, 223], [415, 223]];
/// A policy under which all that is typed and copied may be kept.
const KEEP: &str = "[input]\nkeys = \"all\"\nclipboard = \"text\"\n";
const TEXTS: [&str; 3] = ["ls -la | wc, Hello", "съешь ещё этих Булок", "😀 👍 ok 🎉"];
/// The longest that the display's loss or return takes to be recorded.
const SOON: Duration = Duration::from_secs(60);

/// What xdotool did, and the span in which it did it.
struct Done {
    from_ms: u64,
    to_ms: u64,
}

fn xdotool(desktop: &Desktop, arguments: &[&str]) -> anyhow::Result<Done> {
    let from_ms = utc_ms();
    desktop.run("xdotool", arguments)?;
    let to_ms = utc_ms();
    Ok(Done { from_ms, to_ms })
}

impl Done {
    /// That something recorded at `t` happened in this span.
    fn check(&self, start_ms: u64, t: u64) -> anyhow::Result<()> {
        let at = start_ms + t;
        ensure!(
            self.from_ms <= at + OFF_MS && at <= self.to_ms + OFF_MS,
            "recorded at {at}, done from {} to {}",
            self.from_ms,
            self.to_ms
        );
        Ok(())
    }
}

fn input_of(desktop: &Desktop) -> String {
    format!("x11::{}", desktop.display)
}

#[test]
fn peer_what_xdotool_does_is_recorded_as_it_was_done() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), SIZE)?;
    let _painter = Painter::start(home.path(), &desktop, &["--seconds", "600"])?;
    let policy = home.policy(KEEP)?;
    let options = ["--input", &input_of(&desktop), "--policy", &policy];
    let recorder = Recorder::start(&home, &desktop.url(), &options)?;

    let mut typed = Vec::new();
    for text in TEXTS {
        typed.push(xdotool(&desktop, &["type", "--", text])?);
        xdotool(&desktop, &["key", "Return"])?;
    }
    // What is bound for a letter is gone again before anyone could ask for it.
    typed.push(xdotool(&desktop, &["type", "--delay", "0", "--", "ж😀ж"])?);
    xdotool(&desktop, &["key", "ctrl+c"])?;
    let mut clicks = Vec::new();
    for [x, y] in CORNERS {
        let (x, y) = (x.to_string(), y.to_string());
        clicks.push(xdotool(&desktop, &["mousemove", &x, &y, "click", "1"])?);
    }
    xdotool(&desktop, &["click", "--repeat", "3", "--delay", "0", "5"])?;
    let moved = xdotool(&desktop, &["mousemove", "600", "500"])?;
    recorder.close()?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let start_ms = session.start_ms()?;
    let recorded = session.recorded("key,text_run,pointer,wheel")?;
    ensure!(recorded.iter().all(|event| event.origin == "guest"));

    let runs: Vec<&Recorded> = of(&recorded, "text_run").collect();
    let texts: Vec<&Value> = runs.iter().map(|run| &run.data["text"]).collect();
    ensure!(texts == [TEXTS[0], TEXTS[1], TEXTS[2], "ж😀ж"], "{texts:?}");
    for (run, done) in runs.iter().zip(&typed) {
        done.check(start_ms, run.t)?;
        done.check(start_ms, run.data["to"].as_u64().context("no end")?)?;
    }
    check_chord(&recorded)?;
    check_clicks(&recorded, start_ms, &clicks)?;
    let turned: i64 = of(&recorded, "wheel")
        .filter_map(|wheel| wheel.data["dy"].as_i64())
        .sum();
    ensure!(turned == 3, "the wheel turned {turned} steps");
    let paths = of(&recorded, "pointer").filter(|event| event.data["action"] == "path");
    let last = paths.last().context("no path")?;
    moved.check(start_ms, last.t)?;
    ensure!(last.data["path"] == json!([[0, 600, 500]]), "{last:?}");
    Ok(())
}

fn check_chord(recorded: &[Recorded]) -> anyhow::Result<()> {
    let chord = of(recorded, "key").find(|key| key.data["mods"] == json!(["Control"]));
    let chord = chord.context("no chord")?;
    ensure!(chord.data["name"] == "c", "{chord:?}");
    Ok(())
}

fn check_clicks(recorded: &[Recorded], start_ms: u64, clicks: &[Done]) -> anyhow::Result<()> {
    let down = of(recorded, "pointer").filter(|event| event.data["action"] == "down");
    let down: Vec<&Recorded> = down.collect();
    ensure!(down.len() == clicks.len(), "{down:?}");
    for ((click, corner), done) in down.iter().zip(CORNERS).zip(clicks) {
        done.check(start_ms, click.t)?;
        let place = |axis: usize| click.data["at"][axis].as_i64().unwrap_or(i64::MAX);
        let off = (place(0) - corner[0])
            .abs()
            .max((place(1) - corner[1]).abs());
        ensure!(off <= OFF_PX, "{click:?} is {off} px off {corner:?}");
    }
    Ok(())
}

#[test]
fn peer_what_xdotool_types_without_a_policy_is_nowhere() -> anyhow::Result<()> {
    const PASSWORD: &str = "Tr0ub4dor-Пароль-😀";
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let recorder = Recorder::start(&home, &desktop.url(), &["--input", &input_of(&desktop)])?;
    xdotool(&desktop, &["type", "--", PASSWORD])?;
    xdotool(&desktop, &["key", "Tab"])?;
    recorder.close()?;

    ensure!(check_nowhere(&home, PASSWORD)? > 0, "the check is blind");
    let server = Server::start(&home)?;
    let recorded = server.only_session()?.recorded("key,text_run")?;
    let runs: Vec<&Value> = of(&recorded, "text_run")
        .map(|run| &run.data["text"])
        .collect();
    ensure!(runs == [&"•".repeat(PASSWORD.chars().count())], "{runs:?}");
    let tab = of(&recorded, "key").any(|key| key.data["name"] == "Tab");
    ensure!(tab, "{recorded:?}");
    Ok(())
}

/// The end is told while the display may still have the last keys to tell.
#[test]
fn peer_a_secret_entered_on_the_desktop_leaves_no_trace() -> anyhow::Result<()> {
    const SECRET: &str = "correct horse battery staple";
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let (policy, socket) = (home.policy(KEEP)?, home.path().join("marks"));
    let listener = format!("unix:{}", socket.display());
    let input = input_of(&desktop);
    let options = ["--input", &input, "--policy", &policy, "--marks", &listener];
    let recorder = Recorder::start(&home, &desktop.url(), &options)?;
    let mut marks = Marks::at_socket(&socket)?;
    copy(&desktop, "copied before")?;
    for _ in 0..5 {
        ensure!(marks.tell("secret.begin")?["ok"] == true);
        xdotool(&desktop, &["type", "--delay", "0", "--", SECRET])?;
        copy(&desktop, SECRET)?;
        ensure!(marks.tell("secret.end")?["ok"] == true);
    }
    xdotool(&desktop, &["type", "--", "after"])?;
    copy(&desktop, "copied after")?;
    recorder.close()?;

    ensure!(check_nowhere(&home, SECRET)? > 0, "the check is blind");
    let server = Server::start(&home)?;
    let recorded = server.only_session()?.recorded("key,text_run,clipboard")?;
    // Xvnc tells the recorder of each copy as well.
    let copied: Vec<&Value> = of(&recorded, "clipboard")
        .filter(|copied| copied.origin == "guest")
        .map(|copied| &copied.data["text"])
        .collect();
    ensure!(copied == ["copied before", "copied after"], "{copied:?}");
    let typed: String = of(&recorded, "key")
        .filter(|key| key.data["down"] == true)
        .filter_map(|key| key.data["name"].as_str())
        .collect();
    ensure!(typed == "after", "{typed:?}");
    Ok(())
}

/// A recorder that dies in the middle of a secret begins anew as it was: masked, and with no ear.
#[test]
fn peer_a_secret_outlives_its_recorder() -> anyhow::Result<()> {
    const SECRETS: [&str; 2] = ["correct horse", "battery staple"];
    const MASK: &str = "[[mask]]\nname = \"secret\"\nrect = \"full\"\n\
        from_mark = \"secret.begin\"\nto_mark = \"secret.end\"\n";
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let _painter = Painter::start(home.path(), &desktop, &["--seconds", "600"])?;
    let policy = home.policy(&format!("{KEEP}{MASK}"))?;
    let (input, socket) = (input_of(&desktop), home.path().join("marks"));
    let options = [
        ["--input", &input],
        ["--policy", &policy],
        ["--marks", &format!("unix:{}", socket.display())],
    ];
    let recorder = Recorder::start(&home, &desktop.url(), &options.concat())?;
    let mut marks = Marks::at_socket(&socket)?;
    let begin = marks.tell("secret.begin")?["t"]
        .as_u64()
        .context("no begin")?;
    xdotool(&desktop, &["type", "--", SECRETS[0]])?;
    let parent = recorder.process.id();
    let child = *children_of(parent)?.first().context("no child")?;
    signal_id(child, Signal::KILL)?;
    wait_for("the end of the gap", SOON, || {
        let ended = recorder
            .events("gap")?
            .into_iter()
            .find(|gap| gap["to"].is_u64());
        Ok(ended)
    })?;
    xdotool(&desktop, &["type", "--", SECRETS[1]])?;
    copy(&desktop, SECRETS[1])?;
    let end = marks.tell("secret.end")?;
    let end = end["t"].as_u64().with_context(|| end.to_string())?;
    xdotool(&desktop, &["type", "--", "after"])?;
    recorder.close()?;

    for secret in SECRETS {
        ensure!(check_nowhere(&home, secret)? > 0, "the check is blind");
    }
    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let gaps = session.gaps()?;
    let [(from, to, reason)] = &gaps[..] else {
        anyhow::bail!("one gap: {gaps:?}");
    };
    ensure!(reason == "recorder-restarted", "{gaps:?}");
    for t in [begin, from - 1, *to, (to + end) / 2, end - 1] {
        let frame = Picture::of(&session.get(&format!("/frame?format=png&t={t}"))?)?;
        ensure!(frame.code().is_err(), "the picture at {t} ms is not masked");
    }
    let after = Picture::of(&session.get(&format!("/frame?format=png&t={end}"))?)?;
    after.code().context("the picture after the end")?;
    let recorded = session.recorded("text_run,key,clipboard")?;
    let runs: Vec<&Value> = of(&recorded, "text_run")
        .map(|run| &run.data["text"])
        .collect();
    ensure!(runs == ["after"], "{recorded:?}");
    ensure!(of(&recorded, "clipboard").count() == 0, "{recorded:?}");
    Ok(())
}

#[test]
fn peer_a_display_that_dies_and_returns_is_told_and_pictures_go_on() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let painter = Painter::start(home.path(), &desktop, &["--seconds", "600"])?;
    let other = Desktop::start(home.path(), (320, 240))?;
    let (policy, display) = (home.policy(KEEP)?, other.display);
    let options = ["--input", &input_of(&other), "--policy", &policy];
    let recorder = Recorder::start(&home, &desktop.url(), &options)?;
    let told = |what: &str| {
        wait_for(what, SOON, || {
            let told = recorder.events("health")?;
            Ok(told.into_iter().find(|told| told["state"] == what))
        })
    };
    xdotool(&other, &["type", "before"])?;
    xdotool(&other, &["keydown", "Shift_L"])?;
    drop(other);
    told("input-lost")?;
    let lost_ms = utc_ms();
    let open = ["-SecurityTypes", "None"];
    let other = Desktop::start_with(home.path(), display, (320, 240), &open)?;
    told("input-back")?;
    xdotool(&other, &["type", "after"])?;
    wait_for("a paint after the loss", SOON, || {
        Ok(painter
            .paints()?
            .last()
            .filter(|paint| lost_ms < paint.utc_ms)
            .map(|_| ()))
    })?;
    recorder.close()?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    ensure!(session.gaps()?.is_empty(), "the picture never stopped");
    let recorded = session.recorded("text_run,key,health")?;
    let runs: Vec<&Value> = of(&recorded, "text_run")
        .map(|run| &run.data["text"])
        .collect();
    ensure!(runs == ["before", "after"], "{runs:?}");
    let shifts: Vec<&Value> = of(&recorded, "key")
        .filter(|key| key.data["name"] == "Shift_L")
        .map(|key| &key.data["down"])
        .collect();
    ensure!(
        shifts == [&json!(true), &json!(false)],
        "what was held is let go: {shifts:?}"
    );
    let states: Vec<&Value> = of(&recorded, "health")
        .map(|told| &told.data["state"])
        .filter(|state| {
            state
                .as_str()
                .is_some_and(|state| state.starts_with("input-"))
        })
        .collect();
    ensure!(states == ["input-lost", "input-back"], "{states:?}");
    Ok(())
}

#[test]
fn peer_what_goes_past_the_proxy_is_told() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let policy = home.policy(KEEP)?;
    let options = [
        "--once",
        "--input",
        &input_of(&desktop),
        "--policy",
        &policy,
    ];
    let mut proxy = Proxy::start(&home, &desktop.url(), &options)?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.ignore_pictures()?;
    proxy.wait_for("started", 1)?;
    driver.text("through the proxy")?;
    driver.click((100, 100))?;
    driver.tap(keysym::RETURN)?;
    // Longer than what a driver did may take to arrive.
    pass_until_utc_ms(utc_ms() + 2_500);
    let unseen = || -> anyhow::Result<usize> {
        let told = proxy.events("health")?;
        Ok(told
            .iter()
            .filter(|told| told["state"] == "input-unseen")
            .count())
    };
    ensure!(unseen()? == 0, "all of it came through the proxy");
    xdotool(&desktop, &["type", "past it"])?;
    wait_for("input-unseen", SOON, || Ok((unseen()? == 1).then_some(())))?;
    drop(driver);
    proxy.wait_for("ended", 1)?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let recorded = session.recorded("text_run,health")?;
    let unseen = of(&recorded, "health").filter(|told| told.data["state"] == "input-unseen");
    ensure!(unseen.count() == 1, "{recorded:?}");
    let from = |origin: &str| -> Vec<&Value> {
        let runs = of(&recorded, "text_run").filter(|run| run.origin == origin);
        runs.map(|run| &run.data["text"]).collect()
    };
    ensure!(from("wire") == ["through the proxy"], "{recorded:?}");
    ensure!(
        from("guest") == ["through the proxy", "past it"],
        "{recorded:?}"
    );
    Ok(())
}

fn of<'a>(recorded: &'a [Recorded], kind: &'a str) -> impl Iterator<Item = &'a Recorded> {
    recorded.iter().filter(move |event| event.kind == kind)
}
