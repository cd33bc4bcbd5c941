//! Real servers on a display of their own, ended with the test.

use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use crate::{clock::wait_for, screenshot::Screenshot};

/// A display, the servers that make it, and the programs that draw on it.
pub(crate) struct Desktop {
    number: u16,
    processes: Vec<Child>,
}

impl Desktop {
    /// TigerVNC's server, without a password unless `options` say otherwise.
    pub(crate) fn xvnc(number: u16, options: &[&str]) -> Self {
        let mut desktop = Self {
            number,
            processes: Vec::new(),
        };
        let (display, port) = (desktop.display(), desktop.port().to_string());
        let mut command = Command::new("Xvnc");
        command.args([&display, "-rfbport", &port, "-geometry", "1280x800"]);
        command.args(["-localhost", "-interface", "127.0.0.1", "-AlwaysShared"]);
        command.args(["-nolisten", "tcp", "-SecurityTypes", "None"]);
        command.args(options);
        desktop.spawn(&mut command);
        desktop.wait_until_up();
        desktop
    }

    fn wait_until_up(&self) {
        wait_for("the VNC port", || {
            TcpStream::connect(("127.0.0.1", self.port())).ok()
        });
        wait_for("the X server", || {
            self.try_run(&["xdotool", "getmouselocation"])
        });
    }

    pub(crate) fn display(&self) -> String {
        format!(":{}", self.number)
    }

    pub(crate) const fn port(&self) -> u16 {
        5900 + self.number
    }

    fn spawn(&mut self, command: &mut Command) {
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = quiet
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} must be installed: {error}"));
        self.processes.push(child);
    }

    /// Starts a program on the display; it ends with the desktop.
    pub(crate) fn open(&mut self, command: &[&str]) {
        let mut program = self.command(command);
        self.spawn(&mut program);
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

    /// A busy picture: a patterned ground, text in colours, and the pointer out of the way.
    pub(crate) fn draw(&mut self) {
        self.run(&[
            "xsetroot", "-mod", "7", "5", "-fg", "#3366aa", "-bg", "#102030",
        ]);
        let text = "for i in $(seq 30); do printf '\\033[3%dm line %d of the text ' $((i % 8)) $i; \
                    done; exec sleep 1000";
        self.open(&["xterm", "-geometry", "90x20+37+51", "-e", "sh", "-c", text]);
        let gradient = "for i in $(seq 0 255); do printf '\\033[48;2;%d;%d;99m ' $i $((255 - i)); \
                        done; exec sleep 1000";
        self.open(&[
            "xterm",
            "-geometry",
            "70x12+501+333",
            "-e",
            "sh",
            "-c",
            gradient,
        ]);
        self.park_pointer();
        wait_for("the picture", || {
            (Screenshot::take(self).colours() > 60).then_some(())
        });
    }

    /// Moves the pointer into the corner that comparisons leave out.
    pub(crate) fn park_pointer(&self) {
        self.run(&["xdotool", "mousemove", "10000", "10000"]);
    }
}

fn signal_process(id: u32, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &id.to_string()])
        .stderr(Stdio::null())
        .status();
    assert!(sent.is_ok());
}

impl Drop for Desktop {
    fn drop(&mut self) {
        // Servers first: what draws on them then ends by itself, and they remove their locks.
        for process in &mut self.processes {
            signal_process(process.id(), "-TERM");
            signal_process(process.id(), "-CONT");
        }
        for process in &mut self.processes {
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
