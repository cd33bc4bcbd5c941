//! Keys, as xdotool types them and as programs change what they mean.

use crate::{
    desktop::Desktop,
    watch::{Watch, acts, text},
};

const TEXTS: [&str; 7] = [
    "the Quick brown fox, 0123456789",
    "~!@#$%^&*()_+{}|:\"<>?`-=[]\\;',./",
    "съешь ещё этих мягких французских булок",
    "naïve café ñandú ß € äöü",
    "😀🎉🚀👍",
    "mixed: aж😀bЖ",
    "aaaa жжжж 😀😀😀😀",
];

/// Types `typed` and expects it back.
#[track_caller]
fn check_typed(desktop: &Desktop, watch: &Watch, options: &[&str], typed: &str) {
    desktop.xdotool(&[&["type"], options, &["--", typed]].concat());
    assert_eq!(text(&watch.keys()), typed);
}

/// What xdotool binds for one letter is gone again before anyone could ask for it.
fn check_texts(desktop: &Desktop) {
    let watch = Watch::start(desktop);
    for typed in TEXTS {
        check_typed(desktop, &watch, &[], typed);
        check_typed(desktop, &watch, &["--delay", "0"], typed);
    }
}

#[test]
fn peer_text_typed_on_xvfb_is_told_letter_by_letter() {
    check_texts(&Desktop::xvfb(80, &[]));
}

#[test]
fn peer_text_typed_on_xvnc_is_told_letter_by_letter() {
    check_texts(&Desktop::xvnc(81));
}

#[test]
fn peer_two_layouts_are_told_by_their_group() {
    let desktop = Desktop::xvfb(80, &[]);
    let watch = Watch::start(&desktop);
    desktop.run("setxkbmap", &["us,ru"]);
    check_typed(&desktop, &watch, &["--delay", "0"], "Hello Привет ёж");
    desktop.run("setxkbmap", &["de", "-variant", "nodeadkeys"]);
    check_typed(&desktop, &watch, &["--delay", "0"], "Zyö @ € {[]}\\ Ж");
}

#[test]
fn peer_chords_keep_their_order() {
    let desktop = Desktop::xvfb(80, &[]);
    let watch = Watch::start(&desktop);
    desktop.xdotool(&["key", "ctrl+c", "Return", "alt+F4"]);
    assert_eq!(
        acts(&watch.keys()),
        "+Control_L +c -Control_L -c +Return -Return +Alt_L +F4 -Alt_L -F4"
    );
}

#[test]
fn peer_a_key_held_down_repeats_and_is_released_once() {
    let desktop = Desktop::xvfb(80, &[]);
    let watch = Watch::start(&desktop);
    desktop.run("xset", &["r", "rate", "100", "50"]);
    desktop.xdotool(&["keydown", "x"]);
    for _ in 0..4 {
        watch.next().expect("it repeats");
    }
    desktop.xdotool(&["keyup", "x"]);
    let rest = watch.keys();
    let (release, repeats) = rest.split_last().expect("a release");
    assert_eq!((release.keysym.char(), release.down), (Some('x'), false));
    assert!(repeats.iter().all(|key| key.down));
}

/// One observer sees programs bind keys and works out what they come to mean; another comes later
/// and asks. They must agree in every state of the keyboard.
#[test]
fn peer_bound_keys_mean_what_the_server_makes_of_them() {
    let desktop = Desktop::xvfb(80, &["-noreset"]);
    let saw = Watch::start(&desktop);
    let bindings = [
        "U0416",
        "Cyrillic_ZHE",
        "Adiaeresis",
        "a",
        "A B",
        "a b c d e f",
        "KP_End KP_1",
        "a NoSymbol Cyrillic_zhe",
        "q Q NoSymbol NoSymbol at Greek_OMEGA",
        "U0436 U0416",
        "F13",
        "Greek_alpha",
        "1 exclam",
        "ssharp question",
        "U1F600",
    ];
    // Keys that the default layout leaves free.
    let codes = [
        93, 97, 101, 103, 120, 126, 132, 149, 154, 168, 178, 183, 184, 197, 217,
    ];
    for (code, binding) in codes.iter().zip(bindings) {
        desktop.run("xmodmap", &["-e", &format!("keycode {code} = {binding}")]);
    }
    saw.so_far();
    let asked = Watch::start(&desktop);
    for lock in ["none", "Caps_Lock", "Num_Lock"] {
        for held in ["", "shift+"] {
            for code in codes {
                desktop.xdotool(&["key", "--delay", "0", &format!("{held}{code}")]);
            }
        }
        if lock != "none" {
            desktop.xdotool(&["key", lock]);
        }
    }
    let (saw, asked) = (saw.keys(), asked.keys());
    assert!(saw.len() > 2 * 6 * codes.len());
    // A character has several keysyms; what it is called is what counts.
    assert_eq!(acts(&saw), acts(&asked));
}

#[test]
fn peer_a_display_that_types_on_after_an_observer_left_is_observed_anew() {
    let desktop = Desktop::xvfb(80, &["-noreset"]);
    drop(Watch::start(&desktop));
    let watch = Watch::start(&desktop);
    check_typed(&desktop, &watch, &[], "again ж");
    assert_eq!(watch.so_far(), []);
}
