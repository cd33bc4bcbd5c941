//! A track against simulated time: hours of it, with a codec that codes nothing.

mod marks;
mod rig;

use capture::{GapReason, Rect, Size, event::Event};
use proptest::prelude::*;

use super::*;
use crate::redact::MASK_YUV;
use rig::{Rig, Show, check, t};

const SIZE: Size = Size::new(64, 48);

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

#[test]
fn fragments_end_after_sixty_samples_and_objects_after_a_minute() {
    let mut rig = Rig::new(SIZE);
    for n in 0..3000 {
        rig.change(n * 67);
    }
    let recorded = check(rig.end(3000 * 67));
    let whole = |show: &&Show| matches!(show, Show::Fragment { samples: 60, .. });
    assert!(recorded.shows.iter().filter(whole).count() > 45);
    let starts: Vec<u64> = rig::objects(&recorded)
        .iter()
        .map(|&(from, _)| from)
        .collect();
    assert_eq!(starts, [0, 60_000, 120_000, 180_000]);
}

#[test]
fn large_samples_end_fragments_at_4_mib_and_objects_at_8() {
    let mut rig = Rig::new(SIZE).with_sample_bytes(700_000);
    for n in 0..60 {
        rig.change(n * 70);
    }
    let recorded = check(rig.end(60 * 70));
    assert_eq!(rig::objects(&recorded)[0], (0, 12 * 70));
    assert!(matches!(
        recorded.shows[0],
        Show::Fragment { samples: 6, .. }
    ));
}

#[test]
fn a_gap_begins_at_the_last_proof_and_ends_with_a_key_frame() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.proof(1_200);
    rig.gap(1_250, GapReason::Stalled);
    rig.proof(1_500);
    rig.gap(5_000, GapReason::Disconnected);
    rig.change(9_000);
    let recorded = check(rig.end(9_400));
    assert_eq!(
        recorded.shows,
        [
            Show::Fragment {
                from: 0,
                to: 1_250,
                samples: 2,
                changed: 1
            },
            Show::Gap {
                from: 1_250,
                to: 5_000,
                reason: GapReason::Stalled
            },
            Show::Gap {
                from: 5_000,
                to: 9_000,
                reason: GapReason::Disconnected
            },
            Show::Fragment {
                from: 9_000,
                to: 9_400,
                samples: 1,
                changed: 1
            },
        ]
    );
    assert_eq!(rig::objects(&recorded), [(0, 1_250), (1_250, 9_400)]);
}

#[test]
fn a_session_may_end_in_a_gap_or_in_idle() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.gap(0, GapReason::Disconnected);
    let recorded = check(rig.end(7_000));
    assert_eq!(
        recorded.shows[0],
        Show::Fragment {
            from: 0,
            to: 1,
            samples: 1,
            changed: 1
        }
    );
    assert_eq!(
        recorded.shows[1],
        Show::Gap {
            from: 1,
            to: 7_000,
            reason: GapReason::Disconnected
        }
    );
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.still_until(120_000);
    let recorded = check(rig.end(120_000));
    assert_eq!(recorded.objects.len(), 2, "no object without length");
}

#[test]
fn a_further_run_begins_with_its_gap() {
    let mut rig = Rig::resumed(SIZE, 12, t(50_000));
    rig.gap(50_000, GapReason::RecorderRestarted);
    rig.change(53_000);
    let recorded = check(rig.end(53_500));
    assert_eq!(
        recorded.shows,
        [
            Show::Gap {
                from: 50_000,
                to: 53_000,
                reason: GapReason::RecorderRestarted
            },
            Show::Fragment {
                from: 53_000,
                to: 53_500,
                samples: 1,
                changed: 1
            },
        ]
    );
    assert_eq!(recorded.objects[0].span.seq, 12);
}

