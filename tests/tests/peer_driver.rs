//! Does the machine do what comes over the driver's socket, and does the record say so? VNC and RDP
//! alike; what an observer of the machine's display sees is held against what the driver was told.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::wait_for;
use pipeline_tests::desktop::{Desktop, Terminal};
use pipeline_tests::marks::Marks;
use pipeline_tests::playhead::{Home, Recorded, Recorder, Server};
use pipeline_tests::process::Process;
use pipeline_tests::rdp_server::{PASSWORD, RdpServer};
use pipeline_tests::secrets::check_nowhere;
use serde_json::{Value, json};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, KeyButMask};
use x11rb::rust_connection::RustConnection;

const SIZE: (u16, u16) = (800, 600);
/// A policy under which all that is typed and pasted may be kept.
const KEEP: &str = "[input]\nkeys = \"all\"\nclipboard = \"text\"\n";
const INPUT: &str = "key,text_run,pointer,wheel,clipboard,mark";
const LINE: &str = "Through the Recorder: 100% (of \"it\")";
const SECRET: &str = "Tr0ub4dor-horse";
/// xrdp hands a text on in Latin-1, as VNC has it.
const PASTED: &str = "Grüße & more";
/// In the terminal.
const INSIDE: [u16; 2] = [100, 100];
/// Outside of it.
const BESIDE: [u16; 2] = [650, 350];
const CORNERS: [[u16; 2]; 4] = [
    [3, 3],
    [SIZE.0 - 4, 3],
    [3, SIZE.1 - 4],
    [SIZE.0 - 4, SIZE.1 - 4],
];
const SOON: Duration = Duration::from_secs(30);

/// What a driver is answered to `line`.
fn ask(driver: &mut Marks, line: &Value) -> anyhow::Result<Value> {
    driver.say(&line.to_string())?;
    driver.answer()
}

/// When `line` was done, in ms since the session's start.
fn done(driver: &mut Marks, line: &Value) -> anyhow::Result<u64> {
    let answer = ask(driver, line)?;
    ensure!(answer["ok"] == true, "{line}: {answer}");
    answer["t"].as_u64().with_context(|| answer.to_string())
}

/// Checks that nothing of `line` is done, for these words.
fn refused(driver: &mut Marks, line: &Value, words: &str) -> anyhow::Result<()> {
    let answer = ask(driver, line)?;
    let error = answer["error"].as_str().unwrap_or_default();
    ensure!(
        answer["ok"] == false && error.contains(words),
        "{line}: {answer}"
    );
    Ok(())
}

fn of<'a>(recorded: &'a [Recorded], kind: &'a str) -> impl Iterator<Item = &'a Recorded> {
    recorded.iter().filter(move |event| event.kind == kind)
}

/// The desktop's display as whoever sits before it finds it.
struct Display(RustConnection);

impl Display {
    fn of(desktop: &Desktop) -> anyhow::Result<Self> {
        let name = format!(":{}", desktop.display);
        Ok(Self(RustConnection::connect(Some(&name))?.0))
    }

    /// Waits until the pointer is there.
    fn wait_for_pointer(&self, at: [u16; 2]) -> anyhow::Result<()> {
        wait_for("the pointer", SOON, || {
            let found = self.0.query_pointer(self.root()?)?.reply()?;
            let there =
                (found.root_x, found.root_y) == (i16::try_from(at[0])?, i16::try_from(at[1])?);
            Ok(there.then_some(()))
        })
    }

    fn root(&self) -> anyhow::Result<u32> {
        Ok(self.0.setup().roots.first().context("no screen")?.root)
    }

    /// Waits until just these modifiers and buttons are down.
    fn wait_for_down(&self, down: KeyButMask) -> anyhow::Result<()> {
        let what = format!("{down:?} alone");
        wait_for(&what, SOON, || {
            let mask = self.0.query_pointer(self.root()?)?.reply()?.mask;
            let keys = self.0.query_keymap()?.reply()?.keys;
            let none = keys.iter().all(|keys| *keys == 0);
            let keys_match = none != down.contains(KeyButMask::SHIFT);
            Ok((mask == down && keys_match).then_some(()))
        })
    }
}

