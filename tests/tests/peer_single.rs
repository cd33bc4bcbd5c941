//! Can a machine that allows one connection be driven, recorded and watched at once? Real servers
//! of that kind: one turns a second client away, one drops the first for it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use capture::{Framebuffer, Size, source::SourceEvent};
use capture_vnc::{Config, Session};
use pipeline_tests::clock::{pass_until_utc_ms, utc_ms, wait_for};
use pipeline_tests::desktop::{Desktop, Terminal, free_display};
use pipeline_tests::driver::{Driver, keysym};
use pipeline_tests::picture::Picture;
use pipeline_tests::playhead::{Home, Proxy, Recorded, Server};
use rustix::process::Signal;

const PATIENCE: Duration = Duration::from_secs(30);
const SIZE: (u16, u16) = (640, 480);
/// In the terminal, which hides the pointer while somebody types.
const AT: (u16, u16) = (100, 100);
/// Beside it.
const REST: (u16, u16) = (600, 440);
/// A second client is turned away.
const REFUSES: &[&str] = &["-NeverShared", "-DisconnectClients=0"];
/// A second client takes the first one's place.
const REPLACES: &[&str] = &["-NeverShared", "-DisconnectClients=1"];
/// What is typed.
const LINES: [&str; 2] = ["first words", "and more"];
/// A policy under which all that is typed may be kept.
const KEEP: &str = "[input]\nkeys = \"all\"\n";

#[test]
fn peer_a_machine_that_refuses_a_second_client_is_shared_out() -> anyhow::Result<()> {
    check_shared_out(REFUSES)
}

#[test]
fn peer_a_machine_that_drops_its_first_client_is_shared_out() -> anyhow::Result<()> {
    check_shared_out(REPLACES)
}

/// A driver types, a watcher sees it, the record holds it, all over one connection.
fn check_shared_out(options: &[&str]) -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = start(home.path(), options)?;
    let mut terminal = Terminal::start(home.path(), &desktop)?;
    let policy = home.policy(KEEP)?;
    let mut proxy = Proxy::start(&home, &desktop.url(), &["--policy", &policy, "--once"])?;
    let listening = proxy.events("listening")?;
    ensure!(listening[0]["upstream"] == "single", "{listening:?}");

    let mut driver = Driver::connect(proxy.address, None)?;
    ensure!(driver.size == SIZE, "{:?}", driver.size);
    driver.ignore_pictures()?;
    driver.click(AT)?;
    let mut watcher = Watcher::connect(proxy.address)?;
    for line in LINES {
        driver.text(line)?;
        driver.tap(keysym::RETURN)?;
        terminal.wait_for(line)?;
        watcher.wait_until_equal(&desktop)?;
    }
    driver.pointer(REST, 0)?;
    // Watchers come and go; the driver's going is the end of it.
    drop(watcher);
    let mut late = Watcher::connect(proxy.address)?;
    late.wait_until_equal(&desktop)?;
    late.wait_for_pointer()?;
    let bare = screenshot(&desktop)?;
    drop(driver);
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == "driver-left", "{ended:?}");
    late.wait_for_end()?;
    ensure!(proxy.process.wait(PATIENCE)?.success(), "a clean end");

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    ensure!(session.gaps()?.is_empty(), "{:?}", session.gaps()?);
    let end = ended[0]["t"].as_u64().context("no end")?;
    let frame = Picture::of(&session.get(&format!("/frame?format=png&t={}", end - 1))?)?;
    let drawn = drawn_px(&frame, &bare, REST);
    ensure!(drawn > 5, "no pointer in the record: {drawn} px differ");
    let recorded = session.recorded("text_run,pointer")?;
    ensure!(recorded.iter().all(|event| event.origin == "wire"));
    let of = |kind: &'static str| recorded.iter().filter(move |event| event.kind == kind);
    let texts: Vec<&str> = of("text_run")
        .filter_map(|run: &Recorded| run.data["text"].as_str())
        .collect();
    ensure!(texts == LINES, "{texts:?}");
    let clicked = of("pointer").find(|event| event.data["action"] == "down");
    let clicked = clicked.context("no click")?;
    ensure!(
        clicked.data["at"] == serde_json::json!([AT.0, AT.1]),
        "{clicked:?}"
    );
    Ok(())
}

#[test]
fn peer_a_machine_that_takes_two_is_asked_for_two() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = Desktop::start(home.path(), SIZE)?;
    let proxy = Proxy::start(&home, &desktop.url(), &[])?;
    let listening = proxy.events("listening")?;
    ensure!(listening[0]["upstream"] == "shared", "{listening:?}");
    proxy.close()
}

#[test]
fn peer_a_machine_taken_over_twice_is_let_go() -> anyhow::Result<()> {
    let home = Home::new()?;
    let desktop = start(home.path(), REPLACES)?;
    let options = ["--once", "--upstream", "single"];
    let mut proxy = Proxy::start(&home, &desktop.url(), &options)?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.ignore_pictures()?;
    let first = Driver::connect(desktop.address(), None)?;
    proxy.wait_for("gap", 2)?; // its beginning and its end
    first.wait_for_end()?;
    let second = Driver::connect(desktop.address(), None)?;
    let ended = proxy.wait_for("ended", 1)?;
    ensure!(ended[0]["reason"] == "source-lost", "{ended:?}");
    driver.wait_for_end()?;
    drop(second);
    ensure!(proxy.process.wait(PATIENCE)?.success(), "a clean end");

    let server = Server::start(&home)?;
    let gaps = server.only_session()?.gaps()?;
    let reasons: Vec<&str> = gaps.iter().map(|(.., reason)| reason.as_str()).collect();
    ensure!(reasons == ["disconnected", "taken-over"], "{gaps:?}");
    Ok(())
}

