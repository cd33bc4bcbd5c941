//! Updates, sizes, cursors and clipboards, as servers send them.

use capture::{
    Damage, Point, Rect, Size,
    cursor::CursorShape,
    input::{Clipboard, Direction, Format},
    source::SourceEvent,
};

use crate::{
    client::Client,
    server::{
        CURSOR, LAST_RECT, Zlib, all, cut_text, desktop_size, extended_desktop_size, raw, rect,
        update,
    },
};

const SIZE: Size = Size::new(200, 130);
const RED: [u8; 3] = [0, 0, 255];
const BLUE: [u8; 3] = [255, 0, 0];

fn updated(area: Rect) -> SourceEvent {
    let damage = Damage::of(area);
    SourceEvent::Update { damage }
}

/// The first picture owed at the start, and proof of it.
fn proven(area: Rect) -> [SourceEvent; 2] {
    [updated(area), SourceEvent::Proof]
}

#[test]
fn a_raw_update_is_painted_and_reported() {
    let mut client = Client::connected(SIZE);
    let area = Rect::new(10, 20, 30, 40);
    client.hear(&update(&[raw(area, RED)])).unwrap();
    assert_eq!(client.events(), proven(area));
    assert_eq!(client.pixel(39, 59), RED);
    assert_eq!(client.pixel(40, 59), [0; 3]);
}

#[test]
fn tiles_cover_a_rectangle_row_by_row_in_one_lasting_stream() {
    let mut client = Client::connected(SIZE);
    let mut zlib = Zlib::new();
    let area = Rect::new(3, 1, 130, 70);
    for round in 0..3_u8 {
        // Six tiles: three a row, the last two and six pixels wide and high.
        let tiles: Vec<u8> = (0..6).flat_map(|tile| [1, tile, round, 9]).collect();
        client.hear(&update(&[zlib.zrle(area, &tiles)])).unwrap();
        assert_eq!(client.pixel(3, 1), [0, round, 9]);
        assert_eq!(client.pixel(3 + 64, 1), [1, round, 9]);
        assert_eq!(client.pixel(3 + 129, 1), [2, round, 9]);
        assert_eq!(client.pixel(3, 1 + 64), [3, round, 9]);
        assert_eq!(client.pixel(3 + 129, 1 + 69), [5, round, 9]);
        assert_eq!(client.pixel(3 + 130, 1), [0; 3]);
    }
}

#[test]
fn a_tile_larger_than_one_network_read_is_painted_whole() {
    let mut client = Client::connected(SIZE);
    let noise: Vec<u8> = (0..64 * 64 * 3_u32)
        .map(|i| u8::try_from(i.wrapping_mul(2_654_435_761) >> 24).unwrap())
        .collect();
    let tile = all(&[&[0], &noise]);
    let wire = update(&[Zlib::new().zrle(Rect::new(0, 0, 64, 64), &tile)]);
    for piece in wire.chunks(700) {
        client.hear(piece).unwrap();
    }
    let expected: Vec<[u8; 3]> = noise.as_chunks().0.to_vec();
    for (i, pixel) in (0..).zip(expected) {
        assert_eq!(client.pixel(i % 64, i / 64), pixel);
    }
}

#[test]
fn a_last_rect_ends_an_update_of_unknown_length() {
    let mut client = Client::connected(SIZE);
    let area = Rect::new(0, 0, 5, 5);
    let head = [0, 0, 0xff, 0xff];
    let last = rect(Rect::default(), LAST_RECT, &[]);
    client
        .hear(&all(&[&head, &raw(area, RED), &last, &[2]]))
        .unwrap();
    assert_eq!(
        client.events(),
        [updated(area), SourceEvent::Proof, SourceEvent::Bell]
    );
}

#[test]
fn empty_rectangles_are_normal() {
    let mut client = Client::connected(SIZE);
    let nothing = [
        raw(Rect::new(0, 0, 0, 0), RED),
        raw(Rect::new(200, 130, 0, 0), RED),
        Zlib::new().zrle(Rect::new(5, 5, 0, 9), &[]),
    ];
    client.hear(&update(&nothing)).unwrap();
    client.hear(&update(&[])).unwrap();
    assert_eq!(client.events(), []);
}

