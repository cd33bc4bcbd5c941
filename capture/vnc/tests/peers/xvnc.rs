//! TigerVNC's server.

use std::process::Command;

use capture::{Damage, Size, source::SourceEvent};
use capture_vnc::{Config, Error, ErrorKind, Password};

use crate::{desktop::Desktop, recorder::Recorder};

#[test]
fn peer_xvnc_picture_equals_the_screen() {
    let mut desktop = Desktop::xvnc(60, &["-depth", "24", "-desktop", "the desk"]);
    let mut recorder = Recorder::connect(&desktop, Config::default());
    recorder
        .record_until("the start", |recorder| {
            recorder.saw(|event| {
                matches!(event, SourceEvent::Start { size, server_name }
                    if *size == Size::new(1280, 800) && server_name.contains("the desk"))
            })
        })
        .unwrap();
    desktop.draw();
    recorder.record_until_equal(&desktop);

    // Windows that move over one another tempt servers to copy instead of to send.
    for place in ["300", "90", "410"] {
        let windows = ["search", "--class", "xterm", "windowmove", place, place];
        desktop.run(&[&["xdotool"], windows.as_slice()].concat());
        recorder.record_until_equal(&desktop);
    }

    let scrolling = "for i in $(seq 300); do echo $i; sleep 0.01; done; exec sleep 1000";
    desktop.open(&[
        "xterm",
        "-geometry",
        "60x30+400+100",
        "-e",
        "sh",
        "-c",
        scrolling,
    ]);
    let updates = recorder.updates;
    recorder
        .record_until("the scrolling", |recorder| recorder.updates > updates + 20)
        .unwrap();
    recorder.record_until_equal(&desktop);
}

/// A pointer that nobody moved through this connection is painted all the same, so the shape
/// handed out is the empty one. That is why a recorder does not ask for it.
#[test]
fn peer_xvnc_paints_the_pointer_though_its_shape_was_asked_for() {
    let desktop = Desktop::xvnc(69, &["-depth", "24"]);
    desktop.run(&["xdotool", "mousemove", "300", "300"]);
    let config = Config {
        cursor: true,
        ..Config::default()
    };
    let mut recorder = Recorder::connect(&desktop, config);
    recorder
        .record_until("a hidden pointer", |recorder| {
            recorder.saw(|event| {
                matches!(event, SourceEvent::Cursor { shape: Some(shape), .. }
                    if shape.size().area_px() == 0)
            })
        })
        .unwrap();
}

#[test]
fn peer_xvnc_depth_16_is_seen_in_full_colour() {
    let mut desktop = Desktop::xvnc(62, &["-depth", "16"]);
    desktop.draw();
    let mut recorder = Recorder::connect(&desktop, Config::default());
    recorder.record_until_equal(&desktop);
}

#[test]
fn peer_xvnc_resize_is_followed() {
    let mut desktop = Desktop::xvnc(63, &["-depth", "24"]);
    desktop.draw();
    let mut recorder = Recorder::connect(&desktop, Config::default());
    recorder.record_until_equal(&desktop);
    for (mode, size) in [
        ("1024x768", Size::new(1024, 768)),
        ("1920x1080", Size::new(1920, 1080)),
    ] {
        desktop.run(&["xrandr", "--output", "VNC-0", "--mode", mode]);
        desktop.park_pointer();
        recorder
            .record_until("the new size", |recorder| {
                recorder.saw(|event| *event == SourceEvent::Resize(size))
            })
            .unwrap();
        recorder.record_until_equal(&desktop);
        assert_eq!(recorder.screen.size(), size);
    }
}

/// A password file as the server reads it.
pub(crate) fn password_file(password: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), password).unwrap();
    let obscured = Command::new("vncpasswd")
        .arg("-f")
        .stdin(file.reopen().unwrap())
        .output()
        .unwrap();
    std::fs::write(file.path(), obscured.stdout).unwrap();
    file
}

