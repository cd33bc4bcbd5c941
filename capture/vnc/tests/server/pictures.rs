//! A client sees every pixel as the server shows it, in each layout and encoding.

use capture::{
    Damage, Framebuffer, Point, Rect, Size,
    cursor::CursorShape,
    input::{Clipboard, Direction, Format},
    pixels::PixelFormat,
    source::SourceEvent,
};
use capture_vnc::{Config, Encoding};
use proptest::prelude::*;

use crate::pair::Pair;

const BGRX: PixelFormat = PixelFormat::BGRX;
const RGB_565: PixelFormat = PixelFormat {
    bits_per_pixel: 16,
    depth: 16,
    max: [31, 63, 31],
    shift: [11, 5, 0],
    ..BGRX
};
const BGR_233: PixelFormat = PixelFormat {
    bits_per_pixel: 8,
    depth: 8,
    max: [7, 7, 3],
    shift: [0, 3, 6],
    ..BGRX
};

/// Layouts that clients ask for, and some that none does.
const FORMATS: [PixelFormat; 8] = [
    BGRX,
    PixelFormat {
        big_endian: true,
        ..BGRX
    },
    PixelFormat {
        shift: [0, 8, 16],
        ..BGRX
    },
    PixelFormat {
        shift: [24, 16, 8],
        ..BGRX
    },
    PixelFormat {
        depth: 30,
        max: [1023; 3],
        shift: [20, 10, 0],
        ..BGRX
    },
    RGB_565,
    PixelFormat {
        big_endian: true,
        ..RGB_565
    },
    BGR_233,
];

const ENCODINGS: [Encoding; 3] = [Encoding::Raw, Encoding::Tight, Encoding::Zrle];

fn client(format: PixelFormat, encoding: Encoding) -> Config {
    Config {
        pixel_format: Some(format),
        encodings: vec![encoding],
        ..Config::default()
    }
}

/// The nearest colour that `format` can show.
fn shown(format: PixelFormat, [b, g, r, _]: [u8; 4]) -> [u8; 4] {
    let [red, green, blue] = format.max;
    let nearest = |colour: u8, max: u16| {
        let max = u32::from(max);
        let value = (u32::from(colour) * max + 127) / 255;
        u8::try_from((value * 255 + max / 2) / max).unwrap()
    };
    [nearest(b, blue), nearest(g, green), nearest(r, red), 0]
}

fn assert_equal(pair: &Pair, format: PixelFormat) {
    assert_eq!(pair.screen.size(), pair.desk.size());
    let (expected, _) = pair.desk.bgrx().as_chunks::<4>();
    let (seen, _) = pair.screen.bgrx().as_chunks::<4>();
    let differing = { expected.iter().zip(seen) }
        .filter(|(expected, seen)| shown(format, **expected) != **seen)
        .count();
    assert_eq!(differing, 0, "{format:?}");
}

/// A patch of a picture.
#[derive(Clone, Debug)]
struct Patch {
    rect: Rect,
    /// How many colours it has: one, few, many, or a new one in each pixel.
    colours: u32,
    seed: u32,
}

impl Patch {
    fn paint(&self, desk: &mut Framebuffer) {
        let rect = self.rect.intersection(desk.size().rect());
        let mut state = self.seed;
        for y in rect.y..rect.bottom() {
            for pixel in desk.row_mut(rect.x, y, rect.w).as_chunks_mut::<4>().0 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let colour = (state >> 8) % self.colours;
                let [b, g, r, _] = colour.wrapping_mul(0x0106_3b17).to_le_bytes();
                *pixel = [b, g, r, 0];
            }
        }
    }
}

