//! What is kept beside the picture: masks, events and thumbnails.

use capture::{Rect, event::Event};

use super::{
    SIZE,
    rig::{self, Rig, Show, check, t},
};

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