#[test]
fn a_burst_of_sizes_holds_the_old_picture_until_it_settles() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    for n in 0..4 {
        rig.resize(
            600 + n * 100,
            Size::new(66 + u32::try_from(n).unwrap() * 2, 50),
        );
    }
    // Only the proof comes after the size has settled, at 900 + 250 ms.
    rig.proof(1_900);
    let recorded = check(rig.end(1_950));
    assert_eq!(rig::objects(&recorded), [(0, 1_150), (1_150, 1_950)]);
    assert_eq!(recorded.objects[1].screen, Some(Size::new(72, 50)));
    // The heartbeat that fell due during the burst shows the old picture.
    assert!(matches!(
        recorded.shows[0],
        Show::Fragment { samples: 2, .. }
    ));
}

#[test]
fn an_endless_burst_is_cut_after_a_second() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    for n in 0..30 {
        rig.resize(
            500 + n * 100,
            Size::new(66 + u32::try_from(n).unwrap() * 2, 50),
        );
    }
    let recorded = check(rig.end(3_500));
    let starts: Vec<u64> = rig::objects(&recorded)
        .iter()
        .map(|&(from, _)| from)
        .collect();
    assert_eq!(starts, [0, 1_500, 2_600]);
}

#[test]
fn a_size_that_comes_back_at_once_cuts_nothing() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.resize(500, Size::new(80, 60));
    rig.resize(600, SIZE);
    let recorded = check(rig.end(700));
    assert_eq!(rig::objects(&recorded), [(0, 700)]);
    assert!(matches!(
        recorded.shows[0],
        Show::Fragment {
            samples: 2,
            changed: 2,
            ..
        }
    ));
}

#[test]
fn odd_sizes_are_cropped() {
    let mut rig = Rig::new(Size::new(65, 47));
    rig.change(0);
    let recorded = check(rig.end(100));
    assert_eq!(recorded.objects[0].screen, Some(Size::new(65, 47)));
}

#[test]
fn a_change_under_a_mask_leaves_no_trace() {
    let policy = "[[mask]]\nname = \"m\"\nrect = [0, 0, 32, 32]\n";
    let mut rig = Rig::new(SIZE).with_policy(policy);
    rig.change(0);
    rig.change_in(300, Rect::new(4, 4, 8, 8));
    rig.change_in(700, Rect::new(40, 40, 8, 8));
    rig.still_until(130_000);
    let recorded = check(rig.end(130_500));
    assert!(matches!(
        recorded.shows[0],
        Show::Fragment { changed: 2, .. }
    ));
    for object in &recorded.objects {
        let mask = &object.span.masks[0];
        assert_eq!(
            (mask.rect, mask.rule.as_str()),
            (Rect::new(0, 0, 34, 34), "m")
        );
        assert_eq!((mask.from, mask.to), (object.span.from, object.span.to));
    }
    assert!(
        recorded.thumbs.iter().all(|px| px.abs_diff(48) < 10),
        "{:?}",
        recorded.thumbs
    );
}

#[test]
fn what_happens_after_a_cut_is_in_the_object_after_it() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.still_until(59_000);
    rig.event(Event::health(t(59_900), "a", ""));
    rig.event(Event::health(t(60_400), "b", ""));
    rig.change(60_800);
    let recorded = check(rig.end(61_000));
    let events: Vec<_> = recorded
        .objects
        .iter()
        .map(|object| object.events.len())
        .collect();
    assert_eq!(events, [1, 1]);
}

#[test]
fn what_ends_after_a_cut_is_late_in_the_object_after_it() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    rig.still_until(60_500);
    rig.event(Event::health(t(59_900), "typed", ""));
    let recorded = check(rig.end(61_000));
    assert_eq!(rig::objects(&recorded)[1].0, 60_000);
    assert_eq!(recorded.objects[1].events[0].t, t(59_900));
}

/// Something of about a megabyte.
fn pasted(ms: u64) -> Event {
    Event::health(t(ms), "pasted", &"x".repeat(1 << 20))
}

