//! Pixels of every format, as servers have them: the same bars, within the depth's rounding.

use capture::{Rect, Size, pixels::PixelFormat, source::SourceEvent};
use capture_vnc::{Config, Encoding, Error, limits};

use crate::{
    client::Client,
    server::{self, HEXTILE, Zlib, all, opening_as, rect, tight, update},
};

/// Eight bars of 16 by 16 pixels: two tiles of each kind there is.
const SIZE: Size = Size::new(128, 16);
const BAR_PX: u32 = 16;

/// Red, green and blue: the corners of the cube, then two that no small depth has.
const BARS: [[u8; 3]; 8] = [
    [0, 0, 0],
    [255, 255, 255],
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
    [255, 255, 0],
    [200, 100, 50],
    [13, 77, 211],
];

const BGR_233: PixelFormat = PixelFormat::of_true_colour(8, 8, [7, 7, 3], [0, 3, 6]);
const RGB_555: PixelFormat = PixelFormat::of_true_colour(16, 15, [31; 3], [10, 5, 0]);
const RGB_565: PixelFormat = PixelFormat::of_true_colour(16, 16, [31, 63, 31], [11, 5, 0]);
const RGBX: PixelFormat = PixelFormat::of_true_colour(32, 24, [255; 3], [0, 8, 16]);
const XBGR: PixelFormat = PixelFormat::of_true_colour(32, 24, [255; 3], [8, 16, 24]);
const RGB_30: PixelFormat = PixelFormat::of_true_colour(32, 30, [1023; 3], [20, 10, 0]);
const INDICES: PixelFormat = PixelFormat {
    true_colour: false,
    ..BGR_233
};

const FORMATS: [PixelFormat; 13] = [
    PixelFormat::BGRX,
    PixelFormat::BGRX.in_big_endian(),
    RGBX,
    RGBX.in_big_endian(),
    XBGR,
    XBGR.in_big_endian(),
    RGB_30,
    RGB_30.in_big_endian(),
    RGB_565,
    RGB_565.in_big_endian(),
    RGB_555,
    RGB_555.in_big_endian(),
    BGR_233,
];

/// A colour as the server writes it, in whole bytes.
fn pixel(format: PixelFormat, rgb: [u8; 3]) -> Vec<u8> {
    let channels = rgb.into_iter().zip(format.max).zip(format.shift);
    let number = channels.fold(0_u32, |number, ((value, max), shift)| {
        let scaled = (u32::from(value) * u32::from(max) + 127) / 255;
        number | scaled << shift
    });
    let bytes = format.bytes_per_pixel();
    if format.big_endian {
        number.to_be_bytes()[4 - bytes..].to_vec()
    } else {
        number.to_le_bytes()[..bytes].to_vec()
    }
}

/// As ZRLE writes it: without the byte that never carries colour.
fn compact(format: PixelFormat, rgb: [u8; 3]) -> Vec<u8> {
    let mut bytes = pixel(format, rgb);
    if bytes.len() == 4 && format.depth <= 24 {
        let upper = format.shift.iter().all(|&shift| shift >= 8);
        bytes.remove(if upper == format.big_endian { 3 } else { 0 });
        if !upper && !format.big_endian {
            bytes = pixel(format, rgb)[..3].to_vec();
        }
    }
    bytes
}

/// As Tight writes it.
fn tight_pixel(format: PixelFormat, rgb: [u8; 3]) -> Vec<u8> {
    if format.bits_per_pixel == 32 && format.depth == 24 {
        rgb.to_vec()
    } else {
        pixel(format, rgb)
    }
}

/// The bars in rows of pixels that `write` writes.
fn bars(write: impl Fn([u8; 3]) -> Vec<u8>) -> Vec<u8> {
    let row: Vec<u8> = BARS
        .iter()
        .flat_map(|&bar| write(bar).repeat(BAR_PX as usize))
        .collect();
    row.repeat(SIZE.h as usize)
}