#[test]
fn pixels_may_follow_a_size_in_the_same_update() {
    let mut client = Client::connected(SIZE);
    let larger = Size::new(300, 140);
    let corner = Rect::new(290, 130, 10, 10);
    let old = Rect::new(0, 0, 5, 5);
    client
        .hear(&update(&[
            raw(old, RED),
            extended_desktop_size(larger),
            raw(corner, BLUE),
        ]))
        .unwrap();
    assert_eq!(
        client.events(),
        [
            SourceEvent::Resize(larger),
            updated(corner),
            SourceEvent::Proof
        ]
    );
    assert_eq!(client.screen.size(), larger);
    assert_eq!(client.pixel(0, 0), [0; 3], "the old picture is gone");
    assert_eq!(client.pixel(299, 139), BLUE);
}

#[test]
fn after_a_size_change_the_whole_screen_is_asked_for() {
    let mut client = Client::connected(SIZE);
    let smaller = Size::new(100, 50);
    client.hear(&update(&[desktop_size(smaller)])).unwrap();
    assert_eq!(client.events(), [SourceEvent::Resize(smaller)]);
    assert_eq!(client.sent(), [3, 0, 0, 0, 0, 0, 0, 100, 0, 50]);
}

#[test]
fn the_same_size_again_is_no_change() {
    let mut client = Client::connected(SIZE);
    client.hear(&update(&[raw(SIZE.rect(), RED)])).unwrap();
    client.events();
    let again = [extended_desktop_size(SIZE), desktop_size(SIZE)];
    client.hear(&update(&again)).unwrap();
    assert_eq!(client.events(), []);
    assert_eq!(client.pixel(0, 0), RED);
}

#[test]
fn a_cursor_becomes_a_shape_with_alpha() {
    let mut client = Client::connected(SIZE);
    let body = [9, 9, 9, 0, 8, 8, 8, 0, 0b0100_0000];
    let cursor = rect(Rect::new(1, 0, 2, 1), CURSOR, &body);
    client.hear(&update(&[cursor])).unwrap();
    let (size, hot_spot) = (Size::new(2, 1), Point { x: 1, y: 0 });
    let shape = CursorShape::new(size, hot_spot, vec![9, 9, 9, 0, 8, 8, 8, 255]);
    assert_eq!(client.events(), [SourceEvent::Cursor { at: None, shape }]);
}

#[test]
fn clipboards_are_kept_up_to_a_size() {
    let heard = |text: Option<&str>, len_bytes| {
        let formats = (len_bytes > 0).then_some(Format::Text);
        SourceEvent::Clipboard(Clipboard {
            direction: Direction::FromMachine,
            formats: formats.into_iter().collect(),
            text: text.map(Into::into),
            len_bytes,
        })
    };
    let mut client = Client::connected(SIZE);
    client.hear(&cut_text(2, &[b'a', 0xe9])).unwrap();
    client.hear(&cut_text(0, &[])).unwrap();
    assert_eq!(client.events(), [heard(Some("aé"), 3), heard(Some(""), 0)]);

    let long = vec![b'x'; 1024 * 1024 + 1];
    let len = i32::try_from(long.len()).unwrap();
    client.hear(&all(&[&cut_text(len, &long), &[2]])).unwrap();
    let size_only = heard(None, long.len() as u64);
    assert_eq!(client.events(), [size_only, SourceEvent::Bell]);
}

#[test]
fn extended_clipboards_and_colour_maps_are_read_past() {
    let mut client = Client::connected(SIZE);
    let colours = all(&[&[1, 0, 0, 0, 0, 2], &[7; 12]]);
    client
        .hear(&all(&[&cut_text(-5, &[1; 5]), &colours, &[2]]))
        .unwrap();
    assert_eq!(client.events(), [SourceEvent::Bell]);
}
