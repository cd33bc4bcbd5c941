//! Where does a gap begin and end, and what is before and after it?

use capture::GapReason;

use super::{
    SIZE,
    rig::{self, Rig, Show, check, t},
};

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
