//! VNC on loopback.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    time::Duration,
};

use capture::{Framebuffer, source::SourceEvent};
use capture_vnc::{Config, Session};

use crate::recorder::Link;

/// How long one step waits for bytes.
const WAIT_MS: u64 = 50;

pub(crate) struct VncLink {
    socket: TcpStream,
    session: Session,
    buffer: Box<[u8]>,
}

impl VncLink {
    pub(crate) fn connect(port: u16, config: Config) -> Self {
        Self {
            socket: TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap(),
            session: Session::new(config, 0),
            buffer: vec![0; 64 * 1024].into(),
        }
    }

    /// Whether anything answers on `port`.
    pub(crate) fn answers(port: u16) -> bool {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    }
}

impl Link for VncLink {
    fn step(
        &mut self,
        now_ms: &dyn Fn() -> u64,
        screen: &mut Framebuffer,
    ) -> Result<Vec<SourceEvent>, String> {
        while let Some(bytes) = self.session.poll_transmit() {
            // A connection that is closed tells so when it is read.
            self.socket.write_all(&bytes).ok();
        }
        let due_ms = self.session.poll_timeout().unwrap_or(u64::MAX);
        let wait_ms = due_ms.saturating_sub(now_ms()).clamp(1, WAIT_MS);
        let wait = Duration::from_millis(wait_ms);
        self.socket.set_read_timeout(Some(wait)).unwrap();
        let read = self.socket.read(&mut self.buffer);
        let now_ms = now_ms();
        let heard = match read {
            Ok(0) => Err(self.session.handle_close()),
            Ok(n) => self.session.handle_bytes(now_ms, &self.buffer[..n], screen),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.session.handle_timeout(now_ms)
            }
            Err(_) => Err(self.session.handle_close()),
        };
        heard.map_err(|error| error.to_string())?;
        Ok(std::iter::from_fn(|| self.session.poll_event()).collect())
    }

    fn request_update(&mut self, now_ms: u64) {
        self.session.request_update(now_ms);
    }

    fn last_proof_ms(&self) -> Option<u64> {
        self.session.last_proof_ms()
    }

    fn is_stalled(&self, now_ms: u64) -> bool {
        self.session.is_stalled(now_ms)
    }

    fn received_bytes(&self) -> u64 {
        self.session.received_bytes()
    }
}
