//! Each encoding and each pixel format by itself, as real servers write it.

use capture::{Point, pixels::PixelFormat};
use capture_vnc::{Config, Encoding};

use crate::{
    machine::VncMachine,
    machines::{Qemu, X11},
    recorder::Recorder,
};

const EACH: [Encoding; 4] = [
    Encoding::Raw,
    Encoding::Hextile,
    Encoding::Tight,
    Encoding::Zrle,
];

/// One machine, looked at in each of these ways: the picture must be the screen's, also after it
/// changed.
fn check(machine: &mut dyn VncMachine, configs: impl IntoIterator<Item = (Config, [u8; 3])>) {
    let size = machine.screenshot().size;
    let [x, y] = [size.w - 1, size.h - 1].map(|at| i32::try_from(at).unwrap());
    let corner = Point { x, y };
    machine.point(corner);
    for (scene, (config, tolerance)) in (1..).zip(configs) {
        println!("{config:?}");
        let mut recorder = Recorder::new(machine.connect_with(config));
        recorder.record_until_near(machine, Some(corner), tolerance);
        machine.paint(scene % 9);
        recorder.record_until_near(machine, Some(corner), tolerance);
    }
}

/// A server that does not compare what changed with what was: when windows move, its comparison
/// may lose rows of a few pixels, whatever the encoding, until all is asked for again.
fn xvnc(number: u16, depth: &str) -> X11 {
    X11::xvnc(number, depth, &["-CompareFB", "0"])
}

fn alone(encodings: &[Encoding]) -> Config {
    Config {
        encodings: encodings.to_vec(),
        ..Config::default()
    }
}

fn each_alone() -> [(Config, [u8; 3]); 4] {
    EACH.map(|encoding| (alone(&[encoding]), [0; 3]))
}

/// As the machine has its pixels, in each encoding.
fn own_format() -> [(Config, [u8; 3]); 4] {
    EACH.map(|encoding| {
        let config = Config {
            pixel_format: None,
            ..alone(&[encoding])
        };
        (config, [0; 3])
    })
}

#[test]
fn peer_xvnc_each_encoding_alone_is_exact() {
    check(&mut xvnc(67, "24"), each_alone());
}

/// Pictures of text and gradients, at the best quality, are near but not equal.
#[test]
fn peer_xvnc_jpeg_is_near() {
    let jpeg = alone(&[Encoding::Tight, Encoding::Jpeg(9)]);
    check(&mut xvnc(67, "24"), [(jpeg, [48; 3])]);
}

#[test]
fn peer_x11vnc_each_encoding_alone_is_exact() {
    check(&mut X11::x11vnc(68, "24", &[]), each_alone());
}

/// In its own format only: QEMU keeps the maximum of a colour in eight bits, takes ten bits a colour
/// for eight, and then writes Tight's pixels in three bytes where its client must expect four.
#[test]
fn peer_qemu_each_encoding_alone_is_exact() {
    check(&mut Qemu::start(69), each_alone());
}

/// Formats asked of a server that has another, in each encoding that writes pixels its own way.
#[test]
fn peer_xvnc_each_pixel_format_is_exact_within_its_depth() {
    let formats = [
        PixelFormat::of_true_colour(32, 24, [255; 3], [0, 8, 16]),
        PixelFormat::BGRX.in_big_endian(),
        PixelFormat::of_true_colour(16, 16, [31, 63, 31], [11, 5, 0]),
        PixelFormat::of_true_colour(16, 15, [31; 3], [10, 5, 0]).in_big_endian(),
        PixelFormat::of_true_colour(8, 8, [7, 7, 3], [0, 3, 6]),
    ];
    let encodings = [Encoding::Zrle, Encoding::Tight, Encoding::Hextile];
    let configs = formats.into_iter().flat_map(|format| {
        encodings.map(|encoding| {
            let config = Config {
                pixel_format: Some(format),
                ..alone(&[encoding])
            };
            let half_a_step = |max: u16| u8::try_from(255_u16.div_ceil(2 * max)).unwrap();
            (config, format.max.map(half_a_step))
        })
    });
    check(&mut xvnc(67, "24"), configs);
}

/// What a server of 16 bits sends when nothing else is asked for.
#[test]
fn peer_xvnc_own_16_bits_are_taken_as_they_are() {
    check(&mut xvnc(67, "16"), own_format());
}

/// A server of 8 bits sends its palette, and says when it changes. Xvnc has no screen of that depth.
#[test]
fn peer_x11vnc_own_palette_is_taken_as_it_is() {
    check(&mut X11::x11vnc(68, "8", &[]), own_format());
}

#[test]
fn peer_x11vnc_own_16_bits_are_taken_as_they_are() {
    check(&mut X11::x11vnc(68, "16", &[]), own_format());
}
