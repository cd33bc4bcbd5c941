//! Who drives a machine over RDP? `xfreerdp`, in a window on a display of its own, under hands that
//! type and point there.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::clock::{utc_ms, wait_for};
use crate::desktop::{Desktop, free_display};
use crate::process::Process;

const START: Duration = Duration::from_secs(60);

/// A display with nothing on it, for a client's window.
///
/// # Errors
/// When none is free or it does not come up.
pub fn screen(folder: &Path, layout: &str) -> anyhow::Result<Desktop> {
    // Without a client, a server that resets would forget its keyboard's layout.
    let options = ["-SecurityTypes", "None", "-noreset"];
    let screen = Desktop::start_with(folder, free_display()?, (1400, 1000), &options)?;
    screen.run("setxkbmap", &[layout])?;
    Ok(screen)
}

/// What a client is told about the server it connects to.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// Where it is.
    pub address: SocketAddr,
    /// The SHA-256 of the certificate that is believed.
    pub certificate: &'a str,
    /// Who signs in, and with which password.
    pub user: (&'a str, &'a str),
}

/// A running client.
#[derive(Debug)]
pub struct RdpClient<'a> {
    /// The client, to be killed, or waited for.
    pub process: Process,
    screen: &'a Desktop,
    window: String,
}

impl<'a> RdpClient<'a> {
    /// Starts one that shows `server` on `screen`, and returns when it has a window, which is when it
    /// has a desktop.
    ///
    /// # Errors
    /// When that does not happen.
    pub fn start(folder: &Path, screen: &'a Desktop, server: Server<'_>) -> anyhow::Result<Self> {
        let mut process = Self::launch(folder, screen, server)?;
        let mut window = String::new();
        process.wait_until("the client's window", START, || {
            let found = ["search", "--onlyvisible", "--name", "^FreeRDP"];
            window = xdotool(screen, &found).unwrap_or_default();
            !window.is_empty()
        })?;
        let client = Self {
            process,
            screen,
            window,
        };
        client.hands(&["windowmove", "--sync", &client.window, "0", "0"])?;
        client.hands(&["windowfocus", "--sync", &client.window])?;
        Ok(client)
    }

    /// Starts one, whatever becomes of it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn launch(folder: &Path, screen: &Desktop, server: Server<'_>) -> anyhow::Result<Process> {
        let Server {
            address,
            certificate,
            user: (user, password),
        } = server;
        let pairs = certificate.as_bytes().chunks(2);
        let pairs: Vec<_> = pairs.map(String::from_utf8_lossy).collect();
        let mut command = Command::new("xfreerdp");
        command
            .env("HOME", folder)
            .env("DISPLAY", format!(":{}", screen.display))
            .arg(format!("/v:{address}"))
            .arg(format!("/u:{user}"))
            .arg(format!("/p:{password}"))
            .arg(format!("/cert:fingerprint:sha256:{}", pairs.join(":")));
        Process::start("xfreerdp", folder, &mut command)
    }

    /// Types a text, and gives back between which moments, in ms since 1970.
    ///
    /// # Errors
    /// When the display is gone.
    pub fn text(&self, text: &str) -> anyhow::Result<(u64, u64)> {
        self.hands(&["type", "--delay", "20", text])
    }

    /// Presses and releases a key, by its name.
    ///
    /// # Errors
    /// When the display is gone.
    pub fn tap(&self, key: &str) -> anyhow::Result<(u64, u64)> {
        self.hands(&["key", key])
    }

    /// Clicks there on the machine's desktop, with the left button.
    ///
    /// # Errors
    /// When the display is gone.
    pub fn click(&self, (x, y): (u16, u16)) -> anyhow::Result<(u64, u64)> {
        let at = [x.to_string(), y.to_string()];
        self.hands(&["mousemove", "--window", &self.window, &at[0], &at[1]])?;
        self.hands(&["click", "1"])
    }

    /// Turns the wheel down by a step.
    ///
    /// # Errors
    /// When the display is gone.
    pub fn wheel_down(&self) -> anyhow::Result<(u64, u64)> {
        self.hands(&["click", "5"])
    }

    /// Takes the window off the screen, or puts it there again.
    ///
    /// # Errors
    /// When the display is gone.
    pub fn show(&self, shown: bool) -> anyhow::Result<()> {
        let what = if shown { "windowmap" } else { "windowunmap" };
        self.hands(&[what, "--sync", &self.window])?;
        Ok(())
    }

    fn hands(&self, act: &[&str]) -> anyhow::Result<(u64, u64)> {
        let from = utc_ms();
        xdotool(self.screen, act)?;
        Ok((from, utc_ms()))
    }
}

fn xdotool(screen: &Desktop, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("xdotool")
        .args(arguments)
        .env("DISPLAY", format!(":{}", screen.display))
        .output()
        .context("xdotool")?;
    ensure!(output.status.success(), "xdotool {arguments:?}: {output:?}");
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().last().unwrap_or_default().to_owned())
}

/// Waits for the end of a client that is not let in, and gives what it says.
///
/// # Errors
/// When it does not end.
pub fn refused(mut client: Process, folder: &Path) -> anyhow::Result<String> {
    client.wait(START)?;
    wait_for("what the client says", START, || {
        let said = ["xfreerdp.out", "xfreerdp.log"].map(|file| {
            let text = std::fs::read_to_string(folder.join(file));
            text.unwrap_or_default()
        });
        let said = said.concat();
        Ok((!said.is_empty()).then_some(said))
    })
}
