//! The screen changes its size while it is recorded.

use capture::{Size, source::SourceEvent};
use capture_rdp::Config;

use crate::{
    client::Client,
    desktop::Desktop,
    pictures::over_tls,
    rdp_server::{OPEN, RdpServer},
};

fn check_resize(server: &RdpServer, desktop: &Desktop) {
    let config = Config {
        size: Size::new(1280, 800),
        ..over_tls()
    };
    let mut client = Client::connect(server.port, config);
    client.record_until_equal(desktop, [0; 3]);
    for mode in ["1024x768", "1280x800"] {
        desktop.run(&["xrandr", "--output", "VNC-0", "--mode", mode]);
        desktop.run(&["xdotool", "mousemove", "10000", "10000"]);
        client.record_until_equal(desktop, [0; 3]);
    }
    let resizes = client.events.iter().filter_map(|event| match event {
        SourceEvent::Resize(size) => Some(*size),
        _ => None,
    });
    let sizes: Vec<Size> = resizes.collect();
    assert!(sizes.contains(&Size::new(1024, 768)), "{sizes:?}");
    assert_eq!(sizes.last(), Some(&Size::new(1280, 800)));
}

#[test]
fn peer_xrdp_changes_its_size() {
    let desktop = Desktop::open(25, "1280x800");
    check_resize(
        &RdpServer::xrdp(&desktop, "bulk_compression=true"),
        &desktop,
    );
}

#[test]
fn peer_shadow_changes_its_size() {
    let desktop = Desktop::open(26, "1280x800");
    check_resize(&RdpServer::shadow(&desktop, OPEN), &desktop);
}
