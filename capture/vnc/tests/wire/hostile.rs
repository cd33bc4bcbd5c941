//! Peers that mean harm: each meets a stated error, and memory stays flat.

use capture::{
    Framebuffer, GapReason, Rect, Size, cursor::CursorShape, framebuffer::SizeError,
    source::ErrorKind,
};
use capture_vnc::{ClipboardError, Config, Error, limits};

use crate::{
    client::Client,
    server::{
        self, CURSOR, Zlib, all, cut_text, desktop_size, opening, raw, rect, server_init_head,
        tiles, update, zrle_of,
    },
};

const SIZE: Size = Size::new(1024, 768);

/// How a connected session ends that hears `heard`.
fn check(heard: &[u8], expected: &Error) {
    let mut client = Client::connected(SIZE);
    assert_eq!(client.hear(heard), Err(expected.clone()));
}

#[test]
fn a_rectangle_off_the_screen_is_refused() {
    for area in [
        Rect::new(1024, 0, 1, 1),
        Rect::new(1, 0, 1024, 1),
        Rect::new(65535, 65535, 65535, 65535),
    ] {
        let (rect, size) = (area, SIZE);
        let refused = Error::RectOutside { rect, size };
        check(&update(&[server::rect(area, server::RAW, &[])]), &refused);
        check(&update(&[zrle_of(area, &[])]), &refused);
    }
}

#[test]
fn a_desktop_larger_than_accepted_is_refused_before_memory_is_taken() {
    for size in [Size::new(65535, 65535), Size::new(0, 0), Size::new(8193, 1)] {
        let mut client = Client::new(Config::default());
        let refused = Error::Size(SizeError { size });
        assert_eq!(client.hear(&opening(size)), Err(refused.clone()));
        assert_eq!(refused.reason(), GapReason::BudgetExceeded);
        assert_eq!(client.screen.size(), Size::new(1, 1));

        check(&update(&[desktop_size(size)]), &refused);
    }
}

#[test]
fn a_name_of_four_gigabytes_is_refused() {
    let mut client = Client::new(Config::default());
    let heard = all(&[
        b"RFB 003.008\n\x01\x01\0\0\0\0",
        &server_init_head(SIZE, u32::MAX),
    ]);
    let len_bytes = u32::MAX;
    let refused = Error::NameTooLong { len_bytes };
    assert_eq!(client.hear(&heard), Err(refused));
}

#[test]
fn a_clipboard_of_two_gigabytes_is_refused() {
    for (len, len_bytes) in [(i32::MAX, 0x7fff_ffff), (i32::MIN, 0x8000_0000)] {
        let error = ClipboardError::TooLong { len_bytes };
        check(&cut_text(len, &[]), &error.into());
    }
}

#[test]
fn a_cursor_larger_than_accepted_is_refused() {
    let size = Size::new(65535, 65535);
    let cursor = rect(size.rect(), CURSOR, &[]);
    check(&update(&[cursor]), &Error::CursorTooLarge { size });
}

#[test]
fn limits_are_met_where_they_are_stated() {
    let named = |len_bytes: u32| {
        let head = server_init_head(SIZE, len_bytes);
        let name = vec![b'a'; usize::try_from(len_bytes).unwrap()];
        let mut client = Client::new(Config::default());
        client.hear(&all(&[b"RFB 003.008\n\x01\x01\0\0\0\0", &head, &name]))
    };
    assert_eq!(named(limits::NAME_BYTES), Ok(()));
    let len_bytes = limits::NAME_BYTES + 1;
    assert_eq!(named(len_bytes), Err(Error::NameTooLong { len_bytes }));

    let size = Size::new(CursorShape::MAX_SIDE_PX + 1, 1);
    let cursor = rect(size.rect(), CURSOR, &[]);
    check(&update(&[cursor]), &Error::CursorTooLarge { size });

    // Twice its raw size would be more.
    let size = Size::new(4096, 2304);
    let mut client = Client::connected(size);
    let limit_bytes = limits::COMPRESSED_BYTES;
    let len_bytes = u32::try_from(limit_bytes).unwrap() + 1;
    let head = rect(size.rect(), server::ZRLE, &len_bytes.to_be_bytes());
    let refused = Error::CompressedTooLong {
        len_bytes,
        limit_bytes,
    };
    assert_eq!(client.hear(&update(&[head])), Err(refused));
}

#[test]
fn what_was_never_offered_is_named() {
    let copy_rect = rect(Rect::new(0, 0, 1, 1), 1, &[0; 4]);
    check(
        &update(&[copy_rect]),
        &Error::UnknownEncoding { encoding: 1 },
    );
    check(&[250, 0, 0, 0], &Error::UnknownMessage { kind: 250 });
}

#[test]
fn more_compressed_bytes_than_pixels_need_are_refused_before_they_come() {
    let area = Rect::new(0, 0, 64, 64);
    let limit_bytes = 2 * 64 * 64 * 4 + limits::COMPRESSED_SLACK_BYTES;
    let len_bytes = u32::try_from(limit_bytes).unwrap() + 1;
    let head = rect(area, server::ZRLE, &len_bytes.to_be_bytes());
    let refused = Error::CompressedTooLong {
        len_bytes,
        limit_bytes,
    };
    check(&update(&[head]), &refused);
}

