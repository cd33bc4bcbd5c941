//! Is the pointer in the record once, and where it is, when a driver moves it through the proxy?
//! Servers differ in who draws it: the record must not.

use capture_vnc::Config;
use pipeline_tests::{
    desktop::Desktop,
    driver::Driver,
    marks::Marks,
    picture::Picture,
    playhead::{Home, Proxy, Server},
};

use crate::{
    machines::{Qemu, VncLink, Wayland, qemu},
    recorder::Recorder,
};

type Place = (u16, u16);

/// Inside each machine's screen, far enough from each other.
const PLACES: [Place; 3] = [(300, 200), (40, 350), (500, 30)];
/// How far a colour must be off to be another one.
const FAR_OFF: u8 = 80;

/// It paints no pointer and hands out its shape; where it is, only the proxy knows.
#[test]
fn peer_qemu_s_pointer_is_where_the_driver_has_it() {
    let machine = Qemu::with_pointer(67);
    let side_px = usize::try_from(qemu::POINTER_PX).unwrap();
    let pointer = Pointer {
        // The rest of the screen is black and white, whatever a codec makes of it.
        has: |[r, g, b]| g.saturating_add(FAR_OFF) < r.min(b),
        before_px: 0,
        after_px: side_px,
        area_px: side_px * side_px / 2,
    };
    check(machine.port, &pointer, false);
}

/// It paints a pointer that moved through another connection, and hands out an empty shape.
#[test]
fn peer_xvnc_s_pointer_is_drawn_once_for_a_driver() {
    let folder = tempfile::tempdir().unwrap();
    let desktop = Desktop::start(folder.path(), (640, 480)).unwrap();
    desktop
        .run("xsetroot", &["-solid", PLAIN, "-cursor_name", "left_ptr"])
        .unwrap();
    check(desktop.address().port(), &PAINTED, true);
}

/// It paints every pointer, if it is to show any, and hands nothing out.
#[test]
fn peer_wayvnc_s_pointer_is_drawn_once_for_a_driver() {
    let machine = Wayland::with_pointer(5968, PLAIN);
    check(machine.port, &PAINTED, true);
}

/// A screen without anything on it.
const PLAIN: &str = "#22344f";

/// What servers paint on it.
const PAINTED: Pointer = Pointer {
    has: |[_, g, _]| 0x34u8.abs_diff(g) > FAR_OFF,
    before_px: 24,
    after_px: 24,
    area_px: 5,
};

/// How a pointer is told from the rest of a picture.
struct Pointer {
    /// Whether it has pixels of this colour, in red, green and blue, and nothing else has.
    has: fn([u8; 3]) -> bool,
    /// How far it reaches from its hot spot, to the left and upwards, to the right and downwards.
    before_px: usize,
    after_px: usize,
    /// How many such pixels it has at least.
    area_px: usize,
}

impl Pointer {
    /// Whether it is in a picture once and `at` that place.
    fn is_in(&self, pixels: impl Iterator<Item = [u8; 3]>, width_px: usize, at: Place) -> bool {
        let near = |place: u16, px: usize| {
            let hot_spot = usize::from(place);
            // A codec smears colours over a pixel or two.
            hot_spot <= px + self.before_px + 2 && px <= hot_spot + self.after_px + 2
        };
        let of_it = pixels.enumerate().filter(|(_, pixel)| (self.has)(*pixel));
        let mut shown_px = 0;
        let nowhere_else = of_it.map(|(px, _)| px).all(|px| {
            shown_px += 1;
            near(at.0, px % width_px) && near(at.1, px / width_px)
        });
        nowhere_else && self.area_px <= shown_px
    }
}

/// Drives the machine at `port` and looks for the pointer in what is recorded of each place. One
/// that is `painted` by the server is there once the server says so to others as well.
fn check(port: u16, pointer: &Pointer, painted: bool) {
    let home = Home::new().unwrap();
    let socket = home.path().join("marks.sock");
    let marks = format!("unix:{}", socket.display());
    let options = ["--once", "--marks", &marks];
    let url = format!("vnc://127.0.0.1:{port}");
    let mut proxy = Proxy::start(&home, &url, &options).unwrap();
    let listening = proxy.events("listening").unwrap();
    assert_eq!(listening[0]["upstream"], "shared");
    let mut driver = Driver::connect(proxy.address, None).unwrap();
    driver.ignore_pictures().unwrap();
    let mut marks = Marks::at_socket(&socket).unwrap();
    let mut other = Recorder::new(Box::new(VncLink::connect(port, Config::default())));
    let seen = PLACES.map(|at| {
        driver.pointer(at, 0).unwrap();
        if painted {
            other.record_until("the painted pointer", |other| {
                let screen = &other.screen;
                let pixels = screen.bgrx().as_chunks::<4>().0.iter();
                let pixels = pixels.map(|&[b, g, r, _]| [r, g, b]);
                pointer.is_in(pixels, screen.size().w.try_into().unwrap(), at)
            });
        }
        // Answered when the picture is proven as of then, which comes after the pointer.
        let told = marks.tell("moved").unwrap();
        (at, told["t"].as_u64().unwrap())
    });
    drop(driver);
    proxy.wait_for("ended", 1).unwrap();

    let server = Server::start(&home).unwrap();
    let session = server.only_session().unwrap();
    for (at, t) in seen {
        let frame = session.get(&format!("/frame?format=png&t={t}")).unwrap();
        let frame = Picture::of(&frame).unwrap();
        let pixels = frame.rgb.as_chunks::<3>().0.iter().copied();
        let alone = pointer.is_in(pixels, frame.width_px, at);
        assert!(alone, "no pointer at {at:?}, or another one");
    }
}