/// What is on the desktop's clipboard.
fn pasted(desktop: &Desktop, home: &Home) -> anyhow::Result<String> {
    let mut xclip = std::process::Command::new("xclip");
    xclip
        .args(["-selection", "clipboard", "-o", "-t", "UTF8_STRING"])
        .env("DISPLAY", format!(":{}", desktop.display));
    let mut running = Process::start("xclip", home.path(), &mut xclip)?;
    running.wait(SOON)?;
    Ok(std::fs::read_to_string(home.path().join("xclip.out"))?)
}

/// A recorder of a desktop, its driver's socket, and what is on the desktop.
struct Scene {
    recorder: Recorder,
    socket: PathBuf,
    terminal: Terminal,
    desktop: Desktop,
    home: Home,
}

impl Scene {
    /// Records the desktop by way of `url`, with an observer on its display.
    fn start(home: Home, desktop: Desktop, url: &str, options: &[&str]) -> anyhow::Result<Self> {
        let terminal = Terminal::start(home.path(), &desktop)?;
        let (socket, policy) = (home.path().join("driver"), home.policy(KEEP)?);
        let (path, display) = (
            socket.to_string_lossy(),
            format!("x11::{}", desktop.display),
        );
        let all = ["--driver", &path, "--policy", &policy, "--input", &display];
        let recorder = Recorder::start(&home, url, &[&all, options].concat())?;
        let said = recorder.events("driver")?;
        ensure!(said[0]["socket"] == *path, "{said:?}");
        Ok(Self {
            recorder,
            socket,
            terminal,
            desktop,
            home,
        })
    }

    fn driver(&self) -> anyhow::Result<Marks> {
        Marks::at_socket(&self.socket)
    }

    /// Types, clicks in the corners, turns the wheel, pastes and enters a secret. Gives back when
    /// each corner was clicked.
    fn work(&mut self) -> anyhow::Result<Vec<u64>> {
        let mut driver = self.driver()?;
        let driver = &mut driver;
        done(driver, &json!({ "pointer": INSIDE, "click": "left" }))?;
        done(driver, &json!({ "text": format!("{LINE}\n") }))?;
        self.terminal.wait_for(LINE)?;
        // What is wrong is not done, not even its first half.
        let outside = json!({ "pointer": [SIZE.0, 0], "click": "left" });
        refused(driver, &outside, "800×600 pixels")?;
        refused(driver, &json!({ "keys": ["x", "Nope"] }), "name of a key")?;

        let secret = done(driver, &json!({ "mark": "secret.begin" }))?;
        done(driver, &json!({ "text": SECRET }))?;
        done(driver, &json!({ "keys": ["Control_L", "u"] }))?;
        // The observer tells of keys when they arrive, which is a while after they were sent.
        done(driver, &json!({ "pointer": BESIDE }))?;
        Display::of(&self.desktop)?.wait_for_pointer(BESIDE)?;
        ensure!(secret <= done(driver, &json!({ "mark": "secret.end" }))?);
        done(driver, &json!({ "pointer": INSIDE }))?;

        done(driver, &json!({ "text": "after\n" }))?;
        self.terminal.wait_for("after")?;
        done(driver, &json!({ "clipboard": PASTED }))?;
        wait_for("the machine's clipboard", SOON, || {
            let found = pasted(&self.desktop, &self.home)?;
            Ok((found == PASTED).then_some(()))
        })?;
        done(driver, &json!({ "pointer": [700, 300], "wheel": [0, 3] }))?;
        let click = |corner: [u16; 2]| json!({ "pointer": corner, "click": "left" });
        CORNERS
            .iter()
            .map(|corner| done(driver, &click(*corner)))
            .collect()
    }

