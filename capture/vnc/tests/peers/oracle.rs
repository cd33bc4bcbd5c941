//! An independent client (vnc-rs) looks at the same desktop and must see the same pixels.

use capture::{Framebuffer, Rect, Size};
use capture_vnc::Config;
use vnc::{PixelFormat, VncClient, VncConnector, VncEncoding, VncEvent, X11Event};

use crate::{clock::Clock, desktop::Desktop, recorder::Recorder, screenshot::Screenshot};

/// Paints what the other client reports.
pub(crate) fn paint(screen: &mut Framebuffer, event: VncEvent) {
    match event {
        VncEvent::SetResolution(size) => {
            let size = Size::new(size.width.into(), size.height.into());
            screen.resize(size).unwrap();
        }
        VncEvent::RawImage(rect, pixels) => {
            let (x, w) = (u32::from(rect.x), u32::from(rect.width));
            let rows = pixels.chunks_exact(usize::from(rect.width) * 4);
            for (y, row) in (u32::from(rect.y)..).zip(rows) {
                screen.row_mut(x, y, w).copy_from_slice(row);
            }
        }
        _ => {}
    }
}

pub(crate) async fn connect(port: u16, encoding: VncEncoding, password: &str) -> VncClient {
    let socket = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .unwrap();
    let password = password.to_owned();
    VncConnector::new(socket)
        .set_auth_method(async { Ok(password) })
        .add_encoding(encoding)
        .add_encoding(VncEncoding::Raw)
        .allow_shared(true)
        .set_pixel_format(PixelFormat::bgra())
        .build()
        .unwrap()
        .try_start()
        .await
        .unwrap()
        .finish()
        .unwrap()
}

/// Watches with the other client until it shows what the X server shows.
async fn watch_until_equal(desktop: &Desktop, shown: &Screenshot) -> Framebuffer {
    let client = connect(desktop.port(), VncEncoding::Zrle, "").await;
    let mut screen = Framebuffer::new(Size::new(1, 1), 0).unwrap();
    let clock = Clock::start();
    while shown.differing_px(&screen) != Some(0) {
        assert!(clock.now_ms() < 20_000, "the oracle never saw the screen");
        client.input(X11Event::Refresh).await.unwrap();
        let pause = std::time::Duration::from_millis(100);
        while let Ok(event) = tokio::time::timeout(pause, client.recv_event()).await {
            paint(&mut screen, event.unwrap());
        }
    }
    client.close().await.ok();
    screen
}

#[test]
fn peer_oracle_sees_the_same_pixels() {
    let mut desktop = Desktop::xvnc(68, &["-depth", "24"]);
    desktop.draw();
    let mut recorder = Recorder::connect(&desktop, Config::default());
    recorder.record_until_equal(&desktop);

    let shown = Screenshot::take(&desktop);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let other = runtime.block_on(watch_until_equal(&desktop, &shown));

    // The other client has no say in what ours sees: both are whole, pointer included.
    recorder.record_until_equal(&desktop);
    let differing: u64 = (0..other.size().h)
        .flat_map(|y| (0..other.size().w).map(move |x| Rect::new(x, y, 1, 1)))
        .map(|at| {
            let [ours, theirs] = [&recorder.screen, &other].map(|screen| screen.row(at.x, at.y, 1));
            u64::from(ours[..3] != theirs[..3])
        })
        .sum();
    assert_eq!(differing, 0);
}
