//! Is a machine that is driven over RDP recorded as it was driven? FreeRDP's client works on real
//! desktops through the recording proxy, as its users have it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clipboard::{copy, paste};
use pipeline_tests::clock::{pass_until_utc_ms, utc_ms, wait_for};
use pipeline_tests::desktop::{Desktop, Painter, Terminal};
use pipeline_tests::marks::Marks;
use pipeline_tests::playhead::{Home, Proxy, Recorded, Server, Session};
use pipeline_tests::rdp_client::{self, RdpClient};
use pipeline_tests::rdp_server::{self, RdpServer};
use pipeline_tests::schedule::Random;
use pipeline_tests::secrets::check_nowhere;
use pipeline_tests::truth::{LATE_MS as LATE_FRAME_MS, check_moment_late};

const PATIENCE: Duration = Duration::from_secs(60);
/// How long a copied text may take from one screen to the other.
const ANSWER: Duration = Duration::from_secs(5);
/// How far a recorded time lies from when the driver acted, unless the machine was busy elsewhere.
const LATE_MS: u64 = 20;
/// How far any may lie.
const BUSY_MS: u64 = 1_000;
/// What the client asks for unless it is told otherwise.
const SIZE: (u16, u16) = (1024, 768);
/// A policy under which all that is typed and pasted may be kept.
const KEEP: &str = "[input]\nkeys = \"all\"\nclipboard = \"text\"\n";
/// The driver's keyboard, and what is typed on it: alone, with Shift, and with AltGr.
const LAYOUT: &str = "de";
const TEXTS: [&str; 2] = ["ls -la; echo Grüße", "{[ada@desk]} ~ 5 €"];
/// In Latin-1: xrdp takes no more to a VNC server.
const TO_MACHINE: &str = "Grüße from the driver";
const FROM_MACHINE: &str = "copied on the machine";
/// FreeRDP's shadow server looks at its screen 16 times a second, and needs its time to compare.
const SERVER_LATE_MS: u64 = 150;
/// In the terminal.
const INSIDE: (u16, u16) = (100, 100);

/// Between which moments a driver did something, in ms since 1970.
type Acted = (u64, u64);

/// A machine, and a display for who drives it.
struct Stage {
    home: Home,
    /// Where everything lies that is not the product's.
    beside: Home,
    desktop: Desktop,
    server: RdpServer,
    screen: Desktop,
}

impl Stage {
    fn set(start: fn(&Path, &Desktop) -> anyhow::Result<RdpServer>) -> anyhow::Result<Self> {
        let (home, beside) = (Home::new()?, Home::new()?);
        let desktop = Desktop::start(beside.path(), SIZE)?;
        let server = start(beside.path(), &desktop)?;
        let screen = rdp_client::screen(beside.path(), LAYOUT)?;
        Ok(Self {
            home,
            beside,
            desktop,
            server,
            screen,
        })
    }

    /// A proxy before the machine that serves one driver, and the certificate that it shows.
    fn proxy(&self, options: &[&str]) -> anyhow::Result<(Proxy, String)> {
        let password = self.beside.path().join("password");
        std::fs::write(&password, rdp_server::PASSWORD)?;
        let password = password.to_string_lossy();
        let pin = self
            .server
            .pin(&self.home, &["--rdp-security", "nla-or-tls"])?;
        let own = ["--once", "--password-file", &password, "--tls-pin", &pin];
        let options = [&own, options].concat();
        let proxy = Proxy::start(&self.home, &self.server.url(), &options)?;
        let listening = proxy.events("listening")?;
        ensure!(listening[0]["upstream"] == "inline", "{listening:?}");
        let shown = listening[0]["certificate_sha256"].as_str();
        let shown = shown.context("no certificate is told")?.to_owned();
        Ok((proxy, shown))
    }

    /// A client that signs in to the proxy.
    fn drive(
        &self,
        (proxy, certificate): &(Proxy, String),
        user: (&str, &str),
    ) -> anyhow::Result<RdpClient<'_>> {
        let server = rdp_client::Server {
            address: proxy.address,
            certificate,
            user,
        };
        RdpClient::start(self.beside.path(), &self.screen, server)
    }
}

