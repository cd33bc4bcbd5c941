//! Does the record hold what a driver did, and nothing of what it may not hold? A VNC client works
//! on a real desktop through the recording proxy.

use anyhow::{Context as _, ensure};
use pipeline_tests::clipboard::copy;
use pipeline_tests::desktop::{Desktop, Painter, Terminal};
use pipeline_tests::driver::{Driver, keysym};
use pipeline_tests::marks::Marks;
use pipeline_tests::picture::Picture;
use pipeline_tests::playhead::{Home, Proxy, Recorded, Server, Session};
use pipeline_tests::secrets::check_nowhere;
use serde_json::{Value, json};

/// How far a recorded time lies from when the driver sent, unless the machine was busy elsewhere.
const LATE_MS: u64 = 20;
/// How far any may lie.
const BUSY_MS: u64 = 1_000;
const SIZE: (u16, u16) = (1280, 800);
const SMALLER: (u16, u16) = (1024, 768);
/// A policy under which all that is typed and pasted may be kept.
const KEEP: &str = "[input]\nkeys = \"all\"\nclipboard = \"text\"\n";
const INPUT: &str = "key,text_run,pointer,wheel,clipboard,mark";
const TEXTS: [&str; 3] = ["ls -la | wc, Grüße", "Привет, мир", "😀 👍 ok"];
const PASTED: &str = "Zażółć 😀";
/// More than is kept as text.
const LONG_BYTES: usize = 2 << 20;

/// What a driver sent, and when.
#[derive(Default)]
struct Sent {
    /// Texts, with when their first and last keys went down.
    texts: Vec<(String, u64, u64)>,
    clicks: Vec<((u16, u16), u64)>,
    returns: Vec<u64>,
}

#[test]
fn peer_what_a_driver_does_is_recorded_as_it_was_done() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), SIZE)?;
    let policy = home.policy(KEEP)?;
    let proxy = Proxy::start(&home, &desktop.url(), &["--policy", &policy, "--once"])?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.ignore_pictures()?;
    let sent = work(&mut driver, &desktop)?;
    drop(driver);
    ended(proxy)?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let recorded = session.recorded(INPUT)?;
    ensure!(
        recorded.iter().all(|event| event.origin == "wire"),
        "the proxy saw all of it"
    );
    check_texts(&session, &recorded, &sent)?;
    check_clicks(&session, &recorded, &sent)?;
    check_wheel(&recorded)?;
    check_clipboard(&recorded)
}

/// Types, clicks in marked corners at two sizes, turns the wheel and pastes.
fn work(driver: &mut Driver, desktop: &Desktop) -> anyhow::Result<Sent> {
    let mut sent = Sent::default();
    for text in TEXTS {
        let (first, last) = driver.text(text)?;
        sent.texts.push((text.to_owned(), first, last));
        sent.returns.push(driver.tap(keysym::RETURN)?);
    }
    for (width, height) in [SIZE, SMALLER] {
        if (width, height) == SMALLER {
            desktop.run("xrandr", &["--output", "VNC-0", "--mode", "1024x768"])?;
        }
        for at in [
            (3, 3),
            (width - 4, 3),
            (3, height - 4),
            (width - 4, height - 4),
        ] {
            sent.clicks.push((at, driver.click(at)?));
        }
    }
    driver.wheel_down((100, 100), 3)?;
    driver.paste_latin1(&vec![b'x'; LONG_BYTES])?;
    driver.paste_unicode(PASTED)?;
    driver.tap(keysym::RETURN)?;
    Ok(sent)
}

/// How far what was recorded lies from what was done, in ms.
struct Offs {
    start_ms: u64,
    all: Vec<u64>,
}

impl Offs {
    fn from(start_ms: u64) -> Self {
        let all = Vec::new();
        Self { start_ms, all }
    }

    fn add(&mut self, t: u64, done_ms: u64) {
        self.all.push((self.start_ms + t).abs_diff(done_ms));
    }

    /// A clock that is off shows in all of them, a machine that was busy for a moment in a few.
    fn check(mut self) -> anyhow::Result<()> {
        self.all.sort_unstable();
        let (middle, last) = (self.all.get(self.all.len() / 2), self.all.last());
        ensure!(middle.is_some_and(|&ms| ms <= LATE_MS), "{:?}", self.all);
        ensure!(last.is_some_and(|&ms| ms <= BUSY_MS), "{:?}", self.all);
        Ok(())
    }
}

