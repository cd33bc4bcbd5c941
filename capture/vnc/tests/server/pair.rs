//! A server and our own client, wired to each other.

use capture::{
    Damage, Framebuffer, Rect, Size,
    input::{Clipboard, Input, Key},
    source::SourceEvent,
};
use capture_vnc::{Challenge, Config, Password, Session, server};

/// A piece as large as this is part of a picture.
const PART_BYTES: usize = 200 << 10;
pub(crate) const CHALLENGE: [u8; 16] = *b"0123456789abcdef";

pub(crate) fn config(size: Size, password: Option<&str>) -> server::Config {
    server::Config {
        size,
        name: "desk".into(),
        password: password.map(|password| Password::new(password.into())),
        challenge: Challenge::new(CHALLENGE),
    }
}

pub(crate) struct Pair {
    pub(crate) server: server::Session,
    /// What the server shows.
    pub(crate) desk: Framebuffer,
    pub(crate) client: Session,
    /// What the client sees.
    pub(crate) screen: Framebuffer,
    pub(crate) events: Vec<SourceEvent>,
    pub(crate) acts: Vec<Input>,
    /// What the machine's clipboard takes on once a part of a large picture was transmitted.
    pub(crate) copied: Option<Clipboard>,
    /// The largest piece that the server transmitted.
    pub(crate) largest_bytes: usize,
    now_ms: u64,
}

impl Pair {
    pub(crate) fn new(size: Size, client: Config) -> Self {
        Self {
            server: server::Session::new(config(size, None), 0),
            desk: Framebuffer::new(size, 0).unwrap(),
            client: Session::new(client, 0),
            screen: Framebuffer::new(Size::new(1, 1), 0).unwrap(),
            events: Vec::new(),
            acts: Vec::new(),
            copied: None,
            largest_bytes: 0,
            now_ms: 0,
        }
    }

    /// Paints what the server shows, and tells it so.
    pub(crate) fn paint(&mut self, rect: Rect, paint: impl FnOnce(&mut Framebuffer)) {
        paint(&mut self.desk);
        self.server.damage(&Damage::of(rect));
    }

    /// A moment later, lets both talk until neither has anything more to say.
    pub(crate) fn talk(&mut self) {
        self.now_ms += 100;
        let now_ms = self.now_ms;
        self.client.handle_timeout(now_ms).unwrap();
        loop {
            let mut said = false;
            while let Some(bytes) = self.client.poll_transmit() {
                self.server.handle_bytes(now_ms, &bytes).unwrap();
                said = true;
            }
            self.acts
                .extend(std::iter::from_fn(|| self.server.poll_input()));
            self.server.update(&self.desk);
            while let Some(bytes) = self.server.poll_transmit() {
                self.largest_bytes = self.largest_bytes.max(bytes.len());
                // The client is told in pieces, as a network would.
                for piece in bytes.chunks(1000) {
                    let heard = self.client.handle_bytes(now_ms, piece, &mut self.screen);
                    heard.unwrap();
                }
                if self.largest_bytes >= PART_BYTES
                    && let Some(copied) = self.copied.take()
                {
                    self.server.clipboard(&copied);
                }
                said = true;
            }
            while let Some(event) = self.client.poll_event() {
                if let SourceEvent::Update { .. } = event {
                    self.client.request_update(now_ms);
                } else {
                    self.events.push(event);
                }
            }
            if !said {
                return;
            }
        }
    }

    pub(crate) fn saw(&self, wanted: &SourceEvent) -> bool {
        self.events.contains(wanted)
    }
}

pub(crate) fn key(down: bool) -> Input {
    Input::Key(Key {
        keysym: capture::input::Keysym(0x61),
        down,
        scan_code: None,
    })
}
