//! The password of TigerVNC's server.

use std::process::Command;

use capture::source::ErrorKind;
use capture_vnc::{Config, Error, Password};

use crate::{desktop::Desktop, recorder::Recorder};

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