pub(crate) fn with_password(password: &str) -> Config {
    Config {
        password: Some(Password::new(password.into())),
        ..Config::default()
    }
}

/// The right password lets us in; a wrong one and none at all are refusals.
fn check_password(number: u16, options: &[&str]) {
    let file = password_file("correct!");
    let path = file.path().to_str().unwrap();
    let secured = ["-SecurityTypes", "VncAuth", "-PasswordFile", path];
    let desktop = Desktop::xvnc(number, &[&secured, options].concat());

    let mut right = Recorder::connect(&desktop, with_password("correct! and more"));
    right
        .record_until("the first picture", |recorder| recorder.updates > 0)
        .unwrap();

    let mut wrong = Recorder::connect(&desktop, with_password("incorrect"));
    let refused = wrong.record_until("the refusal", |_| false).unwrap_err();
    assert!(
        matches!(refused, Error::PasswordRefused { .. }),
        "{refused:?}"
    );

    let mut none = Recorder::connect(&desktop, Config::default());
    let refused = none.record_until("the refusal", |_| false).unwrap_err();
    assert_eq!(refused, Error::PasswordRequired);
    assert_eq!(refused.kind(), ErrorKind::Refused);
}

#[test]
fn peer_xvnc_password_is_checked() {
    check_password(61, &[]);
}

#[test]
fn peer_xvnc_password_is_checked_in_version_3_3() {
    check_password(65, &["-Protocol3.3"]);
}

#[test]
fn peer_xvnc_stillness_is_proven_and_a_stopped_server_noticed() {
    const FOR_MS: u64 = 5_000;
    let mut desktop = Desktop::xvnc(64, &["-depth", "24"]);
    desktop.draw();
    let mut recorder = Recorder::connect(&desktop, Config::default());
    recorder.record_until_equal(&desktop);

    let (since_ms, since_bytes) = (recorder.now_ms(), recorder.session.received_bytes());
    let proofs = recorder.proofs();
    recorder.changed = Damage::default();
    recorder
        .record_until("a while", |recorder| {
            let proven_ms = recorder.session.last_proof_ms();
            let age_ms = recorder.now_ms() - proven_ms.unwrap();
            assert!(age_ms < 2_500, "unproven for {age_ms} ms");
            recorder.now_ms() >= since_ms + FOR_MS
        })
        .unwrap();
    let proofs = recorder.proofs() - proofs;
    assert!((3..=5).contains(&proofs), "{proofs} proofs");
    let bytes = recorder.session.received_bytes() - since_bytes;
    assert!(bytes < 1_000, "stillness took {bytes} bytes");
    assert!(recorder.changed.is_empty(), "{:?}", recorder.changed);

    desktop.signal_server("-STOP");
    let stopped_ms = recorder.now_ms();
    recorder
        .record_until("the stall", |recorder| {
            recorder.session.is_stalled(recorder.now_ms())
        })
        .unwrap();
    let noticed_ms = recorder.now_ms() - stopped_ms;
    assert!(noticed_ms <= 3_500, "noticed after {noticed_ms} ms");
    assert!(recorder.session.last_proof_ms().unwrap() <= stopped_ms + 100);

    desktop.signal_server("-CONT");
    recorder
        .record_until("the resumption", |recorder| {
            !recorder.session.is_stalled(recorder.now_ms())
        })
        .unwrap();
    recorder.record_until_equal(&desktop);
}

#[test]
fn peer_xvnc_that_goes_away_is_a_closed_connection() {
    let desktop = Desktop::xvnc(66, &["-depth", "24"]);
    let mut recorder = Recorder::connect(&desktop, Config::default());
    recorder
        .record_until("the first picture", |recorder| recorder.updates > 0)
        .unwrap();
    desktop.signal_server("-KILL");
    let ended = recorder.record_until("the end", |_| false).unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::Closed);
}
