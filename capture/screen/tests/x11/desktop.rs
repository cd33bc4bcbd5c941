//! A real X server on a display of its own, ended with the test.

use std::{
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A display and its X server.
pub(crate) struct Desktop {
    pub(crate) display: String,
    server: Child,
}

impl Desktop {
    /// A plain X server without a screen to look at.
    pub(crate) fn xvfb(number: u16, options: &[&str]) -> Self {
        let size = ["-screen", "0", "800x600x24", "-nolisten", "tcp"];
        Self::start(number, "Xvfb", &[&size, options].concat())
    }

    /// TigerVNC's server, without VNC clients.
    pub(crate) fn xvnc(number: u16) -> Self {
        let port = (5900 + number).to_string();
        let options = ["-geometry", "800x600", "-rfbport", &port, "-localhost"];
        let open = ["-SecurityTypes", "None", "-nolisten", "tcp"];
        Self::start(number, "Xvnc", &[options.as_slice(), &open].concat())
    }

    fn start(number: u16, program: &str, options: &[&str]) -> Self {
        let display = format!(":{number}");
        let server = Command::new(program)
            .arg(&display)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} must be installed: {error}"));
        let desktop = Self { display, server };
        let socket = format!("/tmp/.X11-unix/X{number}");
        wait_for("the X server", || UnixStream::connect(&socket).is_ok());
        desktop
    }

    /// Runs a program on the display to its end.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) {
        let status = Command::new(program)
            .args(arguments)
            .env("DISPLAY", &self.display)
            .status()
            .unwrap_or_else(|error| panic!("{program} must be installed: {error}"));
        assert!(status.success(), "{program} {arguments:?}: {status}");
    }

    pub(crate) fn xdotool(&self, arguments: &[&str]) {
        self.run("xdotool", arguments);
    }

    /// Ends the X server at once.
    pub(crate) fn kill(&mut self) {
        self.server.kill().expect("the X server runs");
        self.server.wait().expect("the X server ends");
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        // Asked rather than killed, it removes its lock.
        let id = self.server.id().to_string();
        Command::new("kill").arg(&id).status().ok();
        let ended = || matches!(self.server.try_wait(), Ok(Some(_)));
        if !try_for(Duration::from_secs(5), ended) {
            self.server.kill().ok();
            self.server.wait().ok();
        }
    }
}

/// Waits until `condition` holds.
pub(crate) fn wait_for(what: &str, condition: impl FnMut() -> bool) {
    assert!(
        try_for(Duration::from_secs(20), condition),
        "waiting for {what}"
    );
}

fn try_for(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    const STEP: Duration = Duration::from_millis(20);
    let steps = limit.as_millis() / STEP.as_millis();
    (0..steps).any(|_| {
        let holds = condition();
        if !holds {
            std::thread::sleep(STEP);
        }
        holds
    })
}
