//! One connection to a source: its transport, its protocol session and the picture it paints.

use std::{io, time::Duration};

use capture::{Framebuffer, Size};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{
    lost::Lost,
    relay::Watched,
    session::{self, Session},
    transport::{self, Encrypted, Transport},
};
use crate::{
    access::{Access, Trust},
    clock,
    clock::BootTime,
    source::Source,
    wire::Upstream,
};

/// What is read from the socket at once; past it the kernel's buffer slows the peer down.
const READ_BYTES: usize = 64 << 10;
/// A peer that takes nothing for this long is stalled.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// A connected source.
pub(super) struct Connection {
    transport: Transport,
    /// Whom a certificate must name, and which one is believed.
    tls: (String, Trust),
    source: Source,
    buffer: Box<[u8]>,
    /// The protocol's state.
    pub(super) session: Box<dyn Session>,
    /// The picture as the source has painted it.
    pub(super) framebuffer: Framebuffer,
}

impl Connection {
    /// Connects to `source`, which is `driven` through this process or only watched.
    pub(super) async fn open(
        source: &Source,
        access: &Access,
        driven: Option<Upstream>,
    ) -> Result<Self, Lost> {
        let transport = transport::connect(source, access).await;
        let transport = transport.map_err(|error| error.lost(source))?;
        let broken = |error: io::Error| Lost::disconnected(error.to_string());
        let session = session::open(source, access, driven).map_err(broken)?;
        Self::over(transport, session, source, access.trust).map_err(broken)
    }

    /// Watches `source` through its driver's connection.
    pub(super) fn watching(watched: Watched, source: &Source) -> io::Result<Self> {
        let Watched { desktop, stream } = watched;
        Self::over(stream, session::watch(desktop), source, Trust::default())
    }

    fn over(
        transport: Transport,
        session: Box<dyn Session>,
        source: &Source,
        trust: Trust,
    ) -> io::Result<Self> {
        let seed = u64::from_ne_bytes(clock::random()?);
        let framebuffer = Framebuffer::new(Size::new(1, 1), seed).map_err(io::Error::other)?;
        Ok(Self {
            transport,
            tls: (source.peer().0.to_owned(), trust),
            source: source.clone(),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            session,
            framebuffer,
        })
    }

    /// Waits for bytes, gives them to the session and says when they arrived. Cancel-safe: bytes
    /// are read only when this completes.
    pub(super) async fn receive(&mut self) -> Result<BootTime, Lost> {
        let read = self.transport.read(&mut self.buffer).await;
        let received = BootTime::now();
        let bytes = match read {
            Ok(0) => return Err(self.session.handle_close()),
            Ok(len) => self.buffer.get(..len).unwrap_or_default(),
            Err(error) => return Err(Lost::disconnected(format!("connection broke: {error}"))),
        };
        self.session
            .handle_bytes(received, bytes, &mut self.framebuffer)?;
        Ok(received)
    }

    /// As [`receive`](Self::receive), but no longer than the session is willing to wait.
    pub(super) async fn receive_or_timeout(&mut self) -> Result<(), Lost> {
        let due = self.session.poll_timeout();
        let wait_ms = due.map_or(u64::MAX, |due| due.ms_since(BootTime::now()));
        let wait = Duration::from_millis(wait_ms);
        match tokio::time::timeout(wait, self.receive()).await {
            Ok(received) => received.map(|_| ()),
            Err(_) => self.session.handle_timeout(BootTime::now()),
        }
    }

    /// Sends what the session has to say, and encrypts the connection where both sides agreed to.
    pub(super) async fn send(&mut self) -> Result<(), Lost> {
        loop {
            while let Some(bytes) = self.session.poll_transmit() {
                self.write(&bytes).await?;
            }
            if !self.session.poll_upgrade() {
                return Ok(());
            }
            let plain = std::mem::replace(&mut self.transport, Box::new(tokio::io::empty()));
            let (host, trust) = &self.tls;
            let wrapped = transport::upgrade(plain, host, *trust).await;
            let Encrypted {
                stream,
                certificate,
            } = wrapped.map_err(|error| error.lost(&self.source))?;
            self.transport = stream;
            self.session
                .handle_upgraded(BootTime::now(), &certificate)?;
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        let written = async {
            self.transport.write_all(bytes).await?;
            self.transport.flush().await
        };
        match tokio::time::timeout(WRITE_TIMEOUT, written).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Lost::disconnected(format!("connection broke: {error}"))),
            Err(_) => Err(Lost::deaf()),
        }
    }
}
