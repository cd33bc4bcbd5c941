//! Each encoding and each pixel format by itself, as a real server writes it.

use capture::pixels::PixelFormat;
use capture_vnc::{Config, Encoding};

use crate::{desktop::Desktop, recorder::Recorder, screenshot::Tolerance};

/// One server, looked at in each of these ways: the picture must be the screen's, also after its
/// windows moved.
fn check(desktop: &mut Desktop, configs: impl IntoIterator<Item = (Config, Tolerance)>) {
    desktop.draw();
    let mut places = (0..).map(|i| (60 + i * 50 % 350).to_string());
    for (config, tolerance) in configs {
        let mut recorder = Recorder::connect(desktop, config);
        recorder.record_until_near(desktop, tolerance);
        let place = places.next().unwrap();
        let move_windows = ["xdotool", "search", "--class", "xterm", "windowmove"];
        desktop.run(&[move_windows.as_slice(), &[&place, &place]].concat());
        recorder.record_until_near(desktop, tolerance);
    }
}

/// A server that does not compare what changed with what was: when windows move, its comparison
/// may lose rows of a few pixels, whatever the encoding, until all is asked for again.
fn xvnc(number: u16, depth: &str) -> Desktop {
    Desktop::xvnc(number, &["-depth", depth, "-CompareFB", "0"])
}

fn alone(encodings: &[Encoding]) -> Config {
    Config {
        encodings: encodings.to_vec(),
        ..Config::default()
    }
}

fn each_alone() -> Vec<(Config, Tolerance)> {
    [
        Encoding::Raw,
        Encoding::Hextile,
        Encoding::Tight,
        Encoding::Zrle,
    ]
    .map(|encoding| (alone(&[encoding]), Tolerance::EXACT))
    .into()
}

#[test]
fn peer_xvnc_each_encoding_alone_is_exact() {
    let mut desktop = xvnc(160, "24");
    check(&mut desktop, each_alone());
}

/// Pictures of text and gradients, at the best quality, are near but not equal.
#[test]
fn peer_xvnc_jpeg_is_near() {
    let mut desktop = xvnc(161, "24");
    let jpeg = alone(&[Encoding::Tight, Encoding::Jpeg(9)]);
    check(&mut desktop, [(jpeg, Tolerance([48; 3]))]);
}

#[test]
fn peer_x11vnc_each_encoding_alone_is_exact() {
    let mut desktop = Desktop::x11vnc(162);
    check(&mut desktop, each_alone());
}

const fn true_colour(bits_per_pixel: u8, depth: u8, max: [u16; 3], shift: [u8; 3]) -> PixelFormat {
    PixelFormat {
        bits_per_pixel,
        depth,
        big_endian: false,
        true_colour: true,
        max,
        shift,
    }
}

/// Formats asked of a server that has another, in each encoding that writes pixels its own way.
#[test]
fn peer_xvnc_each_pixel_format_is_exact_within_its_depth() {
    let mut desktop = xvnc(163, "24");
    let big_endian = |format| PixelFormat {
        big_endian: true,
        ..format
    };
    let formats = [
        true_colour(32, 24, [255; 3], [0, 8, 16]),
        big_endian(PixelFormat::BGRX),
        big_endian(true_colour(32, 24, [255; 3], [8, 16, 24])),
        true_colour(16, 16, [31, 63, 31], [11, 5, 0]),
        big_endian(true_colour(16, 15, [31; 3], [10, 5, 0])),
        true_colour(8, 8, [7, 7, 3], [0, 3, 6]),
    ];
    let encodings = [Encoding::Zrle, Encoding::Tight, Encoding::Hextile];
    let configs = formats.into_iter().flat_map(|format| {
        encodings.map(|encoding| {
            let config = Config {
                pixel_format: Some(format),
                ..alone(&[encoding])
            };
            (config, Tolerance::half_a_step(format.max))
        })
    });
    check(&mut desktop, configs);
}

/// What a server of 16 bits sends when nothing else is asked for.
#[test]
fn peer_xvnc_own_format_is_taken_as_it_is() {
    let mut desktop = xvnc(164, "16");
    let own = Config {
        pixel_format: None,
        ..Config::default()
    };
    check(&mut desktop, [(own, Tolerance::EXACT)]);
}
