//! The client under test, with a clock that the test turns.

use capture::{Framebuffer, Size, source::SourceEvent};
use capture_vnc::{Config, Error, Session};

use crate::server;

pub(crate) struct Client {
    pub(crate) session: Session,
    pub(crate) screen: Framebuffer,
    pub(crate) now_ms: u64,
    events: Vec<SourceEvent>,
    sent: Vec<u8>,
}

impl Client {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            session: Session::new(config, 0),
            screen: Framebuffer::new(Size::new(1, 1), 0).unwrap(),
            now_ms: 0,
            events: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Connected to a desktop of `size` whose handshake is over and forgotten.
    pub(crate) fn connected(size: Size) -> Self {
        Self::connected_with(Config::default(), size)
    }

    pub(crate) fn connected_with(config: Config, size: Size) -> Self {
        let mut client = Self::new(config);
        client.hear(&server::opening(size)).unwrap();
        client.events();
        client.sent();
        client
    }

    /// The server says `bytes`.
    pub(crate) fn hear(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let heard = self
            .session
            .handle_bytes(self.now_ms, bytes, &mut self.screen);
        self.drain();
        heard
    }

    /// Time passes in silence; everything that falls due meanwhile is done at its time.
    pub(crate) fn wait_until(&mut self, now_ms: u64) -> Result<(), Error> {
        while let Some(due) = self.session.poll_timeout().filter(|&due| due <= now_ms) {
            assert!(self.now_ms <= due, "the session asks for the past");
            self.now_ms = due;
            self.session.handle_timeout(due)?;
            self.drain();
        }
        self.now_ms = now_ms;
        Ok(())
    }

    /// The caller has consumed an update.
    pub(crate) fn request(&mut self) {
        self.session.request_update(self.now_ms);
        self.drain();
    }

    pub(crate) fn request_proof(&mut self) {
        self.session.request_proof(self.now_ms);
        self.drain();
    }

    fn drain(&mut self) {
        self.events
            .extend(std::iter::from_fn(|| self.session.poll_event()));
        while let Some(bytes) = self.session.poll_transmit() {
            self.sent.extend(bytes);
        }
    }

    /// What was reported since the last call.
    pub(crate) fn events(&mut self) -> Vec<SourceEvent> {
        std::mem::take(&mut self.events)
    }

    /// What was said to the server since the last call.
    pub(crate) fn sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    /// The colour of a pixel.
    pub(crate) fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        let &[b, g, r, spare] = self.screen.row(x, y, 1) else {
            panic!("no pixel at {x}, {y}");
        };
        assert_eq!(spare, 0, "the spare byte is always clear");
        [b, g, r]
    }
}