/// The bars in each encoding.
fn rectangles(format: PixelFormat) -> Vec<(&'static str, Vec<u8>)> {
    let area = SIZE.rect();
    let whole = |bar| pixel(format, bar);
    let compact = |bar| compact(format, bar);
    let tight_pixel = |bar| tight_pixel(format, bar);
    let hextile: Vec<u8> = BARS
        .iter()
        .flat_map(|&bar| all(&[&[2], &whole(bar)]))
        .collect();
    // Four bars a tile: a palette of them, then a row of indices.
    let zrle: Vec<u8> = (BARS.chunks(4))
        .flat_map(|bars| {
            let palette = bars
                .iter()
                .flat_map(|&bar| compact(bar))
                .collect::<Vec<u8>>();
            let row = [0_u8, 0b0101_0101, 0b1010_1010, 0b1111_1111].map(|bar| [bar; 4]);
            all(&[&[4], &palette, &row.as_flattened().repeat(16)])
        })
        .collect();
    let runs: Vec<u8> = (BARS.chunks(4))
        .flat_map(|bars| {
            let row: Vec<u8> = bars
                .iter()
                .flat_map(|&bar| all(&[&compact(bar), &[15]]))
                .collect();
            all(&[&[128], &row.repeat(16)])
        })
        .collect();
    let palette: Vec<u8> = BARS.iter().flat_map(|&bar| tight_pixel(bar)).collect();
    let indices = [0_u8, 1, 2, 3, 4, 5, 6, 7].map(|bar| [bar; 16]);
    let indices = indices.as_flattened().repeat(16);
    let palette = all(&[&[0x40, 1, 7], &palette]);
    vec![
        ("raw", rect(area, server::RAW, &bars(whole))),
        ("hextile", rect(area, HEXTILE, &hextile)),
        ("zrle palette", Zlib::new().zrle(area, &zrle)),
        ("zrle runs", Zlib::new().zrle(area, &runs)),
        (
            "tight copy",
            tight(&mut Zlib::new(), area, &[0], &bars(tight_pixel)),
        ),
        (
            "tight palette",
            tight(&mut Zlib::new(), area, &palette, &indices),
        ),
    ]
}

fn connected(format: PixelFormat) -> Client {
    let config = Config {
        pixel_format: None,
        encodings: Encoding::EXACT.into(),
        ..Config::default()
    };
    let mut client = Client::new(config);
    client.hear(&opening_as(SIZE, format)).unwrap();
    client.events();
    let sent = client.sent();
    assert_eq!(sent[14..18], [2, 0, 0, 8], "no pixel format is set");
    client
}

/// The picture must be the bars, each channel within half a step of its depth.
fn check_bars(what: &str, client: &Client, max: [u16; 3]) {
    for (bar, rgb) in (0..).zip(BARS) {
        for (x, y) in [(0, 0), (15, 0), (7, 9), (15, 15)] {
            let [b, g, r] = client.pixel(bar * BAR_PX + x, y);
            for ((seen, shown), max) in [r, g, b].into_iter().zip(rgb).zip(max) {
                let off = u32::from(seen.abs_diff(shown));
                // Twice the distance, in steps of the depth, at most one.
                assert!(
                    2 * off * u32::from(max) <= 255 + u32::from(max),
                    "{what}: {seen} {shown}"
                );
                let exact = shown == 0 || shown == 255 || max >= 255;
                assert!(!exact || off == 0, "{what}: {seen} for {shown}");
            }
        }
    }
}

#[test]
fn bars_have_their_colours_in_every_format_and_encoding() {
    for format in FORMATS {
        for (encoding, rectangle) in rectangles(format) {
            let mut client = connected(format);
            for piece in update(&[rectangle]).chunks(1001) {
                client.hear(piece).unwrap();
            }
            let what = format!("{encoding} of {format:?}");
            assert_eq!(client.events().len(), 2, "{what}");
            check_bars(&what, &client, format.max);
        }
    }
}

#[test]
fn a_gradient_counts_in_the_steps_of_its_depth() {
    // One more red and green from pixel to pixel; below, all is as the gradient guesses.
    let area = Rect::new(0, 0, 32, 2);
    let step = |r: u16, g: u16, b: u16| (r << 11 | g << 5 | b).to_le_bytes();
    let first: Vec<u8> = (0..32)
        .flat_map(|x| step(u16::from(x > 0), 1, 31 * u16::from(x == 0)))
        .collect();
    let rows = [first, step(0, 0, 0).repeat(32)].concat();
    let mut client = connected(RGB_565);
    let rectangle = tight(&mut Zlib::new(), area, &[0x40, 2], &rows);
    client.hear(&update(&[rectangle])).unwrap();
    for (x, y) in [(0, 0), (1, 0), (31, 0), (0, 1), (31, 1)] {
        let scale = |value: u32, max: u32| u8::try_from((value * 255 + max / 2) / max).unwrap();
        let expected = [255, scale(x + 1, 63), scale(x, 31)];
        assert_eq!(client.pixel(x, y), expected, "{x}, {y}");
    }
}

