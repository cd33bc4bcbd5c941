//! Bytes on their way out, sent as fast as the peer takes them.

use std::{collections::VecDeque, io};

use bytes::{Buf as _, Bytes};
use capture_vnc::limits;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// One direction of one connection.
pub(super) struct Outgoing<W> {
    write: W,
    pending: VecDeque<Bytes>,
    pending_bytes: usize,
    /// Bytes were written and a layer may still hold some of them back.
    unflushed: bool,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    pub(super) const fn to(write: W) -> Self {
        Self {
            write,
            pending: VecDeque::new(),
            pending_bytes: 0,
            unflushed: false,
        }
    }

    pub(super) fn into_inner(self) -> W {
        self.write
    }

    /// What waits is for somebody else.
    pub(super) fn redirect(&mut self, write: W) {
        self.write = write;
    }

    /// Nobody waits for what waits any more.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
        self.pending_bytes = 0;
        self.unflushed = false;
    }

    /// Takes `bytes` behind what already waits.
    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        self.pending_bytes += bytes.len();
        self.pending.push_back(bytes.into());
    }

    /// Whether nothing waits any more.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && !self.unflushed
    }

    /// Whether more may be read for this direction. Past it the other side is slowed down.
    pub(super) const fn has_room(&self) -> bool {
        self.pending_bytes <= limits::RELAY_PENDING_BYTES
    }

    /// Sends some of what waits; never completes when nothing does. After an error nothing waits
    /// any more. Cancel-safe.
    pub(super) async fn send(&mut self) -> io::Result<()> {
        let sent = self.send_some().await;
        if sent.is_err() {
            self.forget();
        }
        sent
    }

    async fn send_some(&mut self) -> io::Result<()> {
        let Some(first) = self.pending.front_mut() else {
            if !self.unflushed {
                return std::future::pending().await;
            }
            self.write.flush().await?;
            self.unflushed = false;
            return Ok(());
        };
        let sent = self.write.write(first).await?;
        if sent == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.unflushed = true;
        self.pending_bytes -= sent;
        first.advance(sent);
        if first.is_empty() {
            self.pending.pop_front();
        }
        Ok(())
    }
}
