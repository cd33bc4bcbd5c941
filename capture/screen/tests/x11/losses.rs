//! Displays that are not there, let nobody in, or go away.

use capture_screen::x11::{Observer, ObserverError};

use crate::{
    desktop::Desktop,
    watch::{Watch, now_ms},
};

#[track_caller]
fn refused(display: &str) -> ObserverError {
    match Observer::connect(display, now_ms) {
        Ok(_) => panic!("{display} is observed"),
        Err(error) => error,
    }
}

#[test]
fn names_that_are_none_and_displays_that_are_not_there_differ() {
    for name in ["", "nonsense", ":x"] {
        let error = refused(name);
        assert!(matches!(error, ObserverError::Name { .. }), "{error}");
    }
    let error = refused(":4999");
    assert!(
        matches!(error, ObserverError::Unreachable { .. }),
        "{error}"
    );
    assert!(error.to_string().contains(":4999"), "{error}");
}

#[test]
fn peer_a_display_that_wants_a_cookie_refuses_us_without() {
    let folder = tempfile::tempdir().unwrap();
    let cookies = folder.path().join("cookies");
    let cookies = cookies.to_str().unwrap();
    let cookie = "00112233445566778899aabbccddeeff";
    let xauth = ["-f", cookies, "add", ":84", ".", cookie];
    let added = std::process::Command::new("xauth").args(xauth).output();
    assert!(added.is_ok_and(|output| output.status.success()));
    let _desktop = Desktop::xvfb(84, &["-auth", cookies]);
    let error = refused(":84");
    assert!(matches!(error, ObserverError::Refused), "{error}");
}

#[test]
fn peer_a_display_without_the_extension_says_which() {
    let _desktop = Desktop::xvfb(84, &["-extension", "RECORD"]);
    assert!(matches!(refused(":84"), ObserverError::Extension("RECORD")));
}

#[test]
fn peer_a_display_that_dies_is_lost_after_all_that_it_told() {
    let mut desktop = Desktop::xvfb(84, &[]);
    let watch = Watch::start(&desktop);
    desktop.xdotool(&["key", "a"]);
    desktop.kill();
    assert!(watch.next().is_ok() && watch.next().is_ok());
    let error = watch.next().unwrap_err();
    assert!(matches!(error, ObserverError::Lost(_)), "{error}");
}

/// No real X server is hostile: this one says `bytes` to whoever comes.
#[track_caller]
fn check_hostile(bytes: &[u8], expected: &str) {
    use std::io::{Read as _, Write as _};
    let path = "/tmp/.X11-unix/X84";
    std::fs::create_dir_all("/tmp/.X11-unix").unwrap();
    let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
    let bytes = bytes.to_vec();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.read_exact(&mut [0; 12]).unwrap();
        client.write_all(&bytes).unwrap();
    });
    let error = refused(":84").to_string();
    std::fs::remove_file(path).unwrap();
    server.join().unwrap();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn peer_servers_that_speak_nonsense_are_left() {
    check_hostile(b"HTTP/1.1 400 Bad Request\r\n\r\n", "lost");
    let reason = b"\0\x07\x0b\0\0\0\x02\0go away ";
    check_hostile(reason, "refuses");
    let empty = [&[1, 0, 11, 0, 0, 0, 8, 0][..], &[0; 32]].concat();
    check_hostile(&empty, "lost");
}
