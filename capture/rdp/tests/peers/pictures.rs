//! Is each pixel as on the screen?

use capture::Size;
use capture_rdp::{Config, Depth, Password, Security};

use crate::{
    client::Client,
    desktop::Desktop,
    rdp_server::{OPEN, PASSWORD, RdpServer, USER},
};

/// Without network level authentication. xrdp shows the desktop only to who names a user.
pub(crate) fn over_tls() -> Config {
    Config {
        user: Some(USER.into()),
        password: Some(Password::new(PASSWORD.into())),
        security: Security::Tls,
        ..Config::default()
    }
}

/// With each of `depths`, with and without compression.
fn check(server: &RdpServer, desktop: &Desktop, depths: &[Depth]) {
    for compression in [true, false] {
        for &depth in depths {
            let config = Config {
                size: Size::new(1283, 801),
                depth,
                compression,
                ..over_tls()
            };
            let mut client = Client::connect(server.port, config);
            client.record_until_equal(desktop, rounded(depth));
        }
    }
}

/// How far colours may be from the screen's: a step of what the server has rounded them to.
const fn rounded(depth: Depth) -> [u8; 3] {
    match depth {
        Depth::Bits15 => [9; 3],
        Depth::Bits16 => [9, 5, 9],
        Depth::Bits24 | Depth::Bits32 => [0; 3],
    }
}

#[test]
fn peer_xrdp_shows_each_pixel() {
    let desktop = Desktop::open(20, "1283x801");
    let server = RdpServer::xrdp(&desktop, "bulk_compression=true");
    let depths = [Depth::Bits32, Depth::Bits24, Depth::Bits16, Depth::Bits15];
    check(&server, &desktop, &depths);
}

/// Of fewer bits, which this server takes for 24 as well, it packs a few pixels so that they come
/// out in their neighbours' colours.
#[test]
fn peer_shadow_shows_each_pixel() {
    let desktop = Desktop::open(21, "1283x801");
    let server = RdpServer::shadow(&desktop, OPEN);
    check(&server, &desktop, &[Depth::Bits32]);
}