/// What a driver did, and when.
#[derive(Default)]
struct Done {
    texts: Vec<Acted>,
    returns: Vec<Acted>,
    clicks: Vec<((u16, u16), Acted)>,
}

#[test]
fn peer_what_a_client_does_at_xrdp_is_recorded_as_it_was_done() -> anyhow::Result<()> {
    let stage = Stage::set(RdpServer::xrdp)?;
    let mut terminal = Terminal::start(stage.beside.path(), &stage.desktop)?;
    let policy = stage.home.policy(KEEP)?;
    let proxy = stage.proxy(&["--rdp-security", "tls", "--policy", &policy])?;
    let client = stage.drive(&proxy, ("anybody", "anything"))?;
    let done = work(&client, &mut terminal)?;
    exchange(&stage)?;
    drop(client);
    ended(proxy.0, "driver-left")?;

    let server = Server::start(&stage.home)?;
    let session = server.only_session()?;
    ensure!(session.gaps()?.is_empty(), "{:?}", session.gaps()?);
    let recorded = session.recorded("key,text_run,pointer,wheel,clipboard")?;
    let wire = recorded.iter().all(|event| event.origin == "wire");
    ensure!(wire, "the proxy saw all of it");
    check_texts(&session, &recorded, &done)?;
    check_clicks(&session, &recorded, &done)?;
    let turned = of(&recorded, "wheel").filter_map(|wheel| wheel.data["dy"].as_i64());
    ensure!(turned.sum::<i64>() == 3, "{recorded:?}");
    check_clipboard(&recorded)
}

/// Types lines that the machine reads, clicks in marked corners, and turns the wheel.
fn work(client: &RdpClient<'_>, terminal: &mut Terminal) -> anyhow::Result<Done> {
    let mut done = Done::default();
    done.clicks.push((INSIDE, client.click(INSIDE)?));
    for text in TEXTS {
        done.texts.push(client.text(text)?);
        done.returns.push(client.tap("Return")?);
        terminal.wait_for(text)?;
    }
    let (width, height) = SIZE;
    for at in [
        (3, 3),
        (width - 4, 3),
        (3, height - 4),
        (width - 4, height - 4),
    ] {
        done.clicks.push((at, client.click(at)?));
    }
    for _ in 0..3 {
        client.wheel_down()?;
    }
    Ok(done)
}

/// Copies on either side, until the other has it.
fn exchange(stage: &Stage) -> anyhow::Result<()> {
    // Whether the machine's VNC server makes anything of what it was sent is its own affair.
    let taken = copy(&stage.screen, TO_MACHINE)?;
    taken.recv_timeout(PATIENCE).context(TO_MACHINE)?;
    let mut _kept = copy(&stage.desktop, FROM_MACHINE)?;
    wait_for(FROM_MACHINE, PATIENCE, || {
        // Now and then a request stays unanswered between xfreerdp and xrdp, why is not known; a
        // person would copy again.
        let Ok(pasted) = paste(&stage.screen, ANSWER) else {
            _kept = copy(&stage.desktop, FROM_MACHINE)?;
            return Ok(None);
        };
        Ok((pasted.as_deref() == Some(FROM_MACHINE)).then_some(()))
    })
}

/// How far what was recorded lies from when it was done, in ms.
struct Offs {
    start_ms: u64,
    all: Vec<u64>,
}

impl Offs {
    fn from(session: &Session<'_>) -> anyhow::Result<Self> {
        let start_ms = session.start_ms()?;
        let all = Vec::new();
        Ok(Self { start_ms, all })
    }

    fn add(&mut self, t: u64, acted: Acted) {
        self.add_nearest(t, &[acted]);
    }

