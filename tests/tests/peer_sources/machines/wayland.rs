//! A Wayland desktop without a monitor: sway, and wayvnc (neatvnc) that looks at it.

use std::{
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use capture::{Point, Size};
use capture_vnc::Config;
use image::{Rgb, RgbImage};
use pipeline_tests::{certificate::Certificate, process::Process};
use tempfile::TempDir;

use super::VncLink;
use crate::{
    machine::{Machine, VncMachine},
    recorder::Link,
    screenshot::Screenshot,
};

const START: Duration = Duration::from_secs(20);
/// sway refuses to run as root. This user has nothing that it could need.
const NOBODY: u32 = 65_534;

pub(crate) struct Wayland {
    pub(crate) port: u16,
    size: Size,
    server: Process,
    _compositor: Process,
    folder: TempDir,
}

impl Wayland {
    pub(crate) fn start(port: u16) -> Self {
        Self::start_with(port, &[], |_| String::new())
    }

    /// One that paints its pointer, which wayvnc does when asked.
    /// Its screen is of one colour, written as in HTML.
    pub(crate) fn with_pointer(port: u16, colour: &str) -> Self {
        let machine = Self::start_with(port, &["--render-cursor"], |_| String::new());
        machine.show(colour);
        machine
    }

    /// One that lets nobody in but `user`, and shows this certificate.
    pub(crate) fn secured(
        port: u16,
        (user, password): (&str, &str),
        certificate: &Certificate,
    ) -> Self {
        Self::start_with(port, &[], |folder| {
            let (cert, key) = certificate.files();
            let [cert, key] = [(cert, "cert.pem"), (key, "key.pem")].map(|(from, name)| {
                let to = folder.join(name);
                std::fs::copy(from, &to).unwrap();
                own(&to);
                to.to_string_lossy().into_owned()
            });
            format!(
                "enable_auth=true\nusername={user}\npassword={password}\n\
                 certificate_file={cert}\nprivate_key_file={key}\n"
            )
        })
    }

    fn start_with(port: u16, options: &[&str], settings: impl FnOnce(&Path) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path(), private).unwrap();
        own(folder.path());
        let server_settings = settings(folder.path());
        let size = Size::new(801, 601);
        let settings = folder.path().join("config");
        let output = format!("output HEADLESS-1 resolution {size}\n", size = sides(size));
        std::fs::write(&settings, output + "default_border none\n").unwrap();
        let mut command = inside(folder.path(), "sway");
        command
            .env("WLR_BACKENDS", "headless")
            .env("WLR_LIBINPUT_NO_DEVICES", "1")
            .env("WLR_RENDERER", "pixman")
            .arg("-c")
            .arg(&settings);
        let mut compositor = start("sway", &folder, &mut command);
        let up = || socket(folder.path()).is_some() && folder.path().join("wayland-1").exists();
        compositor.wait_until("sway", START, up).unwrap();
        let mut command = inside(folder.path(), "wayvnc");
        if !server_settings.is_empty() {
            let file = folder.path().join("wayvnc");
            std::fs::write(&file, server_settings).unwrap();
            command.arg("-C").arg(file);
        }
        command.args(options).args(["127.0.0.1", &port.to_string()]);
        let mut server = start("wayvnc", &folder, &mut command);
        let answers = || VncLink::answers(port);
        server.wait_until("wayvnc", START, answers).unwrap();
        Self {
            port,
            size,
            server,
            _compositor: compositor,
            folder,
        }
    }

    fn show(&self, colour: &str) {
        self.sway(&["output", "*", "bg", colour, "solid_color"]);
        self.settle();
    }

    fn sway(&self, words: &[&str]) {
        let done = inside(self.folder.path(), "swaymsg")
            .arg("-q")
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    }
}

/// Gives `path` to the desktop's user.
fn own(path: &Path) {
    if rustix::process::getuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// A command that runs as the desktop's user, with its sockets.
fn inside(folder: &Path, program: &str) -> Command {
    let mut command = if rustix::process::getuid().is_root() {
        let mut command = Command::new("setpriv");
        let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
        command.args([&user, &group, "--clear-groups", "--", program]);
        command
    } else {
        Command::new(program)
    };
    command
        .env("XDG_RUNTIME_DIR", folder)
        .env("HOME", folder)
        .env("WAYLAND_DISPLAY", "wayland-1");
    if let Some(socket) = socket(folder) {
        command.env("SWAYSOCK", socket);
    }
    command
}

fn socket(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    paths.find(|path| {
        path.extension()
            .is_some_and(|extension| extension == "sock")
    })
}

fn start(name: &str, folder: &TempDir, command: &mut Command) -> Process {
    Process::start(name, folder.path(), command)
        .unwrap_or_else(|error| panic!("{error:#}: packages.txt lists {name}"))
}

fn sides(Size { w, h }: Size) -> String {
    format!("{w}x{h}")
}

impl VncMachine for Wayland {
    fn connect_with(&self, config: Config) -> Box<dyn Link> {
        Box::new(VncLink::connect(self.port, config))
    }
}

impl Machine for Wayland {
    fn connect(&self) -> Box<dyn Link> {
        self.connect_with(Config::default())
    }

    fn screenshot(&self) -> Screenshot {
        let shown = inside(self.folder.path(), "grim")
            .args(["-t", "ppm", "-"])
            .output()
            .unwrap();
        assert!(shown.status.success(), "{shown:?}: packages.txt lists grim");
        Screenshot::of_ppm(&shown.stdout)
    }

    fn paint(&mut self, scene: u8) {
        let byte = |value: u32| u8::try_from(value % 256).unwrap();
        let picture = RgbImage::from_fn(self.size.w, self.size.h, |x, y| {
            let scene = u32::from(scene) * 31;
            Rgb([byte(x ^ y), byte(x + scene), byte(y * 3 + scene)])
        });
        let file = self.folder.path().join(format!("scene-{scene}.png"));
        picture.save(&file).unwrap();
        self.sway(&["output", "*", "bg", file.to_str().unwrap(), "fill"]);
        self.settle();
    }

    fn blacken(&mut self) {
        self.show("#000000");
    }

    fn burst(&mut self) {
        for scene in 20..32_u32 {
            let colour = format!("#{:06x}", scene * 0x7_1234 % 0xff_ffff);
            self.sway(&["output", "*", "bg", &colour, "solid_color"]);
        }
    }

    fn sizes(&self) -> Vec<Size> {
        vec![Size::new(1024, 768), Size::new(803, 599)]
    }

    fn resize(&mut self, size: Size) {
        self.size = size;
        self.sway(&["output", "*", "resolution", &sides(size)]);
    }

    fn point(&mut self, Point { x, y }: Point) {
        let [x, y] = [x, y].map(|at| at.to_string());
        self.sway(&["seat", "seat0", "cursor", "set", &x, &y]);
    }

    fn server(&mut self) -> &mut Process {
        &mut self.server
    }
}
