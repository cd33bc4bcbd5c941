//! Pixels in each encoding, and the notices beside them.

use capture::{Point, Rect, Size, cursor::CursorShape, source::SourceEvent};
use capture_vnc::{Config, Encoding, Error, limits};
use image::{ExtendedColorType, codecs::jpeg::JpegEncoder};
use proptest::{collection::vec, prelude::*};

use crate::{
    client::Client,
    server::{
        COPY_RECT, CURSOR_WITH_ALPHA, DESKTOP_NAME, HEXTILE, POINTER_POSITION, TIGHT,
        VMWARE_CURSOR_POSITION, X_CURSOR, Zlib, all, compact_length, raw, rect, tight, update,
    },
};

const SIZE: Size = Size::new(200, 130);
const RED: [u8; 3] = [0, 0, 255];
const BLUE: [u8; 3] = [255, 0, 0];
/// Red and blue as Tight writes them: red first.
const TIGHT_RED: [u8; 3] = [255, 0, 0];
const TIGHT_BLUE: [u8; 3] = [0, 0, 255];

const COPY_FILTER: [u8; 2] = [0x40, 0];

/// How a session ends that hears one rectangle of `body`.
fn check_end(area: Rect, encoding: i32, body: &[u8], expected: &Error) {
    let mut client = Client::connected(SIZE);
    let heard = client.hear(&update(&[rect(area, encoding, body)]));
    assert_eq!(heard, Err(expected.clone()));
}

/// Paints one rectangle and compares each of its pixels.
fn check(rectangle: &[u8], area: Rect, expected: impl Fn(u32, u32) -> [u8; 3]) {
    for piece in [1, 1000, rectangle.len()] {
        let mut client = Client::connected(SIZE);
        for bytes in update(&[rectangle.to_vec()]).chunks(piece) {
            client.hear(bytes).unwrap();
        }
        assert!(!client.session.is_inside_message());
        for y in 0..SIZE.h {
            for x in 0..SIZE.w {
                let inside = area.x <= x && x < area.right() && area.y <= y && y < area.bottom();
                let expected = if inside {
                    expected(x - area.x, y - area.y)
                } else {
                    [0; 3]
                };
                assert_eq!(client.pixel(x, y), expected, "{x}, {y}");
            }
        }
    }
}

fn byte(value: u32) -> u8 {
    u8::try_from(value & 0xff).unwrap()
}

/// A slanted gradient with a bit of noise.
fn slope(x: u32, y: u32) -> [u8; 3] {
    [byte(x * 2 + y), byte(y * 3), byte(x * 7 % 5 + y)]
}

/// Rows of pixels as Tight writes them.
fn rgb(area: Rect, colour: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    let places = (0..area.h).flat_map(|y| (0..area.w).map(move |x| (x, y)));
    places
        .flat_map(|(x, y)| {
            let [b, g, r] = colour(x, y);
            [r, g, b]
        })
        .collect()
}

#[test]
fn tight_fills_and_copies() {
    let area = Rect::new(7, 3, 100, 50);
    let fill = all(&[&[0x80], &TIGHT_RED]);
    check(&rect(area, TIGHT, &fill), area, |_, _| RED);

    let pixels = rgb(area, slope);
    for head in [COPY_FILTER.as_slice(), &[0x00], &[0x30], &[0x70, 0]] {
        let rectangle = tight(&mut Zlib::new(), area, head, &pixels);
        check(&rectangle, area, slope);
    }
}

#[test]
fn few_tight_pixels_come_as_they_are() {
    let area = Rect::new(0, 0, 3, 1);
    let rectangle = tight(&mut Zlib::new(), area, &[0], &rgb(area, slope));
    check(&rectangle, area, slope);
    let nothing = Rect::new(5, 5, 0, 9);
    check(&rect(nothing, TIGHT, &[0]), nothing, slope);
}

