//! Does text go over the clipboard, both ways? xrdp hands it to the VNC server behind it, in
//! Latin-1; FreeRDP's shadow server has no clipboard.

use std::fs;

use capture::{
    input::{Clipboard, Direction, Format, Input},
    source::SourceEvent,
};
use tempfile::TempDir;

use crate::{client::Client, desktop::Desktop, pictures::over_tls, rdp_server::RdpServer};

fn text(direction: Direction, text: &str) -> Clipboard {
    Clipboard {
        direction,
        formats: vec![Format::Text],
        len_bytes: text.len() as u64,
        text: Some(text.to_owned()),
    }
}

#[test]
fn peer_xrdp_shares_its_clipboard() {
    let mut desktop = Desktop::open(29, "640x480");
    let server = RdpServer::xrdp(&desktop, "");
    let mut client = Client::connect(server.port, over_tls());
    client
        .record_until("the desktop", |client| {
            client.session.last_proof_ms().is_some()
        })
        .unwrap();
    for put in ["eingefügt", &"noch einmal\n".repeat(500)] {
        let put_here = text(Direction::ToMachine, put);
        client.session.send_input(&Input::Clipboard(put_here));
        client
            .record_until("what was pasted", |_| {
                desktop.pasted().as_deref() == Some(put.as_bytes())
            })
            .unwrap();
    }

    let folder = TempDir::new().unwrap();
    let file = folder.path().join("text");
    let copied = "kopiert: äöü\n".repeat(500);
    fs::write(&file, &copied).unwrap();
    desktop.copy(&file);
    let expected = SourceEvent::Clipboard(text(Direction::FromMachine, &copied));
    client
        .record_until("what was copied", |client| {
            client.events.contains(&expected)
        })
        .unwrap();
}