fn check_texts(session: &Session<'_>, recorded: &[Recorded], sent: &Sent) -> anyhow::Result<()> {
    let mut offs = Offs::from(session.start_ms()?);
    let runs: Vec<&Recorded> = of(recorded, "text_run").collect();
    let texts: Vec<&Value> = runs.iter().map(|run| &run.data["text"]).collect();
    ensure!(
        texts == TEXTS.map(Value::from).iter().collect::<Vec<_>>(),
        "{texts:?}"
    );
    for (run, (_, first, last)) in runs.iter().zip(&sent.texts) {
        offs.add(run.t, *first);
        offs.add(run.data["to"].as_u64().context("no end of the run")?, *last);
    }
    let typed: String = of(recorded, "key")
        .filter(|key| key.data["down"] == true)
        .filter_map(|key| key.data["name"].as_str())
        .map(|name| if name == "Return" { "\n" } else { name })
        .collect();
    let expected: String = TEXTS.iter().map(|text| format!("{text}\n")).collect();
    ensure!(typed.starts_with(&expected), "keys say {typed:?}");
    let returns = of(recorded, "key").filter(|key| key.data["name"] == "Return");
    let pressed = returns.filter(|key| key.data["down"] == true);
    for (key, utc_ms) in pressed.zip(&sent.returns) {
        offs.add(key.t, *utc_ms);
    }
    offs.check()
}

fn check_clicks(session: &Session<'_>, recorded: &[Recorded], sent: &Sent) -> anyhow::Result<()> {
    let mut offs = Offs::from(session.start_ms()?);
    let down = of(recorded, "pointer").filter(|event| event.data["action"] == "down");
    let clicks: Vec<&Recorded> = down.collect();
    ensure!(clicks.len() == sent.clicks.len(), "{clicks:?}");
    for (click, ((x, y), utc_ms)) in clicks.iter().zip(&sent.clicks) {
        ensure!(
            click.data["at"] == json!([x, y]),
            "{click:?} is not at {x},{y}"
        );
        ensure!(click.data["button"] == "left", "{click:?}");
        offs.add(click.t, *utc_ms);
    }
    offs.check()
}

fn check_wheel(recorded: &[Recorded]) -> anyhow::Result<()> {
    let turned: i64 = of(recorded, "wheel")
        .filter_map(|wheel| wheel.data["dy"].as_i64())
        .sum();
    ensure!(turned == 3, "the wheel turned {turned} steps");
    Ok(())
}

fn check_clipboard(recorded: &[Recorded]) -> anyhow::Result<()> {
    let to_machine = |event: &&Recorded| event.data["direction"] == "to-machine";
    let pasted: Vec<&Recorded> = of(recorded, "clipboard").filter(to_machine).collect();
    let [long, short] = pasted[..] else {
        anyhow::bail!("pasted twice, recorded {pasted:?}");
    };
    ensure!(long.data["bytes"] == LONG_BYTES, "{:?}", long.data["bytes"]);
    ensure!(long.data["sha256"].is_string() && long.data["text"].is_null());
    ensure!(short.data["text"] == PASTED, "{short:?}");
    Ok(())
}

/// The machine reads what the driver types, and what it copies is recorded on its way out.
#[test]
fn peer_keys_reach_the_machine_and_its_clipboard_the_record() -> anyhow::Result<()> {
    check_both_ways("shared")
}

#[test]
fn peer_keys_and_clipboard_pass_over_a_single_connection_too() -> anyhow::Result<()> {
    check_both_ways("single")
}

fn check_both_ways(upstream: &str) -> anyhow::Result<()> {
    const LINE: &str = "echo through the proxy";
    const COPIED: &str = "copied on the machine";
    /// In the terminal.
    const AT: (u16, u16) = (100, 100);
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let mut terminal = Terminal::start(home.path(), &desktop)?;
    let policy = home.policy(KEEP)?;
    let options = ["--policy", &policy, "--once", "--upstream", upstream];
    let proxy = Proxy::start(&home, &desktop.url(), &options)?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.take_classic_clipboard()?;
    driver.click(AT)?;
    driver.text(LINE)?;
    driver.tap(keysym::RETURN)?;
    terminal.wait_for(LINE)?;
    copy(&desktop, COPIED)?;
    driver.wait_for_bytes(COPIED.as_bytes())?;
    drop(driver);
    ended(proxy)?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let recorded = session.recorded(INPUT)?;
    let run = of(&recorded, "text_run").next().context("no run")?;
    ensure!(run.data["text"] == LINE, "{run:?}");
    let copied = of(&recorded, "clipboard").next().context("no clipboard")?;
    let expected = json!(["from-machine", COPIED]);
    let found = json!([copied.data["direction"], copied.data["text"]]);
    ensure!(found == expected, "{copied:?}");
    let clicked = of(&recorded, "pointer").find(|event| event.data["action"] == "down");
    let clicked = clicked.context("no click")?;
    ensure!(clicked.data["at"] == json!([AT.0, AT.1]), "{clicked:?}");
    Ok(())
}