#[test]
fn tight_palettes_take_a_bit_or_a_byte() {
    let area = Rect::new(1, 1, 19, 20);
    let stripes = |x: u32, y: u32| (x + y).is_multiple_of(3);
    let rows = |y: u32| {
        [0, 8, 16].map(|from| {
            let set = (0..8).filter(|bit| from + bit < 19 && stripes(from + bit, y));
            set.fold(0_u8, |bits, bit| bits | 0x80 >> bit)
        })
    };
    let bits: Vec<u8> = (0..area.h).flat_map(rows).collect();
    let head = all(&[&[0x50, 1, 1], &TIGHT_RED, &TIGHT_BLUE]);
    let two = tight(&mut Zlib::new(), area, &head, &bits);
    check(&two, area, |x, y| if stripes(x, y) { BLUE } else { RED });

    let greys: Vec<u8> = (0..=255).flat_map(|grey| [grey; 3]).collect();
    let indices = |x: u32, y: u32| byte(x * 13 + y * 31);
    let places = (0..area.h).flat_map(|y| (0..area.w).map(move |x| indices(x, y)));
    let many = tight(
        &mut Zlib::new(),
        area,
        &all(&[&[0x60, 1, 255], &greys]),
        &places.collect::<Vec<u8>>(),
    );
    check(&many, area, |x, y| [indices(x, y); 3]);
}

#[test]
fn a_tight_gradient_adds_up() {
    let area = Rect::new(10, 20, 90, 60);
    let value = |x: Option<u32>, y: Option<u32>, channel: usize| match (x, y) {
        (Some(x), Some(y)) => i32::from(slope(x, y)[channel]),
        _ => 0,
    };
    let difference = |x: u32, y: u32| {
        [0, 1, 2].map(|channel| {
            let (left, up) = (x.checked_sub(1), y.checked_sub(1));
            let guess = value(left, Some(y), channel) + value(Some(x), up, channel)
                - value(left, up, channel);
            let difference = value(Some(x), Some(y), channel) - guess.clamp(0, 255);
            u8::try_from(difference.rem_euclid(256)).unwrap()
        })
    };
    let rectangle = tight(&mut Zlib::new(), area, &[0x40, 2], &rgb(area, difference));
    check(&rectangle, area, slope);
}

#[test]
fn four_tight_streams_last_until_each_starts_anew() {
    let mut client = Client::connected(SIZE);
    let mut streams = [(); 4].map(|()| Zlib::new());
    let area = Rect::new(0, 0, 20, 10);
    for round in 0..8_u8 {
        for stream in 0..4_u8 {
            let colour = move |x: u32, y: u32| [byte(x), byte(y), round * 4 + stream];
            let mut reset = 0;
            // One stream starts anew in each of the later rounds.
            if round >= 4 && round - 4 == stream {
                streams[usize::from(stream)] = Zlib::new();
                reset = 1 << stream;
            }
            let zlib = &mut streams[usize::from(stream)];
            let rectangle = tight(zlib, area, &[stream << 4 | reset], &rgb(area, colour));
            client.hear(&update(&[rectangle])).unwrap();
            assert_eq!(client.pixel(19, 9), colour(19, 9));
        }
    }
}

fn jpeg(size: Size, colour: impl Fn(u32, u32) -> [u8; 3]) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 100)
        .encode(
            &rgb(size.rect(), colour),
            size.w,
            size.h,
            ExtendedColorType::Rgb8,
        )
        .unwrap();
    bytes
}

fn tight_jpeg(area: Rect, picture: &[u8]) -> Vec<u8> {
    let body = all(&[&[0x90], &compact_length(picture.len()), picture]);
    rect(area, TIGHT, &body)
}

#[test]
fn a_jpeg_picture_is_painted_nearly_as_it_was() {
    let area = Rect::new(33, 17, 61, 45);
    let soft = |x: u32, y: u32| [byte(x * 2), byte(y * 3), byte(100 + x)];
    let picture = jpeg(Size::new(area.w, area.h), soft);
    let mut client = Client::connected(SIZE);
    client.hear(&update(&[tight_jpeg(area, &picture)])).unwrap();
    for (x, y) in (0..area.h).flat_map(|y| (0..area.w).map(move |x| (x, y))) {
        let painted = client.pixel(area.x + x, area.y + y);
        let near = painted.iter().zip(soft(x, y));
        assert!(
            near.clone().all(|(a, b)| a.abs_diff(b) < 8),
            "{painted:?} at {x}, {y}"
        );
    }
    assert_eq!(client.pixel(area.right(), area.y), [0; 3]);
}

