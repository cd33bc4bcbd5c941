//! What is forwarded and recorded once a driver is let in: each message there is, whole and in
//! any pieces.

use capture::{
    Point,
    input::{Buttons, Clipboard, Direction, Format, Input, Key, Keysym, Pointer},
};
use capture_vnc::proxy::End;
use miniz_oxide::deflate::compress_to_vec_zlib;
use proptest::prelude::*;

use crate::between::Between;

/// What the server hears and what is recorded when a driver says `said` in `pieces`.
fn run<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<Input>) {
    let mut between = Between::established();
    for piece in pieces {
        between.say(End::Driver, piece).unwrap();
    }
    assert_eq!(between.relay.poll_timeout(), None, "between messages");
    (between.heard(End::Server), between.acts())
}

/// A message is forwarded as `forwarded` and recorded as `acts`, wherever it is cut.
fn check_forwarded(said: &[u8], forwarded: &[u8], acts: &[Input]) {
    // A bell is no message of a driver; another key after it shows where the message ended.
    let key = key_event(0x61, true);
    let said = [said, &key].concat();
    let forwarded = [forwarded, &key].concat();
    let acts = [acts, &[pressed(0x61, true, None)]].concat();
    let expected = (forwarded, acts);
    for cut in 0..said.len() {
        let (first, second) = said.split_at(cut);
        assert_eq!(run([first, second]), expected, "cut at {cut}");
    }
    assert_eq!(run(said.chunks(1)), expected, "byte by byte");
}

fn check(said: &[u8], acts: &[Input]) {
    check_forwarded(said, said, acts);
}

fn key_event(keysym: u32, down: bool) -> Vec<u8> {
    [&[4, u8::from(down), 0, 0][..], &keysym.to_be_bytes()].concat()
}

fn pressed(keysym: u32, down: bool, scan_code: Option<u32>) -> Input {
    Input::Key(Key {
        keysym: Keysym(keysym),
        down,
        scan_code,
    })
}

fn set_encodings(encodings: &[i32]) -> Vec<u8> {
    let count = u16::try_from(encodings.len()).unwrap().to_be_bytes();
    let encodings: Vec<u8> = encodings.iter().flat_map(|n| n.to_be_bytes()).collect();
    [&[2, 0][..], &count, &encodings].concat()
}

fn cut_text(length: i32, body: &[u8]) -> Vec<u8> {
    [&[6, 0, 0, 0][..], &length.to_be_bytes(), body].concat()
}

fn extended(flags: u32, rest: &[u8]) -> Vec<u8> {
    let length = -i32::try_from(rest.len() + 4).unwrap();
    cut_text(length, &[&flags.to_be_bytes()[..], rest].concat())
}

fn provide(flags: u32, forms: &[&[u8]]) -> Vec<u8> {
    let length = |form: &[u8]| u32::try_from(form.len()).unwrap().to_be_bytes();
    let plain: Vec<u8> = { forms.iter() }
        .flat_map(|form| [&length(form)[..], form].concat())
        .collect();
    extended(1 << 28 | flags, &compress_to_vec_zlib(&plain, 6))
}

fn clipboard(formats: &[Format], text: Option<&str>, len_bytes: u64) -> Input {
    Input::Clipboard(Clipboard {
        direction: Direction::ToMachine,
        formats: formats.to_vec(),
        text: text.map(Into::into),
        len_bytes,
    })
}

fn text(text: &str) -> Input {
    clipboard(&[Format::Text], Some(text), text.len() as u64)
}

#[test]
fn keys_are_recorded_up_and_down_with_their_place() {
    check(&key_event(0xff0d, true), &[pressed(0xff0d, true, None)]);
    check(&key_event(0x41, false), &[pressed(0x41, false, None)]);
    let qemu = b"\xff\x00\x00\x01\x00\x00\x04\x36\x00\x00\x00\x2f";
    check(qemu, &[pressed(0x436, true, Some(0x2f))]);
    let qemu = b"\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe0\x1d";
    check(qemu, &[pressed(0, false, Some(0xe01d))]);
}

#[test]
fn the_pointer_is_recorded_with_its_buttons() {
    let pointer = Input::Pointer(Pointer {
        at: Point { x: 1279, y: 65_535 },
        buttons: Buttons(0b1000_0101),
    });
    check(b"\x05\x85\x04\xff\xff\xff", &[pointer]);
}

#[test]
fn messages_that_are_not_input_go_on_unrecorded() {
    let screens = [vec![251, 0, 5, 0, 3, 32, 2, 0], vec![7; 32]].concat();
    let fence = [vec![248, 0, 0, 0, 128, 0, 0, 0, 64], vec![9; 64]].concat();
    for message in [
        &[vec![0, 0, 0, 0], vec![255; 16]].concat(),
        &set_encodings(&[]),
        &set_encodings(&[16, 7, -239, -258, -308]),
        &vec![3, 1, 0, 0, 0, 0, 5, 0, 3, 32],
        &vec![150, 1, 0, 0, 0, 0, 5, 0, 3, 32],
        &vec![248, 0, 0, 0, 128, 0, 0, 0, 0],
        &fence,
        &vec![250, 0, 1, 2],
        &vec![251, 0, 5, 0, 3, 32, 0, 0],
        &screens,
        &vec![255, 1, 0, 0],
        &vec![255, 1, 0, 1],
        &vec![255, 1, 0, 2, 3, 2, 0, 0, 172, 68],
    ] {
        check(message, &[]);
    }
}