#[test]
fn peer_a_pointer_that_moves_hides_no_stall() -> anyhow::Result<()> {
    const STALL_MS: u64 = 5_000;
    let home = Home::new()?;
    let desktop = start(home.path(), REFUSES)?;
    desktop.run("xsetroot", &["-solid", "#22344f"])?;
    let options = ["--once", "--upstream", "single"];
    let mut proxy = Proxy::start(&home, &desktop.url(), &options)?;
    let mut driver = Driver::connect(proxy.address, None)?;
    driver.ignore_pictures()?;
    driver.pointer(REST, 0)?;
    let stopped = utc_ms();
    desktop.server.signal(Signal::STOP)?;
    for step in 0..STALL_MS / 100 {
        driver.pointer((100 + u16::try_from(step)?, 100), 0)?;
        pass_until_utc_ms(stopped + 100 * (step + 1));
    }
    desktop.server.signal(Signal::CONT)?;
    proxy.wait_for("gap", 2)?; // its beginning and its end
    drop(driver);
    ensure!(proxy.process.wait(PATIENCE)?.success(), "a clean end");

    let server = Server::start(&home)?;
    let gaps = server.only_session()?.gaps()?;
    ensure!(gaps.len() == 1, "{gaps:?}");
    let (from, to, reason) = &gaps[0];
    ensure!(reason == "stalled", "{gaps:?}");
    // Stillness is proved each second; the rest is room for a busy machine.
    ensure!(to - from >= STALL_MS - 500, "{gaps:?}");
    Ok(())
}

fn start(folder: &Path, options: &[&str]) -> anyhow::Result<Desktop> {
    let options = [&["-SecurityTypes", "None"], options].concat();
    Desktop::start_with(folder, free_display()?, SIZE, &options)
}

/// A client that only looks, and draws the pointer by itself.
struct Watcher {
    stream: TcpStream,
    session: Session,
    screen: Framebuffer,
    /// Whether the server shows a pointer.
    pointer: bool,
}

impl Watcher {
    fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(Duration::from_millis(50)))?;
        let config = Config {
            cursor: true,
            ..Config::default()
        };
        Ok(Self {
            stream,
            session: Session::new(config, utc_ms()),
            screen: Framebuffer::new(Size::new(1, 1), 0)?,
            pointer: false,
        })
    }

    /// Listens for a moment. False when the server has closed the connection.
    fn listen(&mut self) -> anyhow::Result<bool> {
        let now_ms = utc_ms();
        self.session.handle_timeout(now_ms)?;
        while let Some(event) = self.session.poll_event() {
            match event {
                SourceEvent::Update { .. } => self.session.request_update(now_ms),
                SourceEvent::Cursor { shape, .. } => {
                    self.pointer = shape.is_some_and(|shape| shape.size().area_px() > 0);
                }
                _ => {}
            }
        }
        while let Some(bytes) = self.session.poll_transmit() {
            self.stream.write_all(&bytes)?;
        }
        let mut said = vec![0; 64 << 10];
        match self.stream.read(&mut said) {
            Ok(0) => return Ok(false),
            Ok(len) => self
                .session
                .handle_bytes(utc_ms(), &said[..len], &mut self.screen)?,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Waits until it sees what the machine itself says is on its screen.
    fn wait_until_equal(&mut self, desktop: &Desktop) -> anyhow::Result<()> {
        wait_for("the watcher's picture", PATIENCE, || {
            ensure!(self.listen()?, "the watcher was cut off");
            let seen = self.screen.bgrx().as_chunks::<4>().0.iter();
            let shown = screenshot(desktop)?;
            let shown = shown.as_chunks::<4>().0.iter();
            let equal = seen
                .map(|pixel| &pixel[..3])
                .eq(shown.map(|pixel| &pixel[..3]));
            Ok(equal.then_some(()))
        })
    }

    fn wait_for_pointer(&mut self) -> anyhow::Result<()> {
        wait_for("the pointer", PATIENCE, || {
            ensure!(self.listen()?, "the watcher was cut off");
            Ok(self.pointer.then_some(()))
        })
    }

    fn wait_for_end(mut self) -> anyhow::Result<()> {
        wait_for("the end of the watcher", PATIENCE, || {
            Ok((!self.listen()?).then_some(()))
        })
    }
}

/// How many pixels near `at` are quite another colour in the record than on the machine's screen,
/// whose own picture is without the pointer.
fn drawn_px(frame: &Picture, bare: &[u8], (x, y): (u16, u16)) -> usize {
    const NEAR_PX: usize = 20;
    const FAR_OFF: u8 = 80;
    let (x, y) = (usize::from(x), usize::from(y));
    let rows = y - NEAR_PX..y + NEAR_PX;
    let near = rows.flat_map(|y| (x - NEAR_PX..x + NEAR_PX).map(move |x| y * frame.width_px + x));
    let green = |at: usize| (frame.rgb[3 * at + 1], bare[4 * at + 1]);
    near.filter(|&at| {
        let (recorded, shown) = green(at);
        recorded.abs_diff(shown) > FAR_OFF
    })
    .count()
}

/// The X server's own picture, in BGRX: the end of an `xwd` dump.
fn screenshot(desktop: &Desktop) -> anyhow::Result<Vec<u8>> {
    let dump = Command::new("xwd")
        .args([
            "-root",
            "-silent",
            "-display",
            &format!(":{}", desktop.display),
        ])
        .stderr(Stdio::inherit())
        .output()?;
    let bytes = usize::from(SIZE.0) * usize::from(SIZE.1) * 4;
    let head = dump.stdout.len().checked_sub(bytes).context("no dump")?;
    Ok(dump.stdout[head..].to_vec())
}
