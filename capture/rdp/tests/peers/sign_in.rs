//! Who is let in, and what is told of who is not.

use capture::{Size, source::ErrorKind};
use capture_rdp::{Config, Error, Password, Security};

use crate::{
    client::Client,
    desktop::Desktop,
    pictures::over_tls,
    rdp_server::{NLA, OPEN, PASSWORD, RdpServer, USER},
};

fn with(security: Security, user: &str, password: &str) -> Config {
    Config {
        user: Some(user.into()),
        password: Some(Password::new(password.into())),
        security,
        ..Config::default()
    }
}

fn check_shown(server: &RdpServer, desktop: &Desktop, config: Config) {
    let mut client = Client::connect(server.port, config);
    client.record_until_equal(desktop, [0; 3]);
}

fn refusal(server: &RdpServer, config: Config) -> Error {
    let error = Client::connect(server.port, config).error();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error:?}");
    error
}

#[test]
fn peer_shadow_signs_in_who_knows_the_password() {
    let desktop = Desktop::open(22, "800x600");
    let server = RdpServer::shadow(&desktop, NLA);
    check_shown(&server, &desktop, with(Security::Nla, USER, PASSWORD));
    check_shown(&server, &desktop, with(Security::NlaOrTls, USER, PASSWORD));

    for (user, password) in [(USER, "wrong"), ("nobody", PASSWORD)] {
        let refused = refusal(&server, with(Security::Nla, user, password));
        let known = matches!(refused, Error::PasswordRefused | Error::SignInCutShort);
        assert!(known, "{refused:?}");
    }
    let refused = refusal(&server, with(Security::Tls, USER, PASSWORD));
    assert_eq!(refused, Error::NlaRequired);
}

#[test]
fn peer_servers_without_network_level_authentication_get_no_password_unasked() {
    let desktop = Desktop::open(23, "800x600");
    let servers: [fn(&Desktop) -> RdpServer; 2] = [
        |desktop| RdpServer::shadow(desktop, OPEN),
        |desktop| RdpServer::xrdp(desktop, ""),
    ];
    for server in servers {
        let server = server(&desktop);
        let refused = refusal(&server, with(Security::Nla, USER, PASSWORD));
        assert_eq!(refused, Error::NlaMissing);
        let config = Config {
            size: Size::new(800, 600),
            ..with(Security::NlaOrTls, USER, PASSWORD)
        };
        check_shown(&server, &desktop, config);
    }
}

#[test]
fn peer_shadow_that_ends_is_a_closed_connection() {
    let desktop = Desktop::open(24, "800x600");
    let mut server = RdpServer::shadow(&desktop, OPEN);
    let mut client = Client::connect(server.port, over_tls());
    client.record_until_equal(&desktop, [0; 3]);
    server.processes.end();
    let error = client.error();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error:?}");
}
