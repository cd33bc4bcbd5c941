//! Does a driver operate its machine as if nobody stood between, and is all of it seen?

use std::fs;

use capture::input::{Input, Key, Keysym};
use capture_rdp::{
    Config, Password, Security,
    proxy::{DriverError, RelayError},
};
use tempfile::TempDir;

use crate::{
    desktop::Desktop,
    pictures::over_tls,
    rdp_server::{NLA, RdpServer},
    relayed::{PASSWORD, Relayed},
};

fn is_down(act: &Input, typed: char) -> bool {
    matches!(act, Input::Key(Key { keysym, down: true, .. }) if *keysym == Keysym::of(typed))
}

/// A driver sees the machine before it operates it; then what it types arrives, and is told.
fn check(desktop: &mut Desktop, server: &RdpServer, config: Config, display: u16) {
    let folder = TempDir::new().unwrap();
    let typed = folder.path().join("typed");
    desktop.type_into(&typed);
    let (mut relayed, driver) = Relayed::start(display, PASSWORD, server.port, config);
    relayed.relay_until_equal(desktop);
    assert!(relayed.relay.is_established());

    // Where the driver's window shows what listens.
    driver.desktop.run(&["xdotool", "mousemove", "100", "750"]);
    relayed.relay.let_through();
    relayed
        .relay_until("the pointer", |relayed| {
            (relayed.acts.iter()).any(|act| matches!(act, Input::Pointer(_)))
        })
        .unwrap();
    for key in ["a", "b", "Return"] {
        driver.desktop.run(&["xdotool", "key", key]);
    }
    relayed
        .relay_until("what was typed", |_| {
            fs::read(&typed).is_ok_and(|read| read == b"ab\n")
        })
        .unwrap();
    let keys = |typed| {
        relayed
            .acts
            .iter()
            .filter(|act| is_down(act, typed))
            .count()
    };
    assert_eq!((keys('a'), keys('b')), (1, 1), "{:?}", relayed.acts);
    relayed.relay_until_equal(desktop);
}

#[test]
fn peer_a_driver_operates_xrdp_as_if_alone() {
    let mut desktop = Desktop::open(30, "1024x800");
    let server = RdpServer::xrdp(&desktop, "bulk_compression=true");
    check(&mut desktop, &server, over_tls(), 31);
}

#[test]
fn peer_a_driver_operates_the_shadow_server_as_if_alone() {
    let mut desktop = Desktop::open(32, "1024x800");
    let server = RdpServer::shadow(&desktop, NLA);
    let nla = Config {
        security: Security::Nla,
        ..over_tls()
    };
    check(&mut desktop, &server, nla.clone(), 33);

    let (mut relayed, _driver) = Relayed::start(34, "wrong", server.port, nla.clone());
    let refused = relayed.relay_until("the end", |_| false);
    assert_eq!(refused, Err(DriverError::PasswordRefused.into()));

    let wrong = Config {
        password: Some(Password::new("wrong".into())),
        ..nla
    };
    let (mut relayed, _driver) = Relayed::start(35, PASSWORD, server.port, wrong);
    let refused = relayed.relay_until("the end", |_| false);
    assert!(matches!(refused, Err(RelayError::Server(_))), "{refused:?}");
}
