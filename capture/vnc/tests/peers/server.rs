//! An independent client (vnc-rs) is served by the small server, and must see its pixels.

use std::time::Duration;

use capture::{Framebuffer, Rect, Size};
use capture_vnc::{Challenge, Password, server};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use vnc::{VncClient, VncEncoding, X11Event};

use crate::{clock::Clock, oracle};

const SIZE: Size = Size::new(700, 500);

/// Large areas of one colour, a gradient, stripes and noise.
fn desk() -> Framebuffer {
    let mut desk = Framebuffer::new(SIZE, 0).unwrap();
    desk.fill(SIZE.rect(), [0xaa, 0x66, 0x33, 0]);
    desk.fill(Rect::new(50, 40, 600, 300), [0xf0, 0xf0, 0xf0, 0]);
    let mut noise = 1_u32;
    for y in 0..SIZE.h {
        for (x, pixel) in (0_u32..).zip(desk.row_mut(0, y, SIZE.w).as_chunks_mut::<4>().0) {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [.., a, b, c] = noise.to_be_bytes();
            match (x, y) {
                (100..400, 60..100) => *pixel = [x.to_le_bytes()[0], 99, 0, 0],
                (100..300, 120..180) if (x / 3 + y) % 4 == 0 => *pixel = [0; 4],
                (450..550, 200..260) => *pixel = [a, b, c, 0],
                _ => {}
            }
        }
    }
    desk
}

/// Serves one client until it leaves.
async fn serve(mut socket: TcpStream, password: Option<&str>) {
    let desk = desk();
    let clock = Clock::start();
    let config = server::Config {
        size: SIZE,
        name: "desk".into(),
        password: password.map(|password| Password::new(password.into())),
        challenge: Challenge::new(*b"as if it were so"),
    };
    let mut session = server::Session::new(config, 0);
    let mut said = vec![0; 64 * 1024];
    loop {
        session.update(&desk);
        while let Some(bytes) = session.poll_transmit() {
            socket.write_all(&bytes).await.ok();
            session.update(&desk);
        }
        match socket.read(&mut said).await {
            Ok(0) | Err(_) => return,
            Ok(read) => session.handle_bytes(clock.now_ms(), &said[..read]).unwrap(),
        }
    }
}

/// Watches until every pixel is as the server shows it.
async fn watch_until_equal(client: &VncClient) {
    let desk = desk();
    let mut screen = Framebuffer::new(Size::new(1, 1), 0).unwrap();
    let clock = Clock::start();
    let equal = |screen: &Framebuffer| {
        let (seen, _) = screen.bgrx().as_chunks::<4>();
        let (shown, _) = desk.bgrx().as_chunks::<4>();
        screen.size() == SIZE && seen.iter().zip(shown).all(|(a, b)| a[..3] == b[..3])
    };
    while !equal(&screen) {
        assert!(clock.now_ms() < 20_000, "the client never saw the desk");
        client.input(X11Event::Refresh).await.unwrap();
        let pause = Duration::from_millis(100);
        while let Ok(event) = tokio::time::timeout(pause, client.recv_event()).await {
            oracle::paint(&mut screen, event.unwrap());
        }
    }
}

#[test]
fn peer_oracle_sees_what_the_small_server_shows() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for password in [None, Some("secret")] {
            for encoding in [VncEncoding::Raw, VncEncoding::Tight, VncEncoding::Zrle] {
                let serving = async {
                    let (socket, _) = listener.accept().await.unwrap();
                    serve(socket, password).await;
                };
                let watching = async {
                    let password = password.unwrap_or_default();
                    let client = oracle::connect(port, encoding, password).await;
                    watch_until_equal(&client).await;
                    client.close().await.ok();
                };
                // The client's tasks may hold its socket for longer than it is looked at.
                tokio::select! {
                    () = serving => panic!("the client left before it saw the desk"),
                    () = watching => {}
                }
            }
        }
    });
}
