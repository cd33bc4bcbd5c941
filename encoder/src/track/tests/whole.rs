//! Is the record whole, whatever happens and whichever encoder codes it?

use capture::{GapReason, Rect, Size, event::Event};
use proptest::prelude::*;

use super::{
    SIZE, marks,
    rig::{Rig, check, t},
};
use crate::{Encoder, redact::MASK_YUV};

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
