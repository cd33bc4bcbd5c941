//! X displays: TigerVNC's own server, and x11vnc (LibVNCServer) that looks at a plain one.

use std::{process::Command, time::Duration};

use capture::{Point, Size};
use capture_vnc::Config;
use pipeline_tests::process::Process;
use tempfile::TempDir;

use super::VncLink;
use crate::{
    machine::{Machine, VncMachine},
    recorder::Link,
    screenshot::Screenshot,
};

const START: Duration = Duration::from_secs(20);
/// Every display's size at first. Both sides are odd.
const SIZE: &str = "801x601";

/// A display, the servers that make it, and the programs that draw on it.
pub(crate) struct X11 {
    number: u16,
    sizes: Vec<Size>,
    // Servers last: what draws on them ends first, and they remove their locks.
    programs: Vec<Process>,
    server: Process,
    _display: Option<Process>,
    folder: TempDir,
}

impl X11 {
    /// TigerVNC's server, without a password unless `options` say otherwise.
    pub(crate) fn xvnc(number: u16, depth: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (display, port) = (format!(":{number}"), 5900 + number);
        let mut command = Command::new("Xvnc");
        command
            .args([&display, "-rfbport", &port.to_string(), "-geometry", SIZE])
            .args(["-localhost", "-interface", "127.0.0.1", "-AlwaysShared"])
            .args(["-nolisten", "tcp", "-depth", depth])
            .args(["-SecurityTypes", "None"])
            .args(options);
        let server = start("Xvnc", &folder, &mut command);
        let sizes = vec![Size::new(1024, 768), Size::new(1366, 767)];
        Self::up(number, sizes, server, None, folder)
    }

    /// A plain X server with x11vnc looking at it.
    pub(crate) fn x11vnc(number: u16, depth: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (display, port) = (format!(":{number}"), 5900 + number);
        let mut command = Command::new("Xvfb");
        let screen = format!("{SIZE}x{depth}");
        command.args([&display, "-screen", "0", &screen, "-nolisten", "tcp"]);
        let mut x_server = start("Xvfb", &folder, &mut command);
        let answers = || run(number, &["xdotool", "getmouselocation"]).is_some();
        x_server.wait_until("Xvfb", START, answers).unwrap();
        let mut command = Command::new("x11vnc");
        command
            .args(["-display", &display, "-rfbport", &port.to_string()])
            .args(["-localhost", "-nopw", "-shared", "-forever", "-noxrecord"])
            .args(options);
        let server = start("x11vnc", &folder, &mut command);
        // Xvfb makes its screen smaller only, and x11vnc must be told to look at its size.
        Self::up(number, Vec::new(), server, Some(x_server), folder)
    }

    fn up(
        number: u16,
        sizes: Vec<Size>,
        server: Process,
        display: Option<Process>,
        folder: TempDir,
    ) -> Self {
        let mut desktop = Self {
            number,
            sizes,
            programs: Vec::new(),
            server,
            _display: display,
            folder,
        };
        let answers = || {
            VncLink::answers(5900 + number)
                && run(number, &["xdotool", "getmouselocation"]).is_some()
        };
        desktop
            .server
            .wait_until("the server", START, answers)
            .unwrap();
        let text = "for i in $(seq 30); do printf '\\033[3%dm line %d of the text ' $((i % 8)) $i; \
                    done; exec sleep 1000";
        desktop.open(&["xterm", "-geometry", "60x20+37+51", "-e", "sh", "-c", text]);
        desktop
    }

    pub(crate) const fn port(&self) -> u16 {
        5900 + self.number
    }

    /// Starts a program on the display; it ends with the desktop.
    fn open(&mut self, command: &[&str]) {
        let (program, arguments) = command.split_first().unwrap();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("DISPLAY", format!(":{}", self.number));
        let name = format!("{program}-{}", self.programs.len());
        self.programs.push(start(&name, &self.folder, &mut command));
    }

    /// Runs a program on the display to its end and gives back what it wrote.
    fn run(&self, command: &[&str]) -> Vec<u8> {
        run(self.number, command).unwrap_or_else(|| panic!("{command:?} failed"))
    }

    /// Moves the windows of text.
    fn move_windows(&self, place: &str) {
        let all = ["xdotool", "search", "--sync", "--class", "xterm"];
        let there = ["windowmove", "%@", place, place];
        self.run(&[all.as_slice(), there.as_slice()].concat());
    }
}

fn start(name: &str, folder: &TempDir, command: &mut Command) -> Process {
    Process::start(name, folder.path(), command)
        .unwrap_or_else(|error| panic!("{error:#}: is it installed? packages.txt lists it"))
}

fn run(number: u16, command: &[&str]) -> Option<Vec<u8>> {
    let (program, arguments) = command.split_first().unwrap();
    let output = Command::new(program)
        .args(arguments)
        .env("DISPLAY", format!(":{number}"))
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}: packages.txt lists it"));
    output.status.success().then_some(output.stdout)
}

impl VncMachine for X11 {
    fn connect_with(&self, config: Config) -> Box<dyn Link> {
        Box::new(VncLink::connect(self.port(), config))
    }
}

impl Machine for X11 {
    fn connect(&self) -> Box<dyn Link> {
        self.connect_with(Config::default())
    }

    fn screenshot(&self) -> Screenshot {
        Screenshot::of_xwd(&self.run(&["xwd", "-root", "-silent"]))
    }

    fn paint(&mut self, scene: u8) {
        let colour = format!("#{:02x}66aa", scene.wrapping_mul(37));
        let columns = (3 + scene % 9).to_string();
        self.run(&[
            "xsetroot", "-mod", &columns, "5", "-fg", &colour, "-bg", "#102030",
        ]);
        self.move_windows(&(30 + u16::from(scene) * 23 % 200).to_string());
    }

    fn blacken(&mut self) {
        self.move_windows("3000");
        self.run(&["xsetroot", "-solid", "#000000"]);
    }

    fn burst(&mut self) {
        let scrolling = "for i in $(seq 400); do echo $i $i $i; sleep 0.005; done; exec sleep 1000";
        let place = "50x30+300+100";
        self.open(&["xterm", "-geometry", place, "-e", "sh", "-c", scrolling]);
    }

    fn sizes(&self) -> Vec<Size> {
        self.sizes.clone()
    }

    fn resize(&mut self, Size { w, h }: Size) {
        let mode = format!("{w}x{h}");
        let (w, h) = (&*w.to_string(), &*h.to_string());
        // A mode that exists already is as good.
        run(
            self.number,
            &["xrandr", "--newmode", &mode, "0", w, w, w, w, h, h, h, h],
        );
        run(self.number, &["xrandr", "--addmode", "VNC-0", &mode]);
        self.run(&["xrandr", "--output", "VNC-0", "--mode", &mode]);
    }

    fn point(&mut self, Point { x, y }: Point) {
        let [x, y] = [x, y].map(|at| at.to_string());
        self.run(&["xdotool", "mousemove", &x, &y]);
    }

    fn server(&mut self) -> &mut Process {
        &mut self.server
    }
}
