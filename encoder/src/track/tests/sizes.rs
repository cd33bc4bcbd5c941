//! What becomes of a screen that changes its size, once or in bursts?

use capture::Size;

use super::{
    SIZE,
    rig::{self, Rig, Show, check},
};

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