#[test]
fn extensions_that_would_hide_input_are_withheld() {
    let said = set_encodings(&[16, -316, 0, -305, -258, -257, -0x8000, -0x7ffc, -0x7ffb]);
    let passed = set_encodings(&[16, 0, -258, -0x7ffb]);
    check_forwarded(&said, &passed, &[]);
}

#[test]
fn a_classic_clipboard_is_latin_1() {
    check(&cut_text(0, b""), &[clipboard(&[], Some(""), 0)]);
    check(&cut_text(4, b"caf\xe9"), &[text("café")]);
}

#[test]
fn an_extended_clipboard_is_unicode() {
    let said = provide(1, &[&["дом\r\n😀".as_bytes(), &[0]].concat()]);
    check(&said, &[text("дом\n😀")]);
    let said = provide(0b101, &[b"a\0", b"<b>a</b>"]);
    let both = clipboard(&[Format::Text, Format::Html], Some("a"), 1);
    check(&said, &[both]);
    let picture = clipboard(&[Format::Image], None, 9);
    check(&provide(0b1000, &[&[1; 9]]), &[picture]);
}

#[test]
fn a_note_of_new_text_moves_nothing() {
    let caps = extended(0x1f00_0001, &[0, 16, 0, 0]);
    let request = extended(1 << 25 | 1, &[]);
    let peek = extended(1 << 26, &[]);
    let notify = extended(1 << 27 | 1, &[]);
    for message in [caps, request, peek, notify] {
        check(&message, &[]);
    }
    let emptied = clipboard(&[], None, 0);
    check(&extended(1 << 27, &[]), &[emptied]);
    let files = clipboard(&[Format::Files], None, 0);
    check(&extended(1 << 27 | 0b1_0000, &[]), &[files]);
}

#[test]
fn a_clipboard_of_two_megabytes_is_recorded_whole() {
    let long = "Ж".repeat(1 << 20);
    let said = provide(1, &[long.as_bytes()]);
    let (forwarded, acts) = run(said.chunks(64 * 1024));
    assert!(forwarded == said && acts == [text(&long)]);
    let latin = "x".repeat(2 << 20);
    let said = cut_text(2 << 20, latin.as_bytes());
    let (forwarded, acts) = run(said.chunks(64 * 1024));
    assert!(forwarded == said && acts == [text(&latin)]);
}

#[test]
fn a_longer_clipboard_passes_by_and_its_size_is_told() {
    let length = 20 << 20;
    let size = u64::try_from(length).unwrap();
    for (said, formats) in [
        (cut_text(length, &[]), vec![Format::Text]),
        (
            cut_text(-length, &[0x10, 0, 0, 0b11]),
            vec![Format::Text, Format::Rtf],
        ),
    ] {
        let mut between = Between::established();
        between.say(End::Driver, &said).unwrap();
        assert_eq!(between.acts(), [clipboard(&formats, None, size)]);
        assert_eq!(between.heard(End::Server), said, "not held back");
        let mut left = usize::try_from(length).unwrap() + 8 - said.len();
        while left > 0 {
            assert!(between.relay.poll_timeout().is_some(), "inside a message");
            let part = vec![4; left.min(1 << 20)];
            between.say(End::Driver, &part).unwrap();
            assert_eq!(between.heard(End::Server), part, "passes by as it comes");
            left -= part.len();
        }
        between.say(End::Driver, &key_event(0x61, true)).unwrap();
        assert_eq!(between.acts(), [pressed(0x61, true, None)]);
    }
}

#[test]
fn what_the_server_says_goes_on_unread() {
    let mut between = Between::established();
    let said: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    between.say(End::Server, &said).unwrap();
    assert_eq!(between.heard(End::Driver), said);
    assert_eq!(between.heard(End::Server), b"");
    assert_eq!(between.acts(), []);
}

/// Any message of a driver.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let encodings = prop::collection::vec(prop_oneof![Just(-316), any::<i32>()], 0..9);
    prop_oneof![
        any::<[u8; 16]>().prop_map(|format| [&[0; 4][..], &format].concat()),
        encodings.prop_map(|encodings| set_encodings(&encodings)),
        any::<[u8; 9]>().prop_map(|rest| [&[3][..], &rest].concat()),
        (any::<u32>(), any::<bool>()).prop_map(|(keysym, down)| key_event(keysym, down)),
        any::<[u8; 5]>().prop_map(|rest| [&[5][..], &rest].concat()),
        any::<[u8; 10]>().prop_map(|rest| [&[255, 0][..], &rest].concat()),
        prop::collection::vec(any::<u8>(), 0..99)
            .prop_map(|text| cut_text(i32::try_from(text.len()).unwrap(), &text)),
        ".{0,50}".prop_map(|text| provide(1, &[text.as_bytes()])),
        any::<u32>().prop_map(|forms| extended(1 << 27 | forms & 0xffff, &[])),
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same(
        messages in prop::collection::vec(message(), 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let said = messages.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(said.len())).collect();
        cuts.extend([0, said.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &said[cut[0]..cut[1]]);
        prop_assert_eq!(run(pieces), run([said.as_slice()]));
    }

    #[test]
    fn anything_at_all_is_read_or_refused(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..9),
    ) {
        let mut between = Between::established();
        for piece in pieces {
            if between.say(End::Driver, &piece).is_err() {
                break;
            }
        }
    }
}
