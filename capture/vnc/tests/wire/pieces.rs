//! Properties over many inputs: how bytes are cut up changes nothing, and no bytes at all make
//! the session panic.

use capture::{Rect, Size, source::SourceEvent};
use capture_vnc::{Config, Encoding, Password, Random};
use proptest::{collection::vec, prelude::*};

use crate::{
    client::Client,
    server::{
        COPY_RECT, CURSOR, HEXTILE, POINTER_POSITION, Zlib, all, cut_text, extended_desktop_size,
        opening, raw, rect, tight, tiles, update,
    },
};

const SIZE: Size = Size::new(150, 90);

/// One thing a server may say.
#[derive(Clone, Debug)]
enum Say {
    Raw(Rect, [u8; 3]),
    /// A rectangle of tiles: one byte for each tile chooses how that is written.
    Zrle(Rect, Vec<u8>),
    /// One colour in as many Hextile tiles as it takes.
    Hextile(Rect, [u8; 3]),
    /// Two colours, a few pixels or many.
    Tight(Rect, [u8; 3]),
    Copy(Rect),
    Resize(Size),
    Cursor(u8),
    Pointer(Rect),
    Text(Vec<u8>),
    Bell,
}

fn area() -> impl Strategy<Value = Rect> {
    // Inside the smallest size that `Say::Resize` takes.
    (0..100_u32, 0..80_u32)
        .prop_flat_map(|(x, y)| (Just(x), Just(y), 0..=100 - x, 0..=80 - y))
        .prop_map(|(x, y, w, h)| Rect::new(x, y, w, h))
}

fn say() -> impl Strategy<Value = Say> {
    prop_oneof![
        3 => (area(), any::<[u8; 3]>()).prop_map(|(area, colour)| Say::Raw(area, colour)),
        5 => (area(), vec(any::<u8>(), 4)).prop_map(|(area, how)| Say::Zrle(area, how)),
        2 => (area(), any::<[u8; 3]>()).prop_map(|(area, colour)| Say::Hextile(area, colour)),
        3 => (area(), any::<[u8; 3]>()).prop_map(|(area, colour)| Say::Tight(area, colour)),
        1 => area().prop_map(Say::Copy),
        1 => (100..160_u32, 80..120_u32).prop_map(|(w, h)| Say::Resize(Size::new(w, h))),
        1 => (0..20_u8).prop_map(Say::Cursor),
        1 => area().prop_map(Say::Pointer),
        1 => vec(any::<u8>(), 0..50).prop_map(Say::Text),
        1 => Just(Say::Bell),
    ]
}

/// The bytes of a whole conversation.
fn wire(says: &[Say]) -> Vec<u8> {
    let (mut zlib, mut tight_zlib) = (Zlib::new(), Zlib::new());
    let mut wire = opening(SIZE);
    for say in says {
        wire.extend(match say {
            Say::Raw(area, colour) => update(&[raw(*area, *colour)]),
            Say::Zrle(area, how) => update(&[zlib.zrle(*area, &tile_bytes(*area, how))]),
            Say::Hextile(area, [b, g, r]) => {
                let tiles = area.w.div_ceil(16) * area.h.div_ceil(16);
                let tile = [2 | 4 | 8, *b, *g, *r, 0, *r, *g, *b, 0, 1, 0x00, 0x00];
                let tiles = tile.repeat(usize::try_from(tiles).unwrap());
                update(&[rect(*area, HEXTILE, &tiles)])
            }
            Say::Tight(area, colour) => {
                let row = vec![0b1010_1010; usize::try_from(area.w.div_ceil(8)).unwrap()];
                let bits = row.repeat(usize::try_from(area.h).unwrap());
                let head = all(&[&[0x50, 1, 1], colour, &[9; 3]]);
                update(&[tight(&mut tight_zlib, *area, &head, &bits)])
            }
            Say::Copy(area) => update(&[rect(*area, COPY_RECT, &[0, 0, 0, 0])]),
            Say::Resize(size) => update(&[extended_desktop_size(*size)]),
            Say::Cursor(side) => {
                let side = u32::from(*side);
                let len = side * side * 4 + side.div_ceil(8) * side;
                let body = vec![0xaa; usize::try_from(len).unwrap()];
                update(&[rect(Rect::new(0, 0, side, side), CURSOR, &body)])
            }
            Say::Pointer(area) => update(&[rect(*area, POINTER_POSITION, &[])]),
            Say::Text(text) => cut_text(i32::try_from(text.len()).unwrap(), text),
            Say::Bell => vec![2],
        });
    }
    wire
}