#[test]
fn a_zlib_bomb_is_stopped_at_the_last_tile() {
    let area = Rect::new(0, 0, 64, 64);
    let bomb = all(&[&[1, 1, 2, 3], &vec![0; 50_000_000]]);
    let compressed = Zlib::new().compress(&bomb);
    assert!(compressed.len() < 60_000, "{}", compressed.len());
    check(
        &update(&[zrle_of(area, &compressed)]),
        &Error::PixelsExceeded,
    );
}

#[test]
fn tiles_must_fill_their_rectangle_exactly() {
    let area = Rect::new(0, 0, 128, 64);
    let tile = [1, 1, 2, 3];
    let zrle = |data: &[u8]| update(&[Zlib::new().zrle(area, data)]);
    check(&zrle(&tile), &Error::PixelsMissing);
    check(&zrle(&[tile, tile, tile].concat()), &Error::PixelsExceeded);
    check(
        &zrle(&[tile, [1, 1, 2, 3]].concat()[..7]),
        &Error::PixelsMissing,
    );
    check(&zrle(&[99]), &Error::TileSubencoding { subencoding: 99 });
    check(&update(&[zrle_of(area, &[])]), &Error::PixelsMissing);
}

#[test]
fn corrupt_or_ended_compression_is_refused() {
    let area = Rect::new(0, 0, 64, 64);
    check(&update(&[zrle_of(area, &[0xff; 20])]), &Error::Zlib);

    let ended = miniz_oxide::deflate::compress_to_vec_zlib(&[1, 1, 2, 3], 6);
    let mut client = Client::connected(SIZE);
    client.hear(&update(&[zrle_of(area, &ended)])).unwrap();
    let more = update(&[zrle_of(area, &[1, 2, 3])]);
    assert_eq!(client.hear(&more), Err(Error::Zlib));
}

#[test]
fn a_resize_storm_is_stopped() {
    let mut client = Client::connected(SIZE);
    let mut flips = (1..).map(|i: u32| Size::new(100 + i % 2, 100));
    let mut flip = || update(&[desktop_size(flips.next().unwrap())]);
    for _ in 0..limits::RESIZES_PER_S {
        client.hear(&flip()).unwrap();
    }
    assert_eq!(client.hear(&flip()), Err(Error::ResizeBudget));
}

#[test]
fn slow_resizes_are_no_storm() {
    let mut client = Client::connected(SIZE);
    for i in 0..100 {
        let size = Size::new(100 + i % 2, 100);
        client.hear(&update(&[desktop_size(size)])).unwrap();
        client.now_ms += 100;
    }
}

#[test]
fn a_flood_of_pixels_from_a_few_bytes_is_stopped() {
    let size = Size::new(3840, 2160);
    let mut client = Client::connected(size);
    let mut zlib = Zlib::new();
    let solid = [1, 1, 2, 3].repeat(tiles(size.rect()));
    let rects: u64 = limits::PIXELS_PER_S * limits::PIXEL_WINDOW_S / size.area_px() + 1;
    let mut wire_bytes = 0;
    let ended = (0..rects).find_map(|_| {
        let wire = update(&[zlib.zrle(size.rect(), &solid)]);
        wire_bytes += wire.len();
        client.hear(&wire).err()
    });
    assert_eq!(ended, Some(Error::PixelBudget));
    assert_eq!(Error::PixelBudget.kind(), ErrorKind::Budget);
    assert!(wire_bytes < 100_000, "{wire_bytes}");
}

#[test]
fn a_busy_screen_stays_within_the_pixel_budget() {
    let size = Size::new(3840, 2160);
    let mut client = Client::connected(size);
    let mut zlib = Zlib::new();
    let solid = [1, 1, 2, 3].repeat(tiles(size.rect()));
    for _ in 0..150 {
        let wire = update(&[zlib.zrle(size.rect(), &solid)]);
        client.hear(&wire).unwrap();
        client.now_ms += 17;
    }
}

#[test]
fn a_flood_of_empty_updates_is_answered_sparingly() {
    let mut client = Client::connected(SIZE);
    let flood = update(&[]).repeat(10_000);
    for _ in 0..10 {
        client.hear(&flood).unwrap();
    }
    assert!(client.sent().len() <= 10);
    assert_eq!(client.events(), []);
}

#[test]
fn a_flood_of_bells_is_one_bell() {
    let mut client = Client::connected(SIZE);
    client.hear(&[2; 100_000]).unwrap();
    assert_eq!(client.events().len(), 1);
}

#[test]
fn a_framebuffer_of_another_size_is_never_written_beyond() {
    let mut client = Client::connected(SIZE);
    client.screen = Framebuffer::new(Size::new(10, 10), 0).unwrap();
    let solid = [1, 1, 2, 3].repeat(tiles(SIZE.rect()));
    let rects = [
        raw(Rect::new(0, 0, 100, 100), [1; 3]),
        Zlib::new().zrle(SIZE.rect(), &solid),
    ];
    client.hear(&update(&rects)).ok();
    assert_eq!(client.screen.size(), Size::new(10, 10));
}