#[test]
fn a_jpeg_picture_of_another_size_or_none_at_all_is_refused() {
    let area = Rect::new(0, 0, 32, 32);
    let body = |picture: &[u8]| all(&[&[0x90], &compact_length(picture.len()), picture]);
    for size in [Size::new(31, 32), Size::new(32, 16)] {
        check_end(area, TIGHT, &body(&jpeg(size, slope)), &Error::JpegSize);
    }
    // Larger ones are not even looked at.
    let larger = jpeg(Size::new(64, 32), slope);
    check_end(area, TIGHT, &body(&larger), &Error::Jpeg);
    let picture = jpeg(Size::new(32, 32), slope);
    check_end(area, TIGHT, &body(&picture[..300]), &Error::Jpeg);
    check_end(area, TIGHT, &body(&[]), &Error::Jpeg);

    let len_bytes = limits::JPEG_BYTES + 1;
    let length = compact_length(usize::try_from(len_bytes).unwrap());
    let limit_bytes = limits::JPEG_BYTES.into();
    let refused = Error::CompressedTooLong {
        len_bytes,
        limit_bytes,
    };
    check_end(area, TIGHT, &all(&[&[0x90], &length]), &refused);

    let size = Size::new(4096, 1025);
    let mut client = Client::connected(size);
    let heard = client.hear(&update(&[rect(size.rect(), TIGHT, &[0x90])]));
    assert_eq!(heard, Err(Error::JpegTooLarge { size }));
}

proptest! {
    #[test]
    fn flipped_bytes_of_a_jpeg_picture_end_in_an_error_or_a_picture(
        flips in vec((any::<prop::sample::Index>(), 1..=255_u8), 1..8),
    ) {
        let area = Rect::new(0, 0, 40, 24);
        let mut picture = jpeg(Size::new(area.w, area.h), slope);
        for (at, flip) in flips {
            let at = at.index(picture.len());
            picture[at] ^= flip;
        }
        let mut client = Client::connected(SIZE);
        let heard = client.hear(&update(&[tight_jpeg(area, &picture)]));
        let refused = matches!(heard, Err(Error::Jpeg | Error::JpegSize));
        prop_assert!(heard.is_ok() || refused, "{heard:?}");
    }
}

#[test]
fn what_is_not_tight_is_refused() {
    let area = Rect::new(0, 0, 10, 10);
    let kind = 0b1010;
    check_end(area, TIGHT, &[0xa0], &Error::TightKind { kind });
    let filter = 3;
    check_end(area, TIGHT, &[0x40, 3], &Error::TightFilter { filter });
    let body = all(&[&[0x00, 20], &[0xff; 20]]);
    check_end(area, TIGHT, &body, &Error::Zlib);

    let body = |pixels: &[u8]| {
        let compressed = Zlib::new().compress(pixels);
        all(&[&[0], &compact_length(compressed.len()), &compressed])
    };
    check_end(area, TIGHT, &body(&[7; 299]), &Error::PixelsMissing);
    check_end(area, TIGHT, &body(&[7; 301]), &Error::PixelsExceeded);
    let bomb = body(&vec![0; 50_000_000]);
    check_end(area, TIGHT, &bomb, &Error::PixelsExceeded);

    let three = all(&[&[0x40, 1, 2], &[1; 9]]);
    let compressed = Zlib::new().compress(&[3; 100]);
    let body = all(&[&three, &compact_length(compressed.len()), &compressed]);
    let (index, len) = (3, 3);
    check_end(area, TIGHT, &body, &Error::PaletteIndex { index, len });
}

#[test]
fn hextile_is_painted_tile_by_tile() {
    let area = Rect::new(3, 5, 40, 20);
    // Three tiles a row, the last eight wide; two rows of them, the last four high.
    let solid = |[b, g, r]: [u8; 3]| [2, b, g, r, 0x77];
    let tiles = [RED, BLUE, RED, BLUE, RED, BLUE].map(solid).concat();
    check(&rect(area, HEXTILE, &tiles), area, |x, y| {
        if (x / 16 + y / 16 * 3).is_multiple_of(2) {
            RED
        } else {
            BLUE
        }
    });
    let subencoding = 0x80;
    check_end(
        area,
        HEXTILE,
        &[0x80],
        &Error::TileSubencoding { subencoding },
    );
    check_end(area, HEXTILE, &[8, 1, 0xf0, 0x10], &Error::TileSubrect);
}