fn tile_bytes(area: Rect, how: &[u8]) -> Vec<u8> {
    if area.is_empty() {
        return Vec::new();
    }
    let mut bytes = Vec::new();
    for tile in 0..tiles(area) {
        let columns = area.w.div_ceil(64);
        let tile_index = u32::try_from(tile).unwrap();
        let w = 64.min(area.w - tile_index % columns * 64);
        let h = 64.min(area.h - tile_index / columns * 64);
        let (w, h) = (usize::try_from(w).unwrap(), usize::try_from(h).unwrap());
        let px = w * h;
        let byte = how.get(tile % how.len()).copied().unwrap();
        bytes.extend(match byte % 5 {
            0 => all(&[&[0], &vec![byte; px * 3]]),
            1 => vec![1, byte, 2, 3],
            2 => all(&[&[4], &[byte; 12], &vec![0b0001_1011; w.div_ceil(4) * h]]),
            3 => all(&[&[128], &[byte, 0, 1, 0].repeat(px)]),
            _ => {
                // One run over the whole tile.
                let (full, rest) = ((px - 1) / 255, (px - 1) % 255);
                let rest = u8::try_from(rest).unwrap();
                all(&[&[130], &[byte; 6], &[0x81], &vec![255; full], &[rest]])
            }
        });
    }
    bytes
}

/// Takes every encoding there is.
fn everything() -> Config {
    let copies = [Encoding::CopyRect].into_iter();
    Config {
        encodings: copies.chain(Encoding::EXACT).collect(),
        ..Config::default()
    }
}

/// A conversation heard in pieces of the sizes that `cuts` gives, around and around.
fn hear(wire: &[u8], cuts: &[usize]) -> (Client, Vec<SourceEvent>) {
    let mut client = Client::new(everything());
    let mut rest = wire;
    for &cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        client.hear(piece).unwrap();
        rest = after;
    }
    let mut events = client.events();
    // What the session asks for between two pieces decides what an answer proves.
    events.retain(|event| *event != SourceEvent::Proof);
    events.dedup_by(|a, b| *a == SourceEvent::Bell && *b == SourceEvent::Bell);
    (client, events)
}

/// Says up to eight resizes, which the budget allows.
fn conversation() -> impl Strategy<Value = Vec<Say>> {
    vec(say(), 0..8)
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same_picture_and_events(
        says in conversation(),
        cuts in vec(1..600_usize, 1..20),
    ) {
        let wire = wire(&says);
        let (whole, events) = hear(&wire, &[wire.len()]);
        let (pieces, same_events) = hear(&wire, &cuts);
        prop_assert_eq!(whole.screen.size(), pieces.screen.size());
        prop_assert!(whole.screen.bgrx() == pieces.screen.bgrx());
        prop_assert_eq!(events, same_events);
        prop_assert!(!pieces.session.is_inside_message());
    }

    #[test]
    fn single_bytes_give_the_same_picture(says in vec(say(), 0..3)) {
        let wire = wire(&says);
        let (whole, _) = hear(&wire, &[wire.len()]);
        let (bytes, _) = hear(&wire, &[1]);
        prop_assert!(whole.screen.bgrx() == bytes.screen.bgrx());
    }

    #[test]
    fn rubbish_after_any_beginning_ends_in_an_error_or_in_waiting(
        says in conversation(),
        from in any::<prop::sample::Index>(),
        rubbish in vec(any::<u8>(), 0..4000),
        cuts in vec(1..600_usize, 1..5),
    ) {
        let mut wire = wire(&says);
        wire.truncate(from.index(wire.len() + 1));
        wire.extend(rubbish);
        listen(everything(), &wire, &cuts);
    }

    #[test]
    fn flipped_bytes_end_in_an_error_or_in_waiting(
        says in conversation(),
        flips in vec((any::<prop::sample::Index>(), 1..=255_u8), 1..6),
    ) {
        let mut wire = wire(&says);
        for (at, flip) in flips {
            let at = at.index(wire.len());
            wire[at] ^= flip;
        }
        listen(everything(), &wire, &[wire.len()]);
    }

    #[test]
    fn rubbish_in_each_state_of_the_handshake_does_no_harm(
        version in prop_oneof![Just(*b"RFB 003.003\n"), Just(*b"RFB 003.007\n"), Just(*b"RFB 003.008\n")],
        kind in prop_oneof![
            Just(vec![]), Just(vec![0, 0, 0, 2]), Just(vec![1, 2]), Just(vec![0]),
            Just(vec![1, 30, 0, 2, 0, 64]),
        ],
        rubbish in vec(prop_oneof![3 => Just(0), 1 => any::<u8>()], 0..200),
    ) {
        let password = Some(Password::new("secret".into()));
        let random = Some(Random::new([9; Random::BYTES]));
        let user = Some("ada".into());
        let config = Config { user, password, random, ..Config::default() };
        listen(config, &all(&[&version, &kind, &rubbish]), &[7]);
    }
}

/// Hears anything, with time passing, and never holds more than one message may.
fn listen(config: Config, wire: &[u8], cuts: &[usize]) {
    let mut client = Client::new(config);
    let mut rest = wire;
    for &cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        if client.hear(piece).is_err() {
            return;
        }
        client.request();
        rest = after;
    }
    let end_ms = client.now_ms + 100_000;
    client.wait_until(end_ms).ok();
}