    /// Holds a key and a button down on a connection, and closes it.
    fn let_go(&self) -> anyhow::Result<()> {
        let display = Display::of(&self.desktop)?;
        display.wait_for_down(KeyButMask::default())?;
        let mut driver = self.driver()?;
        done(&mut driver, &json!({ "key": "Shift_L", "down": true }))?;
        done(
            &mut driver,
            &json!({ "pointer": [700, 400], "down": "left" }),
        )?;
        display.wait_for_down(KeyButMask::SHIFT | KeyButMask::BUTTON1)?;
        let other = json!({ "key": "Shift_L", "down": false });
        refused(&mut self.driver()?, &other, "does not hold")?;
        drop(driver);
        display.wait_for_down(KeyButMask::default())
    }

    /// Ends the recording, and with it whoever still drives.
    fn close(self) -> anyhow::Result<(Home, Desktop)> {
        let mut driver = self.driver()?;
        done(&mut driver, &json!({ "key": "Shift_R", "down": true }))?;
        let display = Display::of(&self.desktop)?;
        display.wait_for_down(KeyButMask::SHIFT)?;
        self.recorder.close()?;
        display.wait_for_down(KeyButMask::default())?;
        let _ = driver.say("{\"key\":\"a\"}"); // which may be refused by the kernel already
        ensure!(driver.answer().is_err(), "nobody drives after the end");
        ensure!(!self.socket.exists(), "the socket goes with its recorder");
        Ok((self.home, self.desktop))
    }
}

/// Operates a desktop through a recorder of `url`, and reads what was recorded.
fn check(home: Home, desktop: Desktop, url: &str, options: &[&str]) -> anyhow::Result<()> {
    let mut scene = Scene::start(home, desktop, url, options)?;
    let clicked = scene.work()?;
    scene.let_go()?;
    let (home, _desktop) = scene.close()?;

    check_nowhere(&home, SECRET)?;
    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let unseen = session.recorded("health")?;
    let unseen = unseen
        .iter()
        .filter(|told| told.data["state"] == "input-unseen");
    ensure!(unseen.count() == 0, "all of it came through the recorder");
    let recorded = session.recorded(INPUT)?;
    let by = |origin: &str| -> Vec<Recorded> {
        let by = recorded.iter().filter(|event| event.origin == origin);
        by.cloned().collect()
    };
    let (driver, guest) = (by("driver"), by("guest"));
    check_texts(&driver)?;
    check_clicks(&driver, &guest, &clicked)?;
    let turned = |recorded: &[Recorded]| -> i64 {
        of(recorded, "wheel")
            .filter_map(|wheel| wheel.data["dy"].as_i64())
            .sum()
    };
    ensure!(
        (turned(&driver), turned(&guest)) == (3, 3),
        "the wheel turned"
    );
    let pasted: Vec<&Value> = of(&driver, "clipboard")
        .map(|paste| &paste.data["text"])
        .collect();
    ensure!(pasted == [PASTED], "{pasted:?}");
    let shift = of(&driver, "key").filter(|key| {
        ["Shift_L", "Shift_R"]
            .iter()
            .any(|name| key.data["name"] == *name)
    });
    let down: i32 = shift
        .map(|key| if key.data["down"] == true { 1 } else { -1 })
        .sum();
    ensure!(down == 0, "what went down came up in the record");
    Ok(())
}

fn check_texts(driver: &[Recorded]) -> anyhow::Result<()> {
    let runs: Vec<&Value> = of(driver, "text_run")
        .map(|run| &run.data["text"])
        .collect();
    ensure!(runs == [LINE, "after"], "{runs:?}");
    let marks: Vec<&Value> = of(driver, "mark").map(|mark| &mark.data["name"]).collect();
    ensure!(marks == ["secret.begin", "secret.end"], "{marks:?}");
    Ok(())
}

