//! When do fragments and objects end while the picture goes on?

use super::{
    SIZE,
    rig::{self, Rig, Show, check},
};

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
