//! A display, what draws on it, and the processes behind it, ended with the test.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{clock::wait_for, screenshot::Screenshot};

/// Processes that end with the test.
#[derive(Default)]
pub(crate) struct Processes(Vec<Child>);

impl Processes {
    pub(crate) fn spawn(&mut self, command: &mut Command) {
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = quiet
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} must be installed: {error}"));
        self.0.push(child);
    }

    /// Ends them, as a machine would that shuts down.
    pub(crate) fn end(&mut self) {
        for process in &mut self.0 {
            let id = process.id().to_string();
            let sent = Command::new("kill")
                .args(["-TERM", &id])
                .stderr(Stdio::null())
                .status();
            assert!(sent.is_ok());
        }
        for mut process in self.0.drain(..) {
            let ended = (0..100).any(|_| {
                let ended = process.try_wait().is_ok_and(|status| status.is_some());
                if !ended {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                ended
            });
            if !ended {
                process.kill().ok();
                process.wait().ok();
            }
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end();
    }
}

/// A display of TigerVNC's server, and the programs that draw on it.
pub(crate) struct Desktop {
    number: u16,
    processes: Processes,
}

impl Desktop {
    /// A display of a size like `1280x800`, on which a busy picture is drawn.
    pub(crate) fn open(number: u16, size: &str) -> Self {
        let mut desktop = Self::bare(number, size);
        desktop.draw();
        desktop
    }

    /// The same, on which nothing is drawn.
    pub(crate) fn bare(number: u16, size: &str) -> Self {
        let mut desktop = Self {
            number,
            processes: Processes::default(),
        };
        let (display, port) = (desktop.display(), desktop.vnc_port().to_string());
        let mut command = Command::new("Xvnc");
        command.args([
            &display,
            "-rfbport",
            &port,
            "-geometry",
            size,
            "-depth",
            "24",
        ]);
        command.args(["-localhost", "-interface", "127.0.0.1", "-AlwaysShared"]);
        command.args(["-nolisten", "tcp", "-SecurityTypes", "None"]);
        desktop.processes.spawn(&mut command);
        wait_for("the X server", || {
            desktop.try_run(&["xdotool", "getmouselocation"])
        });
        desktop
    }

    pub(crate) fn display(&self) -> String {
        format!(":{}", self.number)
    }

    pub(crate) const fn vnc_port(&self) -> u16 {
        5900 + self.number
    }

    pub(crate) const fn rdp_port(&self) -> u16 {
        3370 + self.number
    }

    /// Runs a program on the display to its end and gives back what it wrote.
    pub(crate) fn run(&self, command: &[&str]) -> Vec<u8> {
        self.try_run(command)
            .unwrap_or_else(|| panic!("{command:?} failed"))
    }

    fn try_run(&self, command: &[&str]) -> Option<Vec<u8>> {
        let output = self.command(command).output();
        let output =
            output.unwrap_or_else(|error| panic!("{command:?} must be installed: {error}"));
        output.status.success().then_some(output.stdout)
    }

    fn command(&self, command: &[&str]) -> Command {
        let (program, arguments) = command.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env("DISPLAY", self.display());
        command
    }

    /// Copies the text in `file`, as a program does that lets others paste it.
    pub(crate) fn copy(&mut self, file: &Path) {
        let file = file.to_str().unwrap();
        let owner = ["xclip", "-quiet", "-selection", "clipboard", "-in", file];
        let mut owner = self.command(&owner);
        self.processes.spawn(&mut owner);
    }

    /// What a program pastes, if there is something.
    pub(crate) fn pasted(&self) -> Option<Vec<u8>> {
        self.try_run(&["xclip", "-selection", "clipboard", "-out"])
    }

    /// Opens what writes a typed line into `file`, in the lower left corner.
    pub(crate) fn type_into(&mut self, file: &Path) {
        let script = format!("head -n 1 > {}; exec sleep 1000", file.display());
        let xterm = ["xterm", "-geometry", "40x8+0-0", "-e", "sh", "-c", &script];
        let mut xterm = self.command(&xterm);
        self.processes.spawn(&mut xterm);
        wait_for("what listens", || file.exists().then_some(()));
    }

    /// A patterned ground, text in colours, a gradient, and the pointer out of the way.
    fn draw(&mut self) {
        self.run(&[
            "xsetroot", "-mod", "7", "5", "-fg", "#3366aa", "-bg", "#102030",
        ]);
        let text = "for i in $(seq 30); do printf '\\033[3%dm line %d of the text ' $((i % 8)) $i; \
                    done; exec sleep 1000";
        let gradient = "for i in $(seq 0 255); do printf '\\033[48;2;%d;%d;99m ' $i $((255 - i)); \
                        done; exec sleep 1000";
        for (place, script) in [("90x20+37+51", text), ("70x12+501+333", gradient)] {
            let xterm = ["xterm", "-geometry", place, "-e", "sh", "-c", script];
            let mut xterm = self.command(&xterm);
            self.processes.spawn(&mut xterm);
        }
        self.run(&["xdotool", "mousemove", "10000", "10000"]);
        wait_for("the picture", || {
            (Screenshot::take(self).colours() > 60).then_some(())
        });
    }
}