/// What the driver clicked is where and when it was told, and there the machine saw it.
fn check_clicks(driver: &[Recorded], guest: &[Recorded], clicked: &[u64]) -> anyhow::Result<()> {
    let down = |recorded: &[Recorded]| -> Vec<Recorded> {
        let down = of(recorded, "pointer").filter(|event| event.data["action"] == "down");
        down.cloned().collect()
    };
    let (driver, guest) = (down(driver), down(guest));
    let places = |clicks: &[Recorded]| -> Vec<Value> {
        clicks
            .iter()
            .map(|click| click.data["at"].clone())
            .collect()
    };
    let mut expected = vec![json!(INSIDE)];
    expected.extend(CORNERS.map(|corner| json!(corner)));
    expected.push(json!([700, 400]));
    ensure!(places(&driver) == expected, "{:?}", places(&driver));
    ensure!(places(&guest) == expected, "{:?}", places(&guest));
    let times: Vec<u64> = driver.iter().map(|click| click.t).collect();
    ensure!(
        times[1..=CORNERS.len()] == *clicked,
        "{times:?}, {clicked:?}"
    );
    Ok(())
}

#[test]
fn peer_a_desktop_behind_vnc_is_operated_through_its_recorder() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), SIZE)?;
    let url = desktop.url();
    check(home, desktop, &url, &[])
}

#[test]
fn peer_a_desktop_behind_rdp_is_operated_through_its_recorder() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), SIZE)?;
    let server = RdpServer::xrdp(home.path(), &desktop)?;
    let password = home.path().join("password");
    std::fs::write(&password, PASSWORD)?;
    let (password, size) = (password.to_string_lossy(), format!("{}x{}", SIZE.0, SIZE.1));
    let tls = ["--rdp-security", "tls", "--rdp-size", &size];
    let tls = [&tls[..], &["--password-file", &password]].concat();
    let pin = server.pin(&home, &tls)?;
    let options = [&tls[..], &["--tls-pin", &pin]].concat();
    check(home, desktop, &server.url(), &options)
}

#[test]
fn peer_nobody_drives_what_is_not_recorded() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), (640, 480))?;
    let socket = home.path().join("driver");
    let path = socket.to_string_lossy();
    let key = json!({ "key": "a", "id": 7 });

    // Somebody listens, and never says a word.
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let mut early = home.command("playhead-agent")?;
    early.args([
        "record",
        &format!("vnc://{}", silent.local_addr()?),
        "--driver",
        &path,
    ]);
    let mut early = Process::start("early", home.path(), &mut early)?;
    early.wait_until("the driver's socket", SOON, || socket.exists())?;
    refused(
        &mut Marks::at_socket(&socket)?,
        &key,
        "nothing is recorded yet",
    )?;
    let taken = home.agent(&["record", &desktop.url(), "--driver", &path])?;
    let said = String::from_utf8_lossy(&taken.stderr).into_owned();
    ensure!(
        taken.status.code() == Some(2) && said.contains("--driver"),
        "{said}"
    );
    drop(early);

    let recorder = Recorder::start(&home, &desktop.url(), &["--driver", &path])?;
    let mut driver = Marks::at_socket(&socket)?;
    done(&mut driver, &key)?;
    drop(desktop);
    wait_for("the gap", SOON, || {
        let gaps = recorder.events("gap")?;
        Ok((!gaps.is_empty()).then_some(()))
    })?;
    refused(&mut driver, &key, "not connected")?;
    recorder.close()?;

    let proxy = ["proxy", "vnc://127.0.0.1:1", "--listen", "127.0.0.1:0"];
    let proxy = home.agent(&[&proxy[..], &["--driver", &path]].concat())?;
    let said = String::from_utf8_lossy(&proxy.stderr).into_owned();
    ensure!(
        proxy.status.code() == Some(2) && said.contains("--marks"),
        "{said}"
    );
    Ok(())
}