/// `SetColourMapEntries`, with what rounds away below each colour's byte.
fn colours(first: u8, colours: &[[u8; 3]]) -> Vec<u8> {
    let count = u8::try_from(colours.len()).unwrap();
    let entries: Vec<u8> = colours
        .as_flattened()
        .iter()
        .flat_map(|&value| [value, value])
        .collect();
    all(&[&[1, 0, 0, first, 0, count], &entries])
}

/// The bars as indices of a map, in each encoding.
fn indexed_rectangles() -> Vec<(&'static str, Vec<u8>)> {
    let area = SIZE.rect();
    let index = |bar: [u8; 3]| {
        let index = BARS.iter().position(|&known| known == bar).unwrap();
        vec![u8::try_from(index + 100).unwrap()]
    };
    let hextile: Vec<u8> = (100..108).flat_map(|bar| [2, bar]).collect();
    let zrle: Vec<u8> = (BARS.chunks(4))
        .flat_map(|bars| {
            let row: Vec<u8> = bars.iter().flat_map(|&bar| [index(bar)[0], 15]).collect();
            all(&[&[128], &row.repeat(16)])
        })
        .collect();
    vec![
        ("raw", rect(area, server::RAW, &bars(index))),
        ("hextile", rect(area, HEXTILE, &hextile)),
        ("zrle", Zlib::new().zrle(area, &zrle)),
        ("tight", tight(&mut Zlib::new(), area, &[0], &bars(index))),
    ]
}

#[test]
fn a_palette_is_applied_and_a_new_one_paints_the_picture_anew() {
    for (encoding, rectangle) in indexed_rectangles() {
        let mut client = connected(INDICES);
        client.hear(&colours(100, &BARS)).unwrap();
        assert_eq!(client.events(), [], "there is no picture yet");
        client.hear(&update(&[rectangle])).unwrap();
        assert_eq!(client.events().len(), 2, "{encoding}");
        check_bars(encoding, &client, [255; 3]);

        client.hear(&colours(101, &[[1, 2, 3]])).unwrap();
        let SourceEvent::Update { damage } = &client.events()[0] else {
            panic!("no update");
        };
        assert_eq!(damage.rects(), [SIZE.rect()]);
        assert_eq!(client.pixel(16, 0), [3, 2, 1]);
        assert_eq!(client.pixel(15, 0), [0; 3]);

        client.hear(&colours(100, &[BARS[0], [1, 2, 3]])).unwrap();
        assert_eq!(client.events(), [], "nothing changed");
        client.hear(&colours(100, &BARS)).unwrap();
        check_bars(encoding, &client, [255; 3]);
    }
}

#[test]
fn a_flood_of_palettes_is_stopped() {
    let mut client = connected(INDICES);
    let allowed = limits::PIXELS_PER_S * limits::PIXEL_WINDOW_S / SIZE.area_px();
    let [even, odd] = [1, 2].map(|grey| colours(0, &[[grey; 3]]));
    let flips = [even, odd].concat();
    let ended = (0..=allowed / 2).find_map(|_| client.hear(&flips).err());
    assert_eq!(ended, Some(Error::PixelBudget));
}

#[test]
fn formats_that_nothing_sends_are_refused() {
    let config = Config {
        pixel_format: None,
        ..Config::default()
    };
    let bits_per_pixel = 16;
    let wide_indices = PixelFormat {
        true_colour: false,
        ..RGB_565
    };
    let mut client = Client::new(config.clone());
    let refused = Error::ColourMapBits { bits_per_pixel };
    assert_eq!(client.hear(&opening_as(SIZE, wide_indices)), Err(refused));

    let mut client = Client::new(config);
    let heard = client.hear(&server::opening(SIZE));
    assert!(matches!(heard, Err(Error::PixelFormat(_))), "{heard:?}");
}

#[test]
fn a_palette_screen_follows_its_size() {
    let mut client = connected(INDICES);
    client.hear(&colours(0, &[[0; 3], [255, 0, 0]])).unwrap();
    let larger = Size::new(300, 200);
    let corner = Rect::new(299, 199, 1, 1);
    let rects = [
        server::desktop_size(larger),
        rect(corner, server::RAW, &[1]),
    ];
    client.hear(&update(&rects)).unwrap();
    assert_eq!(client.pixel(299, 199), [0, 0, 255]);
}
