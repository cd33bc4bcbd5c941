//! x11vnc, which polls a plain X server: LibVNCServer on the wire.

use capture_vnc::Config;

use crate::{desktop::Desktop, recorder::Recorder};

#[test]
fn peer_x11vnc_picture_equals_the_screen_and_stays_proven() {
    let mut desktop = Desktop::x11vnc(67);
    let mut recorder = Recorder::connect(&desktop, Config::default());
    recorder
        .record_until("the first picture", |recorder| recorder.updates > 0)
        .unwrap();
    desktop.draw();
    recorder.record_until_equal(&desktop);

    let proofs = recorder.proofs();
    recorder
        .record_until("three proofs", |recorder| recorder.proofs() >= proofs + 3)
        .unwrap();
    recorder.record_until_equal(&desktop);
}
