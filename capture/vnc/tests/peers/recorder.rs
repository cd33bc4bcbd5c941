//! A session with a real socket and a real clock, as the recorder will drive it.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use capture::{Framebuffer, Size, source::SourceEvent};
use capture_vnc::{Config, Error, Session};

use crate::{clock::Clock, desktop::Desktop, screenshot::Screenshot};

/// How long anything may take here.
const LIMIT_MS: u64 = 20_000;

pub(crate) struct Recorder {
    socket: TcpStream,
    pub(crate) session: Session,
    pub(crate) screen: Framebuffer,
    clock: Clock,
    pub(crate) updates: u32,
}

impl Recorder {
    pub(crate) fn connect(desktop: &Desktop, config: Config) -> Self {
        Self::connect_to(desktop.port(), config)
    }

    pub(crate) fn connect_to(port: u16, config: Config) -> Self {
        Self {
            socket: TcpStream::connect(("127.0.0.1", port)).unwrap(),
            session: Session::new(config, 0),
            screen: Framebuffer::new(Size::new(1, 1), 42).unwrap(),
            clock: Clock::start(),
            updates: 0,
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Records until `done`, which must come.
    pub(crate) fn record_until(
        &mut self,
        what: &str,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<(), Error> {
        let end_ms = self.now_ms() + LIMIT_MS;
        while !done(self) {
            assert!(self.now_ms() < end_ms, "waited too long for {what}");
            self.step()?;
        }
        Ok(())
    }

    /// Records until the picture is the screen's own.
    pub(crate) fn record_until_equal(&mut self, desktop: &Desktop) {
        let end_ms = self.now_ms() + LIMIT_MS;
        loop {
            let shown = Screenshot::take(desktop);
            let proven_ms = self.now_ms();
            self.record_until("proof of the picture", |recorder| {
                recorder.session.last_proof_ms() > Some(proven_ms)
            })
            .unwrap();
            let differing = shown.differing_px(&self.screen);
            if differing == Some(0) && shown.colours() > 5 {
                return;
            }
            let late = self.now_ms() >= end_ms;
            assert!(!late, "{differing:?} px of {} differ", shown.size);
        }
    }

    /// Says what there is to say, waits for bytes or time, and takes note of what came of them.
    fn step(&mut self) -> Result<(), Error> {
        while let Some(bytes) = self.session.poll_transmit() {
            self.socket.write_all(&bytes).ok();
        }
        let wait_ms = self
            .session
            .poll_timeout()
            .map_or(50, |at| at.saturating_sub(self.now_ms()))
            .clamp(1, 50);
        let wait = Duration::from_millis(wait_ms);
        self.socket.set_read_timeout(Some(wait)).unwrap();
        let mut buffer = vec![0; 64 * 1024];
        let read = self.socket.read(&mut buffer);
        let now_ms = self.now_ms();
        let heard = match read {
            Ok(0) => Err(self.session.handle_close()),
            Ok(n) => self
                .session
                .handle_bytes(now_ms, &buffer[..n], &mut self.screen),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.session.handle_timeout(now_ms)
            }
            Err(_) => Err(self.session.handle_close()),
        };
        while let Some(event) = self.session.poll_event() {
            if let SourceEvent::Update { damage } = event {
                self.updates += 1;
                self.screen.settle(&damage);
                self.session.request_update(self.now_ms());
            }
        }
        heard
    }
}
