//! What programs put on the clipboard, and how they hand it out.

use capture::input::{Clipboard, Direction, Format};
use capture_screen::x11::Told;

use crate::{
    desktop::Desktop,
    owner::{Manner, Owner},
    watch::Watch,
};

/// Copies, and expects that this and nothing else is told before the next fence.
#[track_caller]
fn check(
    desktop: &Desktop,
    watch: &Watch,
    manner: Manner,
    expected: (&[Format], Option<&str>, u64),
) {
    Owner::copy(desktop, "CLIPBOARD", manner);
    let (formats, text, len_bytes) = expected;
    let expected = Clipboard {
        direction: Direction::FromMachine,
        formats: formats.to_vec(),
        text: text.map(str::to_owned),
        len_bytes,
    };
    let told = watch.clipboards();
    // Not printed: the longest have megabytes.
    assert!(told == [expected], "{} told: {told:?}", told.len());
}

fn text(text: &str) -> Manner {
    Manner::Whole(vec![
        ("UTF8_STRING", text.into()),
        ("STRING", b"other".into()),
    ])
}

#[test]
fn peer_what_is_copied_is_told_before_the_next_fence() {
    let desktop = Desktop::xvfb(85, &["-noreset"]);
    let watch = Watch::start(&desktop);
    let both = "Zażółć 😀";
    check(
        &desktop,
        &watch,
        text(both),
        (&[Format::Text], Some(both), 15),
    );
    check(&desktop, &watch, text(""), (&[Format::Text], Some(""), 0));
    let latin = Manner::Whole(vec![("STRING", b"Gr\xfc\xdfe".into())]);
    check(&desktop, &watch, latin, (&[Format::Text], Some("Grüße"), 7));
    let picture = Manner::Whole(vec![("image/png", vec![0; 99]), ("image/bmp", vec![])]);
    check(&desktop, &watch, picture, (&[Format::Image], None, 0));
    let files = Manner::Whole(vec![
        ("text/uri-list", b"file:/a".into()),
        ("UTF8_STRING", b"/a".into()),
    ]);
    let forms = [Format::Text, Format::Files];
    check(&desktop, &watch, files, (&forms, Some("/a"), 2));
    let broken = Manner::Whole(vec![("UTF8_STRING", vec![0xff, 0xfe])]);
    check(&desktop, &watch, broken, (&[Format::Text], None, 2));
    Owner::copy(&desktop, "PRIMARY", text("marked with the mouse"));
    Owner::empty(&desktop);
    let told = watch.clipboards();
    let [empty] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(empty.formats.is_empty() && empty.text.is_none());
}

#[test]
fn peer_long_text_comes_in_pieces_and_is_bounded() {
    const LONGEST: usize = 2 << 20;
    let desktop = Desktop::xvfb(85, &["-noreset"]);
    let watch = Watch::start(&desktop);
    let long = "ж".repeat(LONGEST / 2);
    let forms: &[Format] = &[Format::Text];
    let len = LONGEST as u64;
    let pieces = |text: &str, size| Manner::Pieces(text.into(), size);
    check(
        &desktop,
        &watch,
        pieces(&long, 250_001),
        (forms, Some(&long), len),
    );
    check(
        &desktop,
        &watch,
        pieces("in words", 3),
        (forms, Some("in words"), 8),
    );
    let longer = format!("{long}!");
    check(
        &desktop,
        &watch,
        pieces(&longer, 250_000),
        (forms, None, len + 1),
    );
    check(&desktop, &watch, Manner::Endless, (forms, None, 1 << 30));
}

/// Input is told meanwhile; a mark waits, but not for ever.
#[test]
fn peer_a_program_that_hands_nothing_out_holds_nothing_up() {
    let desktop = Desktop::xvfb(85, &["-noreset"]);
    let watch = Watch::start(&desktop);
    Owner::copy(&desktop, "CLIPBOARD", Manner::Silent);
    desktop.xdotool(&["key", "a"]);
    for _ in 0..2 {
        let told = watch.next().expect("the display stays");
        assert!(
            matches!(told, Told::Input(capture::input::Input::Key(_))),
            "{told:?}"
        );
    }
    let told = watch.clipboards();
    let [unread] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(
        (&unread.formats[..], &unread.text),
        (&[Format::Text][..], &None)
    );
    // Nor does it, however often it copies.
    for _ in 0..3 {
        Owner::copy(&desktop, "CLIPBOARD", Manner::Silent);
    }
    assert_eq!(watch.clipboards().len(), 3);
    check(
        &desktop,
        &watch,
        text("at last"),
        (&[Format::Text], Some("at last"), 7),
    );
}