#[test]
fn copies_are_made_only_when_asked_for() {
    let config = Config {
        encodings: vec![Encoding::CopyRect],
        ..Config::default()
    };
    let mut client = Client::connected_with(config.clone(), SIZE);
    let copy = |[x, y]: [u8; 2], area: Rect| rect(area, COPY_RECT, &[0, x, 0, y]);
    let rects = [
        raw(Rect::new(10, 10, 10, 10), RED),
        copy([10, 10], Rect::new(15, 12, 10, 10)),
    ];
    client.hear(&update(&rects)).unwrap();
    assert_eq!(client.pixel(24, 21), RED);
    assert_eq!(client.pixel(24, 11), [0; 3]);

    let from = Rect::new(191, 0, 10, 10);
    let outside = update(&[copy([191, 0], Rect::new(0, 0, 10, 10))]);
    let (rect, size) = (from, SIZE);
    assert_eq!(
        client.hear(&outside),
        Err(Error::RectOutside { rect, size })
    );

    let mut client = Client::connected(SIZE);
    let encoding = COPY_RECT;
    let heard = client.hear(&update(&[copy([0, 0], Rect::new(9, 9, 1, 1))]));
    assert_eq!(heard, Err(Error::UnknownEncoding { encoding }));
}

#[test]
fn cursors_come_in_two_colours_or_with_alpha() {
    let mut client = Client::connected(SIZE);
    let place = Rect::new(1, 0, 2, 1);
    let two_colours = [9, 8, 7, 0, 0, 0, 0b1000_0000, 0b1100_0000];
    let alpha = [0, 0, 0, 0, 100, 50, 0, 200, 0, 0, 0, 0];
    let rects = [
        rect(place, X_CURSOR, &two_colours),
        rect(place, CURSOR_WITH_ALPHA, &alpha),
    ];
    client.hear(&update(&rects)).unwrap();
    let event = |bgra: [[u8; 4]; 2]| SourceEvent::Cursor {
        at: None,
        shape: CursorShape::new(Size::new(2, 1), Point { x: 1, y: 0 }, bgra.concat()),
    };
    let expected = [
        event([[7, 8, 9, 255], [0, 0, 0, 255]]),
        event([[0, 64, 128, 200], [0; 4]]),
    ];
    assert_eq!(client.events(), expected);
}

#[test]
fn the_place_of_the_pointer_is_told_in_two_ways() {
    let mut client = Client::connected(SIZE);
    for (encoding, x, y) in [(POINTER_POSITION, 7, 9), (VMWARE_CURSOR_POSITION, 150, 0)] {
        let moved = rect(Rect::new(x, y, 0, 0), encoding, &[]);
        client.hear(&update(&[moved])).unwrap();
        let [x, y] = [x, y].map(|side| i32::try_from(side).unwrap());
        let (at, shape) = (Some(Point { x, y }), None);
        assert_eq!(client.events(), [SourceEvent::Cursor { at, shape }]);
    }
}

#[test]
fn a_desktop_may_change_its_name() {
    let mut client = Client::connected(SIZE);
    assert_eq!(client.session.server_name(), Some("desk"));
    let named = |name: &str| {
        let len = u32::try_from(name.len()).unwrap().to_be_bytes();
        let body = all(&[&len, name.as_bytes()]);
        update(&[rect(Rect::default(), DESKTOP_NAME, &body)])
    };
    client.hear(&named("büro")).unwrap();
    assert_eq!(client.session.server_name(), Some("büro"));
    let endless = rect(Rect::default(), DESKTOP_NAME, &u32::MAX.to_be_bytes());
    let len_bytes = u32::MAX;
    let refused = Error::NameTooLong { len_bytes };
    assert_eq!(client.hear(&update(&[endless])), Err(refused));
}
