//! The table: what every source must do. Each fact is shown on a machine that stays for the next.

use std::time::Duration;

use capture::{Damage, Point, Size, source::SourceEvent};
use capture_vnc::Config;
use rustix::process::Signal;

use crate::{
    machine::{Machine, VncMachine},
    recorder::Recorder,
};

/// Shows that a fact holds for a machine, or panics.
type Show = fn(&mut dyn Machine);

/// Every fact but the last, which is the machine's end.
const FACTS: [(&str, Show); 7] = [
    ("a source starts with its size and shows the screen", starts),
    ("a new size is followed, an odd one too", resizes),
    ("stillness is proven and costs little", stands_still),
    (
        "many changes end in the right picture",
        settles_after_a_burst,
    ),
    ("a black screen is a picture too", shows_black),
    ("a new connection shows the same", reconnects),
    ("a stopped source is noticed, and may go on", stalls),
];

/// Holds `machine` to the whole table.
pub(crate) fn hold(machine: &mut dyn Machine) {
    for (fact, show) in FACTS {
        println!("{fact}");
        show(machine);
    }
    ends(machine);
}

fn connected(machine: &dyn Machine) -> Recorder {
    Recorder::new(machine.connect())
}

/// The pointer rests in the lower right corner, where it hides little.
fn parked(machine: &mut dyn Machine) -> Option<Point> {
    let size = machine.screenshot().size;
    let [x, y] = [size.w - 1, size.h - 1].map(|at| i32::try_from(at).unwrap());
    let corner = Point { x, y };
    machine.point(corner);
    Some(corner)
}

fn painted(machine: &mut dyn Machine, scene: u8) -> Option<Point> {
    machine.paint(scene);
    assert!(machine.screenshot().colours() > 1, "a picture of nothing");
    parked(machine)
}

fn starts(machine: &mut dyn Machine) {
    let size = machine.screenshot().size;
    let mut recorder = connected(machine);
    recorder.record_until("the start", |recorder| {
        recorder
            .saw(|event| matches!(event, SourceEvent::Start { size: first, .. } if *first == size))
    });
    for scene in 1..=3 {
        let pointer = painted(machine, scene);
        recorder.record_until_equal(machine, pointer);
    }
}

fn resizes(machine: &mut dyn Machine) {
    if machine.sizes().is_empty() {
        return println!("not shown: this machine's screen has one size only");
    }
    let mut recorder = connected(machine);
    recorder.prove();
    for size in machine.sizes() {
        machine.resize(size);
        recorder.record_until(&format!("the new size {size}"), |recorder| {
            recorder.screen.size() == size
        });
        let pointer = painted(machine, 4);
        recorder.record_until_equal(machine, pointer);
    }
    assert!(recorder.saw(|event| matches!(event, SourceEvent::Resize(_))));
}

fn stands_still(machine: &mut dyn Machine) {
    const FOR_MS: u64 = 4_000;
    let pointer = painted(machine, 5);
    let mut recorder = connected(machine);
    recorder.record_until_equal(machine, pointer);
    let (since_ms, since_bytes) = (recorder.now_ms(), recorder.link.received_bytes());
    let proofs = recorder.proofs();
    recorder.changed = Damage::default();
    recorder.record_until("a while", |recorder| {
        let age_ms = recorder.now_ms() - recorder.link.last_proof_ms().unwrap();
        assert!(age_ms < 2_500, "unproven for {age_ms} ms");
        recorder.now_ms() >= since_ms + FOR_MS
    });
    let proofs = recorder.proofs() - proofs;
    assert!((2..=4).contains(&proofs), "{proofs} proofs");
    let bytes = recorder.link.received_bytes() - since_bytes;
    assert!(bytes < 10_000, "stillness took {bytes} bytes");
    assert!(recorder.changed.is_empty(), "{:?}", recorder.changed);
}

fn settles_after_a_burst(machine: &mut dyn Machine) {
    let pointer = painted(machine, 6);
    let mut recorder = connected(machine);
    recorder.prove();
    let updates = recorder.updates;
    machine.burst();
    recorder.record_until("the burst", |recorder| recorder.updates > updates);
    recorder.record_until_equal(machine, pointer);
}

fn shows_black(machine: &mut dyn Machine) {
    let mut recorder = connected(machine);
    recorder.prove();
    machine.blacken();
    let pointer = parked(machine);
    recorder.record_until_equal(machine, pointer);
    assert!(recorder.screen.lit_px(4_000) < 4_000, "it is not black");
}

fn reconnects(machine: &mut dyn Machine) {
    let pointer = painted(machine, 7);
    for _ in 0..2 {
        let mut recorder = connected(machine);
        recorder.record_until_equal(machine, pointer);
    }
}

fn stalls(machine: &mut dyn Machine) {
    let mut recorder = connected(machine);
    recorder.prove();
    machine.server().signal(Signal::STOP).unwrap();
    let stopped_ms = recorder.now_ms();
    recorder.record_until("the stall", |recorder| {
        recorder.link.is_stalled(recorder.now_ms())
    });
    // A second until proof is asked for, two without an answer.
    let noticed_ms = recorder.now_ms() - stopped_ms;
    assert!(noticed_ms <= 4_000, "noticed after {noticed_ms} ms");
    machine.server().signal(Signal::CONT).unwrap();
    recorder.record_until("the resumption", |recorder| {
        !recorder.link.is_stalled(recorder.now_ms())
    });
    let pointer = painted(machine, 8);
    recorder.record_until_equal(machine, pointer);
}

/// A source that goes away is an end, and no silence.
fn ends(machine: &mut dyn Machine) {
    let mut recorder = connected(machine);
    recorder.prove();
    machine.server().signal(Signal::KILL).unwrap();
    machine.server().wait(Duration::from_secs(10)).unwrap();
    recorder.record_to_the_end();
}

/// The pointer is in the picture once, where it is, whether the server paints it or we do.
pub(crate) fn shows_one_pointer(machine: &mut dyn VncMachine, config: &Config) {
    machine.blacken();
    let mut recorder = Recorder::new(machine.connect_with(config.clone()));
    recorder.prove();
    let Size { w, h } = machine.screenshot().size;
    let [w, h] = [w, h].map(|side| i32::try_from(side).unwrap());
    for at in [
        Point { x: w / 2, y: h / 2 },
        Point { x: w / 4, y: h / 3 },
        Point { x: 5, y: h - 5 },
    ] {
        machine.point(at);
        // Nothing else differs from the screen without a pointer, and that much does.
        recorder.record_until_equal(machine, Some(at));
        recorder.record_until("the pointer", |recorder| {
            let differs = machine.screenshot().difference(&recorder.picture(), [0; 3]);
            differs.is_some_and(|rect| {
                let [x, y] = [at.x, at.y].map(|at| u32::try_from(at).unwrap());
                rect.x <= x && x <= rect.right() && rect.y <= y && y <= rect.bottom()
            })
        });
        recorder.record_until_equal(machine, Some(at));
    }
}
