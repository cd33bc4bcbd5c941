//! What is recorded? A desktop behind Xvnc on loopback, with the painter on it.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::clock::wait_for;
use crate::paint_log::{self, Paint};
use crate::process::{Process, numbers, program};

/// Displays that tests use, unless `PLAYHEAD_TEST_DISPLAYS` names others; the RFB port is 5900 more.
const DISPLAYS: RangeInclusive<u16> = 70..=79;
const START: Duration = Duration::from_secs(30);

/// A running Xvnc.
#[derive(Debug)]
pub struct Desktop {
    /// The server, to be stopped, continued or killed.
    pub server: Process,
    /// Its number: `:70`.
    pub display: u16,
}

impl Desktop {
    /// Starts one of `size` px on the first free display, without a password.
    ///
    /// # Errors
    /// When no display is free or the server does not come up.
    pub fn start(folder: &Path, size: (u16, u16)) -> anyhow::Result<Self> {
        Self::start_with(folder, free_display()?, size, &["-SecurityTypes", "None"])
    }

    /// Starts one on a given display.
    ///
    /// # Errors
    /// When the server does not come up.
    pub fn start_with(
        folder: &Path,
        display: u16,
        (width, height): (u16, u16),
        options: &[&str],
    ) -> anyhow::Result<Self> {
        let name = format!("xvnc-{display}");
        let mut command = Command::new("Xvnc");
        command
            .arg(format!(":{display}"))
            .args(["-geometry", &format!("{width}x{height}"), "-depth", "24"])
            .args(["-localhost", "-interface", "127.0.0.1", "-AlwaysShared"])
            .args(["-rfbport", &(5900 + display).to_string()])
            .args(options);
        let mut server = Process::start(&name, folder, &mut command)?;
        server.wait_until("Xvnc", START, || {
            answers(display) && TcpStream::connect(rfb(display)).is_ok()
        })?;
        Ok(Self { server, display })
    }

    /// Starts one of `size` px on the first free display, behind a password.
    ///
    /// # Errors
    /// When no display is free or the server does not come up.
    pub fn start_secured(folder: &Path, size: (u16, u16), password: &str) -> anyhow::Result<Self> {
        let file = folder.join("passwd");
        std::fs::write(&file, obfuscated(password)?)?;
        let file = file.to_string_lossy();
        let options = ["-SecurityTypes", "VncAuth", "-PasswordFile", &file];
        Self::start_with(folder, free_display()?, size, &options)
    }

    /// Where its VNC server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        rfb(self.display)
    }

    /// What the recorder is given.
    #[must_use]
    pub fn url(&self) -> String {
        format!("vnc://{}", rfb(self.display))
    }

    /// Runs a program on this display and waits for it.
    ///
    /// # Errors
    /// When it cannot be started or fails.
    pub fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let status = Command::new(program)
            .args(arguments)
            .env("DISPLAY", format!(":{}", self.display))
            .status()
            .with_context(|| program.to_owned())?;
        ensure!(status.success(), "{program} {arguments:?}: {status}");
        Ok(())
    }
}

fn rfb(display: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 5900 + display).into()
}

/// Whether an X server answers; one that was killed leaves its socket behind.
fn answers(display: u16) -> bool {
    UnixStream::connect(format!("/tmp/.X11-unix/X{display}")).is_ok()
}

/// A display and an RFB port that nothing uses.
///
/// # Errors
/// When all are in use.
pub fn free_display() -> anyhow::Result<u16> {
    let displays = numbers("PLAYHEAD_TEST_DISPLAYS", DISPLAYS);
    displays
        .clone()
        .find(|&display| !answers(display) && TcpListener::bind(rfb(display)).is_ok())
        .with_context(|| format!("displays {displays:?} are in use"))
}

/// A password as the VNC server's file holds it.
///
/// # Errors
/// When `vncpasswd` fails.
pub fn obfuscated(password: &str) -> anyhow::Result<Vec<u8>> {
    let mut tool = Command::new("vncpasswd")
        .arg("-f")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("vncpasswd")?;
    let mut input = tool.stdin.take().context("no input")?;
    input.write_all(format!("{password}\n").as_bytes())?;
    drop(input);
    Ok(tool.wait_with_output()?.stdout)
}

/// A running painter.
#[derive(Debug)]
pub struct Painter {
    _process: Process,
    log: PathBuf,
}

impl Painter {
    /// Starts one on `desktop` and returns when its first paint is done.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start(folder: &Path, desktop: &Desktop, options: &[&str]) -> anyhow::Result<Self> {
        let log = folder.join("paints.ndjson");
        let mut command = Command::new(program("painter")?);
        command
            .args(options)
            .arg("--log")
            .arg(&log)
            .env("DISPLAY", format!(":{}", desktop.display));
        let mut process = Process::start("painter", folder, &mut command)?;
        process.wait_until("the painter's first paint", START, || {
            paint_log::read(&log).is_ok_and(|paints| !paints.is_empty())
        })?;
        Ok(Self {
            _process: process,
            log,
        })
    }

    /// All paints so far.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn paints(&self) -> anyhow::Result<Vec<Paint>> {
        paint_log::read(&self.log)
    }
}

/// A terminal in the upper left corner, whose lines go into a file.
#[derive(Debug)]
pub struct Terminal {
    _process: Process,
    lines: PathBuf,
}

impl Terminal {
    /// Starts one on `desktop` and returns when it takes lines.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start(folder: &Path, desktop: &Desktop) -> anyhow::Result<Self> {
        let lines = folder.join("lines");
        let mut command = Command::new("xterm");
        command
            .args(["-geometry", "60x20+0+0", "-e", "sh", "-c"])
            .arg("exec cat > \"$LINES_FILE\"")
            .env("LINES_FILE", &lines)
            .env("DISPLAY", format!(":{}", desktop.display));
        let mut process = Process::start("xterm", folder, &mut command)?;
        process.wait_until("the terminal", START, || lines.exists())?;
        Ok(Self {
            _process: process,
            lines,
        })
    }

    /// Waits until somebody has typed `line`.
    ///
    /// # Errors
    /// When nobody does.
    pub fn wait_for(&mut self, line: &str) -> anyhow::Result<()> {
        wait_for(line, START, || {
            let text = std::fs::read_to_string(&self.lines)?;
            Ok(text.lines().any(|typed| typed == line).then_some(()))
        })
    }
}
