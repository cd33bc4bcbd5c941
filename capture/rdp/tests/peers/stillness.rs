//! Is a screen on which nothing happens proven to be so?

use capture::source::SourceEvent;

use crate::{
    client::Client,
    desktop::Desktop,
    pictures::over_tls,
    rdp_server::{OPEN, RdpServer},
};

fn check(server: &RdpServer, desktop: &Desktop) {
    let mut client = Client::connect(server.port, over_tls());
    client.record_until_equal(desktop, [0; 3]);
    for _ in 0..3 {
        let seen = client.events.len();
        client
            .record_until("a proof that was asked for", |client| {
                client.events[seen..].contains(&SourceEvent::Proof)
            })
            .unwrap();
        assert!(!client.session.is_stalled(client.now_ms()));
    }
}

#[test]
fn peer_xrdp_proves_a_screen_at_rest() {
    let desktop = Desktop::open(27, "1920x1080");
    check(&RdpServer::xrdp(&desktop, ""), &desktop);
}

#[test]
fn peer_shadow_proves_a_screen_at_rest() {
    let desktop = Desktop::open(28, "1920x1080");
    check(&RdpServer::shadow(&desktop, OPEN), &desktop);
}