    fn add_nearest(&mut self, t: u64, acted: &[Acted]) {
        let at = self.start_ms + t;
        let offs = acted
            .iter()
            .map(|&(from, to)| at.abs_diff(at.clamp(from, to)));
        self.all.extend(offs.min());
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

fn check_texts(session: &Session<'_>, recorded: &[Recorded], done: &Done) -> anyhow::Result<()> {
    let mut offs = Offs::from(session)?;
    let typed: String = of(recorded, "key")
        .filter(|key| key.data["down"] == true)
        .filter_map(|key| key.data["name"].as_str())
        .map(|name| if name == "Return" { "\n" } else { name })
        .filter(|name| name.chars().count() == 1)
        .collect();
    let expected: String = TEXTS.iter().map(|text| format!("{text}\n")).collect();
    ensure!(typed == expected, "keys say {typed:?}");
    ensure!(runs(recorded) == TEXTS.concat(), "{:?}", runs(recorded));
    // Where the machine was busy, a text is recorded in several runs.
    for run in of(recorded, "text_run") {
        let to = run.data["to"].as_u64().context("no end of the run")?;
        for t in [run.t, to] {
            offs.add_nearest(t, &done.texts);
        }
    }
    let returns = of(recorded, "key").filter(|key| key.data["name"] == "Return");
    let pressed: Vec<&Recorded> = returns.filter(|key| key.data["down"] == true).collect();
    for (key, acted) in pressed.iter().zip(&done.returns) {
        offs.add(key.t, *acted);
    }
    offs.check()
}

/// What the recorded runs of text say together.
fn runs(recorded: &[Recorded]) -> String {
    let texts = of(recorded, "text_run").filter_map(|run| run.data["text"].as_str());
    texts.collect()
}

fn check_clicks(session: &Session<'_>, recorded: &[Recorded], done: &Done) -> anyhow::Result<()> {
    let mut offs = Offs::from(session)?;
    let down = of(recorded, "pointer").filter(|event| event.data["action"] == "down");
    let clicks: Vec<&Recorded> = down.collect();
    ensure!(clicks.len() == done.clicks.len(), "{clicks:?}");
    for (click, ((x, y), acted)) in clicks.iter().zip(&done.clicks) {
        let side = |side: usize| click.data["at"][side].as_u64().unwrap_or(u64::MAX);
        let off_px = side(0)
            .abs_diff((*x).into())
            .max(side(1).abs_diff((*y).into()));
        ensure!(off_px <= 2, "{click:?} is not at {x},{y}");
        ensure!(click.data["button"] == "left", "{click:?}");
        offs.add(click.t, *acted);
    }
    offs.check()
}

fn check_clipboard(recorded: &[Recorded]) -> anyhow::Result<()> {
    for (direction, text) in [("to-machine", TO_MACHINE), ("from-machine", FROM_MACHINE)] {
        let mut that_way =
            of(recorded, "clipboard").filter(|event| event.data["direction"] == direction);
        let kept = that_way.any(|event| event.data["text"] == text);
        ensure!(kept, "{text} is not in {recorded:?}");
    }
    Ok(())
}

#[test]
fn peer_a_secret_typed_over_rdp_is_nowhere() -> anyhow::Result<()> {
    const SECRET: &str = "Tr0ub4dor-horse";
    let stage = Stage::set(RdpServer::xrdp)?;
    let mut terminal = Terminal::start(stage.beside.path(), &stage.desktop)?;

    // Without a policy nothing that prints is kept.
    let proxy = stage.proxy(&["--rdp-security", "tls"])?;
    let client = stage.drive(&proxy, ("anybody", "anything"))?;
    client.click(INSIDE)?;
    client.text(SECRET)?;
    client.tap("Return")?;
    terminal.wait_for(SECRET)?;
    drop(client);
    ended(proxy.0, "driver-left")?;
    check_nowhere(&stage.home, SECRET)?;

    // With one, nothing is between a secret's marks.
    let policy = stage.home.policy(KEEP)?;
    let socket = stage.home.path().join("marks");
    let listener = format!("unix:{}", socket.display());
    let options = [
        "--rdp-security",
        "tls",
        "--policy",
        &policy,
        "--marks",
        &listener,
    ];
    let proxy = stage.proxy(&options)?;
    let client = stage.drive(&proxy, ("anybody", "anything"))?;
    let mut marks = Marks::at_socket(&socket)?;
    client.click(INSIDE)?;
    client.text("before")?;
    for (name, text) in [("secret.begin", SECRET), ("secret.end", "after")] {
        // It is told while the last keys are still on their way.
        let told = marks.tell(name)?;
        ensure!(told["ok"] == true && told["t"].is_u64(), "{told}");
        client.text(text)?;
    }
    client.tap("Return")?;
    terminal.wait_for(&format!("before{SECRET}after"))?;
    drop(client);
    ended(proxy.0, "driver-left")?;
    check_nowhere(&stage.home, SECRET)?;

    let server = Server::start(&stage.home)?;
    let sessions = server.json("/api/v1/sessions")?;
    let mut typed = Vec::new();
    for session in sessions["sessions"].as_array().context("no sessions")? {
        let session = server.session(session["id"].as_str().context("no id")?);
        typed.push(runs(&session.recorded("text_run")?));
    }
    typed.sort();
    let hidden = "•".repeat(SECRET.len());
    ensure!(typed == ["beforeafter", &hidden], "{typed:?}");
    Ok(())
}

#[test]
fn peer_a_screen_is_shared_by_those_who_prove_who_they_are() -> anyhow::Result<()> {
    const DRIVER: &str = "grace";
    const PASSWORD: &str = "battery staple";
    let stage = Stage::set(RdpServer::shadow)?;
    let painter = Painter::start(stage.beside.path(), &stage.desktop, &["--seconds", "600"])?;
    let password = stage.beside.path().join("driver-password");
    std::fs::write(&password, PASSWORD)?;
    let password = password.to_string_lossy();
    let options = ["--driver-user", DRIVER, "--driver-password-file", &password];
    let mut proxy = stage.proxy(&options)?;

    let server = rdp_client::Server {
        address: proxy.0.address,
        certificate: &proxy.1,
        user: (DRIVER, "a guess"),
    };
    let guess = RdpClient::launch(stage.beside.path(), &stage.screen, server)?;
    rdp_client::refused(guess, stage.beside.path())?;
    let ended_early = proxy.0.wait_for("ended", 1)?;
    ensure!(
        ended_early[0]["reason"] == "driver-refused",
        "{ended_early:?}"
    );
    ensure!(ended_early[0]["objects"] == 0, "{ended_early:?}");

    let client = stage.drive(&proxy, (DRIVER, PASSWORD))?;
    proxy.0.wait_for("started", 1)?;
    let from = utc_ms();
    let acted = client.click(INSIDE)?;
    let half = work_on(&painter, from + 3_000)?;
    // Out of sight a client asks for no more pictures.
    client.show(false)?;
    let to = work_on(&painter, half + 4_000)?;
    let paints = painter.paints()?;
    drop(client);
    let told = proxy.0.wait_for("ended", 2)?;
    ensure!(told[1]["reason"] == "driver-left", "{told:?}");

    let playhead = Server::start(&stage.home)?;
    let session = playhead.only_session()?;
    ensure!(session.gaps()?.is_empty(), "{:?}", session.gaps()?);
    let mut random = Random::new(7);
    for span in [from..half, half..to] {
        for _ in 0..10 {
            let moment = random.within(span.start..span.end - LATE_FRAME_MS);
            check_moment_late(&session, moment, &paints, SERVER_LATE_MS)?;
        }
    }
    let clicks = session.recorded("pointer")?;
    let down = clicks.iter().find(|event| event.data["action"] == "down");
    let down = down.context("no click")?;
    let done = Done {
        clicks: vec![(INSIDE, acted)],
        ..Done::default()
    };
    check_clicks(&session, std::slice::from_ref(down), &done)
}

/// Lets the painter work until then, and until a paint after that is surely recorded.
fn work_on(painter: &Painter, until: u64) -> anyhow::Result<u64> {
    pass_until_utc_ms(until);
    let painted = wait_for("the next paint", PATIENCE, || {
        let last = painter.paints()?.last().copied();
        Ok(last.filter(|last| until <= last.utc_ms))
    })?;
    pass_until_utc_ms(painted.painted_ms + LATE_FRAME_MS + SERVER_LATE_MS);
    Ok(utc_ms())
}

fn of<'a>(recorded: &'a [Recorded], kind: &'a str) -> impl Iterator<Item = &'a Recorded> {
    recorded.iter().filter(move |event| event.kind == kind)
}

/// Waits for the end of the one session.
fn ended(mut proxy: Proxy, reason: &str) -> anyhow::Result<()> {
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == reason, "{ended:?}");
    let status = proxy.process.wait(PATIENCE)?;
    ensure!(status.success(), "the proxy ended with {status}");
    Ok(())
}
