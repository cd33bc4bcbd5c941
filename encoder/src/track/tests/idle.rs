//! What does a picture cost that stands still? A sample a second, then repetitions.

use super::{
    SIZE,
    rig::{self, Rig, Show, check},
};

#[test]
fn a_still_picture_beats_each_second_and_then_rests() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.still_until(200_000);
    let recorded = check(rig.end(200_300));
    // One minute that begins with the change, one idle GOP, then its repetition.
    assert_eq!(
        recorded.shows,
        [
            Show::Fragment {
                from: 0,
                to: 60_000,
                samples: 60,
                changed: 1
            },
            Show::Fragment {
                from: 60_000,
                to: 120_000,
                samples: 60,
                changed: 0
            },
            Show::Repeat {
                from: 120_000,
                to: 200_300,
                seq: 1,
                fragment: 0
            },
        ]
    );
    assert_eq!(
        rig::objects(&recorded),
        [(0, 60_000), (60_000, 120_000), (120_000, 200_300)]
    );
}

#[test]
fn a_crash_at_rest_loses_nothing_that_was_proven() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    // Each a little later within its second, past the first idle GOP and an idle object.
    for n in 1..1_000 {
        let at = 937 * n;
        rig.proof(at);
        let lost = at - rig.reaches();
        assert!(lost < super::super::TICK_MS, "{lost} ms of {at}");
    }
}

#[test]
fn an_idle_hour_costs_little_and_no_encoding() {
    const HOUR_MS: u64 = 3_600_000;
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.still_until(120_000);
    let coded = rig.coded();
    rig.still_until(8 * HOUR_MS);
    assert_eq!(rig.coded(), coded, "the encoder rests");
    let recorded = check(rig.end(8 * HOUR_MS + 500));
    let idle_bytes: usize = recorded
        .objects
        .iter()
        .skip(2)
        .map(|object| object.file.len())
        .sum();
    assert!(idle_bytes < 8 * 50_000, "{idle_bytes} bytes for 8 hours");
    let repeats = recorded.shows.iter().skip(2);
    assert!(repeats.clone().all(|show| matches!(
        show,
        Show::Repeat {
            seq: 1,
            fragment: 0,
            ..
        }
    )));
    assert_eq!(repeats.count(), 48);
    assert!(recorded.shows.contains(&Show::Repeat {
        from: 720_000,
        to: 1_320_000,
        seq: 1,
        fragment: 0
    }));
}

#[test]
fn the_first_change_after_idle_ends_the_repetition() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.still_until(150_000);
    rig.change(150_400);
    let recorded = check(rig.end(150_900));
    assert_eq!(
        recorded.shows[2..],
        [
            Show::Repeat {
                from: 120_000,
                to: 150_400,
                seq: 1,
                fragment: 0
            },
            Show::Fragment {
                from: 150_400,
                to: 150_900,
                samples: 1,
                changed: 1
            },
        ]
    );
    assert_eq!(
        recorded.objects.len(),
        3,
        "the change is in the object of the repetition"
    );
}

#[test]
fn a_change_that_ends_an_idle_gop_to_the_millisecond_needs_no_repetition() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.still_until(119_000);
    rig.change(120_000);
    let recorded = check(rig.end(120_100));
    assert_eq!(
        recorded.shows.last(),
        Some(&Show::Fragment {
            from: 120_000,
            to: 120_100,
            samples: 1,
            changed: 1
        })
    );
    assert_eq!(recorded.shows.len(), 3);
}