#[test]
fn an_object_with_many_events_ends_early() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    for n in 1..=30 {
        rig.event(pasted(n * 100));
        rig.change(n * 100 + 50);
    }
    // The same while the encoder rests.
    rig.still_until(125_000);
    for n in 0..=30 {
        rig.event(pasted(125_500 + n * 1000));
        rig.proof(126_000 + n * 1000);
    }
    let recorded = check(rig.end(157_000));
    let events = recorded.objects.iter().map(|object| object.events.len());
    assert_eq!(events.clone().sum::<usize>(), 61);
    assert!(events.max().unwrap() <= 9);
}

#[test]
fn a_flood_of_events_is_cut_off_and_said() {
    let mut rig = Rig::new(SIZE);
    rig.change(0);
    for n in 0..50 {
        rig.event(pasted(100 + n));
    }
    rig.change(1_000);
    let recorded = check(rig.end(1_100));
    let events: Vec<&Event> = recorded.objects.iter().flat_map(|it| &it.events).collect();
    let floods = events.iter().filter(|event| event.data["state"] == "flood");
    assert_eq!(floods.count(), 1);
    assert!((30..40).contains(&events.len()), "{}", events.len());
}

#[test]
fn each_key_frame_has_a_thumbnail() {
    let mut rig = Rig::new(SIZE);
    for n in 0..200 {
        rig.change(n * 100);
    }
    let recorded = check(rig.end(20_000));
    let keys: Vec<_> = recorded.shows.iter().map(|show| show.from()).collect();
    assert_eq!(recorded.objects[0].thumb_times, keys);
}

#[derive(Clone, Debug)]
enum Step {
    Change,
    SmallChange,
    Still,
    Proof,
    Gap,
    Resize(u32),
    Event,
    Mark(bool),
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let wait = prop_oneof![8 => 1u64..1500, 1 => 1u64..90_000];
    let step = prop_oneof![
        8 => Just(Step::Change),
        4 => Just(Step::SmallChange),
        2 => Just(Step::Still),
        8 => Just(Step::Proof),
        1 => Just(Step::Gap),
        1 => (0u32..3).prop_map(Step::Resize),
        2 => Just(Step::Event),
        1 => any::<bool>().prop_map(Step::Mark),
    ];
    (wait, step)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens_the_record_is_whole(steps in prop::collection::vec(step(), 1..120)) {
        let mut rig = Rig::new(SIZE).with_policy(marks::VAULT);
        rig.change(0);
        let mut now = 0;
        // Until when the marks are closed, open, closed …, from the first picture on.
        let mut turns = Vec::new();
        for (wait, step) in steps {
            now += wait;
            match step {
                Step::Change => rig.change(now),
                Step::SmallChange => rig.change_in(now, Rect::new(3, 3, 5, 5)),
                Step::Still => rig.still_until(now + 65_000),
                Step::Proof => rig.proof(now),
                Step::Gap => rig.gap(now, GapReason::Disconnected),
                Step::Resize(n) => rig.resize(now, Size::new(64 + n, 48)),
                Step::Event => rig.event(Event::health(t(now), "ok", "")),
                Step::Mark(open) => {
                    rig.marks(now, if open { &["vault.open"] } else { &[] });
                    if open != (turns.len() % 2 == 1) {
                        turns.push(now);
                    }
                }
            }
            if matches!(step, Step::Still) {
                now += 65_000;
            }
        }
        for (t, pixel) in rig.seen() {
            let open = turns.iter().filter(|&&turn| turn <= t).count() % 2 == 1;
            prop_assert_eq!(pixel == MASK_YUV, open, "at {}: {:?}", t, turns);
        }
        check(rig.end(now + 10));
    }
}

/// The same machine with the real encoder: what it makes is a file the format's reader accepts.
#[test]
fn real_samples_make_real_segments() {
    for encoder in [Encoder::X264, Encoder::Openh264] {
        let mut rig = Rig::coded_by(SIZE, encoder, "");
        for n in 0..80 {
            rig.change(n * 70);
        }
        rig.still_until(15_000);
        rig.resize(15_100, Size::new(97, 33));
        rig.still_until(18_000);
        let recorded = check(rig.end(18_400));
        assert_eq!(recorded.objects.len(), 2, "{encoder}");
    }
}
