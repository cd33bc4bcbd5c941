//! A repetition shows the same samples at another time, and not a tick beyond its place.

use segment::mp4::{self, PlaceError};

use crate::recording::{close, ms, open, sample, segment, small_init};

/// An idle GOP of three samples, lasting 2.5 s.
fn idle_gop() -> Vec<u8> {
    let (file, manifest) = segment(&[
        open(1000),
        small_init(),
        sample(1000, true, 0, b"first"),
        sample(2000, false, 0, b"second"),
        sample(3000, false, 0, b"third"),
        close(3500),
    ]);
    let fragment = &manifest.fragments[0];
    mp4::part(&file, fragment.byte_range()).unwrap().to_vec()
}

/// Places the GOP and compares each sample's start, length in ms, and bytes.
#[track_caller]
fn check(at: u64, to: u64, expected: &[(u64, u64, &[u8])]) {
    let placed = mp4::place(&idle_gop(), ms(at), ms(to)).unwrap();
    let samples = mp4::fragment_samples(&placed).unwrap();
    let read: Vec<_> = samples
        .iter()
        .map(|s| (s.t_ticks / 90, u64::from(s.duration_ticks) / 90, s.bytes))
        .collect();
    assert_eq!(read, expected);
    let keys: Vec<_> = samples.iter().map(|sample| sample.key).collect();
    assert!(keys[0] && !keys[1..].contains(&true));
}

#[test]
fn a_whole_repetition_keeps_its_samples() {
    let whole: &[(u64, u64, &[u8])] = &[
        (60_000, 1000, b"first"),
        (61_000, 1000, b"second"),
        (62_000, 500, b"third"),
    ];
    check(60_000, 62_500, whole);
    check(60_000, 90_000, whole);
}

#[test]
fn a_repetition_cut_within_a_sample_shortens_it() {
    check(
        60_000,
        61_001,
        &[(60_000, 1000, b"first"), (61_000, 1, b"second")],
    );
}

#[test]
fn a_sample_that_would_begin_at_the_end_is_left_out() {
    check(60_000, 61_000, &[(60_000, 1000, b"first")]);
    check(0, 1, &[(0, 1, b"first")]);
}

#[test]
fn a_place_without_room_is_refused() {
    for (at, to) in [(5, 5), (6, 5), (u64::MAX, u64::MAX)] {
        let error = mp4::place(&idle_gop(), ms(at), ms(to)).unwrap_err();
        assert!(matches!(error, PlaceError::Empty { .. }), "{error}");
    }
}

#[test]
fn a_placed_fragment_can_be_placed_again() {
    let gop = idle_gop();
    let away = mp4::place(&gop, ms(9_000_000), ms(9_900_000)).unwrap();
    assert_eq!(mp4::place(&away, ms(1000), ms(3500)).unwrap(), gop);
}