#[test]
fn peer_a_password_typed_without_a_policy_is_nowhere() -> anyhow::Result<()> {
    const PASSWORD: &str = "Tr0ub4dor-horse";
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let mut proxy = Proxy::start(&home, &desktop.url(), &["--once"])?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.ignore_pictures()?;
    driver.text(PASSWORD)?;
    driver.tap(keysym::RETURN)?;
    driver.paste_latin1(PASSWORD.as_bytes())?;
    driver.paste_unicode(PASSWORD)?;
    driver.tap(keysym::TAB)?;
    // The spool still holds everything.
    proxy.wait_for("started", 1)?;
    check_nowhere(&home, PASSWORD)?;
    drop(driver);
    ended(proxy)?;

    let unpacked = check_nowhere(&home, PASSWORD)?;
    ensure!(unpacked > 0, "the check is blind: nothing was packed");
    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let recorded = session.recorded(INPUT)?;
    let keys = of(&recorded, "key").filter(|key| key.data["down"] == true);
    let names: Vec<&str> = keys.filter_map(|key| key.data["name"].as_str()).collect();
    let mut expected = vec!["•"; PASSWORD.len()];
    expected.extend(["Return", "Tab"]);
    ensure!(names == expected, "{names:?}");
    ensure!(
        of(&recorded, "clipboard").all(|paste| paste.data["text"].is_null()),
        "{recorded:?}"
    );
    ensure!(of(&recorded, "clipboard").count() == 2, "{recorded:?}");
    Ok(())
}

#[test]
fn peer_a_secret_leaves_no_trace_and_no_length() -> anyhow::Result<()> {
    for upstream in ["shared", "single"] {
        let short = secret(upstream, "hunter2")?;
        let long = secret(upstream, "correct horse battery staple, Пароль")?;
        ensure!(short == long, "{upstream}: {short:#?}\n{long:#?}");
        ensure!(
            short
                .iter()
                .any(|(kind, data)| kind == "text_run" && data["text"] == "after"),
            "recording went on: {short:?}"
        );
    }
    Ok(())
}

/// Enters `secret` between marks, and gives back what was recorded beside the picture.
fn secret(upstream: &str, secret: &str) -> anyhow::Result<Vec<(String, Value)>> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let _painter = Painter::start(home.path(), &desktop, &["--seconds", "600"])?;
    let masks = "[[mask]]\nname = \"secret\"\nrect = \"full\"\n\
        from_mark = \"secret.begin\"\nto_mark = \"secret.end\"\n";
    let policy = home.policy(&format!("{KEEP}{masks}"))?;
    let socket = home.path().join("marks");
    let listener = format!("unix:{}", socket.display());
    let options = [
        "--once",
        "--upstream",
        upstream,
        "--policy",
        &policy,
        "--marks",
        &listener,
    ];
    let proxy = Proxy::start(&home, &desktop.url(), &options)?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.ignore_pictures()?;
    let mut marks = Marks::at_socket(&socket)?;

    driver.text("before")?;
    let begin = in_force(&marks.tell("secret.begin")?)?;
    driver.text(secret)?;
    driver.paste_unicode(secret)?;
    // The end is told while the last keys are still on their way.
    let end = in_force(&marks.tell("secret.end")?)?;
    driver.text("after")?;
    driver.tap(keysym::RETURN)?;
    drop(driver);
    ended(proxy)?;

    check_nowhere(&home, secret)?;
    let server = Server::start(&home)?;
    let session = server.only_session()?;
    for t in [begin, (begin + end) / 2, end - 1] {
        let frame = Picture::of(&session.get(&format!("/frame?format=png&t={t}"))?)?;
        ensure!(frame.code().is_err(), "the picture at {t} ms is not masked");
    }
    let after = Picture::of(&session.get(&format!("/frame?format=png&t={end}"))?)?;
    after.code().context("the picture after the end")?;
    let recorded = session.recorded("key,text_run,clipboard,mark")?;
    let untimed = recorded.into_iter().map(|event| {
        let mut data = event.data;
        if let Some(data) = data.as_object_mut() {
            data.remove("to");
        }
        (event.kind, data)
    });
    let mut untimed: Vec<_> = untimed.collect();
    // Where a run stands among keys of the same ms is chance.
    untimed.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(untimed)
}

/// When a mark came into force, in ms since the session's start.
fn in_force(answer: &Value) -> anyhow::Result<u64> {
    ensure!(answer["ok"] == true, "{answer}");
    answer["t"].as_u64().context("no time")
}

fn of<'a>(recorded: &'a [Recorded], kind: &'a str) -> impl Iterator<Item = &'a Recorded> {
    recorded.iter().filter(move |event| event.kind == kind)
}

/// Waits for the end of the one session.
fn ended(mut proxy: Proxy) -> anyhow::Result<()> {
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == "driver-left", "{ended:?}");
    let status = proxy.process.wait(std::time::Duration::from_secs(30))?;
    ensure!(status.success(), "the proxy ended with {status}");
    Ok(())
}