fn patch() -> impl Strategy<Value = Patch> {
    let rect = (0_u32..150, 0_u32..150, 1_u32..150, 1_u32..150).prop_map(|(x, y, w, h)| Rect {
        x,
        y,
        w,
        h,
    });
    let colours = prop_oneof![1_u32..20, Just(120), Just(1 << 24)];
    (rect, colours, any::<u32>()).prop_map(|(rect, colours, seed)| Patch {
        rect,
        colours,
        seed,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_picture_arrives_whole(
        size in (1_u32..200, 1_u32..200).prop_map(|(w, h)| Size { w, h }),
        patches in prop::collection::vec(patch(), 0..6),
        later in prop::collection::vec(patch(), 0..4),
        format in prop::sample::select(FORMATS.as_slice()),
        encoding in prop::sample::select(ENCODINGS.as_slice()),
    ) {
        let mut pair = Pair::new(size, client(format, encoding));
        for patch in patches {
            patch.paint(&mut pair.desk);
        }
        pair.talk();
        assert_equal(&pair, format);
        for patch in later {
            pair.paint(patch.rect, |desk| patch.paint(desk));
            pair.talk();
            assert_equal(&pair, format);
        }
    }
}

#[test]
fn a_large_picture_comes_in_parts() {
    for encoding in ENCODINGS {
        let mut pair = Pair::new(Size::new(2560, 1443), client(BGRX, encoding));
        let noise = Patch {
            rect: pair.desk.size().rect(),
            colours: 1 << 24,
            seed: 7,
        };
        noise.paint(&mut pair.desk);
        pair.talk();
        assert_equal(&pair, BGRX);
        assert!(pair.largest_bytes < 2 << 20, "{}", pair.largest_bytes);
    }
}

#[test]
fn a_clipboard_waits_for_the_end_of_a_picture() {
    let mut pair = Pair::new(Size::new(1280, 800), client(BGRX, Encoding::Raw));
    let copied = Clipboard {
        direction: Direction::FromMachine,
        formats: vec![Format::Text],
        text: Some("copied".to_owned()),
        len_bytes: 6,
    };
    pair.copied = Some(copied.clone());
    pair.talk();
    assert_equal(&pair, BGRX);
    assert!(pair.saw(&SourceEvent::Clipboard(copied)));
}

#[test]
fn only_what_changed_is_sent() {
    let mut pair = Pair::new(Size::new(1280, 800), client(BGRX, Encoding::Raw));
    pair.talk();
    pair.largest_bytes = 0;
    let rect = Rect::new(100, 100, 10, 10);
    pair.paint(rect, |desk| desk.fill(rect, [1, 2, 3, 0]));
    pair.talk();
    assert_equal(&pair, BGRX);
    assert_eq!(pair.largest_bytes, 4 + 12 + 400);
}

#[test]
fn a_new_size_is_told_and_filled() {
    let mut pair = Pair::new(Size::new(320, 200), client(BGRX, Encoding::Zrle));
    pair.talk();
    for size in [Size::new(400, 150), Size::new(64, 64)] {
        pair.desk.resize(size).unwrap();
        pair.desk.fill(size.rect(), [9, 9, 9, 0]);
        pair.server.resize(size);
        pair.talk();
        assert!(pair.saw(&SourceEvent::Resize(size)));
        assert_equal(&pair, BGRX);
    }
}

/// A pointer of 3 by 2, whose left column is solid red and whose rest is clear.
fn arrow() -> CursorShape {
    let row = [[0, 0, 255, 255], [9, 9, 9, 0], [9, 9, 9, 0]].concat();
    let hot_spot = Point { x: 1, y: 1 };
    CursorShape::new(Size::new(3, 2), hot_spot, row.repeat(2)).unwrap()
}

#[test]
fn a_client_that_draws_the_pointer_is_told_its_shape() {
    let config = Config {
        cursor: true,
        ..client(BGRX, Encoding::Raw)
    };
    let mut pair = Pair::new(Size::new(20, 20), config);
    pair.talk();
    let at = Some(Point { x: 5, y: 5 });
    pair.server.cursor(at, Some(arrow()));
    pair.talk();
    assert_equal(&pair, BGRX);
    let Some(SourceEvent::Cursor {
        at: None,
        shape: Some(shape),
    }) = pair.events.last()
    else {
        panic!("no shape came: {:?}", pair.events);
    };
    assert_eq!(
        (shape.size(), shape.hot_spot()),
        (arrow().size(), arrow().hot_spot())
    );
    let alpha: Vec<u8> = shape.bgra().iter().skip(3).step_by(4).copied().collect();
    assert_eq!(alpha, [255, 0, 0, 255, 0, 0]);
}

#[test]
fn another_client_gets_the_pointer_painted() {
    let mut pair = Pair::new(Size::new(20, 20), client(BGRX, Encoding::Zrle));
    pair.talk();
    let red = |pair: &Pair| {
        let (pixels, _) = pair.screen.bgrx().as_chunks();
        let red = { pixels.iter().enumerate() }.filter(|(_, pixel)| **pixel == [0, 0, 255, 0]);
        red.map(|(at, _)| (at % 20, at / 20)).collect::<Vec<_>>()
    };
    for (x, y) in [(5, 5), (12, 8)] {
        let at = Some(Point { x, y });
        pair.server.cursor(at, Some(arrow()));
        pair.talk();
        let (x, y) = (usize::try_from(x).unwrap(), usize::try_from(y).unwrap());
        assert_eq!(red(&pair), [(x - 1, y - 1), (x - 1, y)]);
    }
}

#[test]
fn a_client_that_does_not_read_is_sent_no_more() {
    let mut pair = Pair::new(Size::new(640, 480), client(BGRX, Encoding::Raw));
    pair.talk();
    let whole = pair.desk.size().rect();
    for colour in 1..100 {
        pair.paint(whole, |desk| desk.fill(whole, [colour; 4]));
        pair.server.update(&pair.desk);
        pair.server.damage(&Damage::of(whole));
    }
    let held = pair.server.poll_transmit().unwrap();
    assert!(held.len() < 2 << 20, "{}", held.len());
    assert!(pair.server.poll_transmit().is_none());
}
