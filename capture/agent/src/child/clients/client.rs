//! One client of the recorder's picture: its socket, and what is on its way to it.

use std::{
    io,
    net::TcpStream as StdTcpStream,
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes};
use capture::{Framebuffer, event::Origin};
use capture_vnc::{DriverError, server};
use tokio::net::TcpStream;

use super::ear::{Ear, Piece};
use crate::{child::inbox::Act, clock::BootTime};

/// A connected client.
pub(super) struct Client {
    ear: Ear,
    /// Where it is spoken to.
    stream: TcpStream,
    stage: Stage,
    /// What it has not yet taken. Until it has, it is sent nothing more.
    pending: Bytes,
}

enum Stage {
    /// Not yet greeted.
    New,
    Served(Box<server::Session>),
    /// Its connection is over.
    Gone,
}

impl Client {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        // Answers are waited for; they must not wait to be gathered.
        stream.set_nodelay(true)?;
        Ok(Self {
            ear: Ear::of(&stream)?,
            stream,
            stage: Stage::New,
            pending: Bytes::new(),
        })
    }

    pub(super) fn from_std(stream: StdTcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::new(TcpStream::from_std(stream)?)
    }

    pub(super) const fn is_new(&self) -> bool {
        matches!(self.stage, Stage::New)
    }

    pub(super) fn greet(&mut self, session: server::Session) {
        self.stage = Stage::Served(Box::new(session));
    }

    pub(super) fn session(&mut self) -> Option<&mut server::Session> {
        match &mut self.stage {
            Stage::Served(session) => Some(session),
            Stage::New | Stage::Gone => None,
        }
    }

    pub(super) fn due(&self) -> Option<BootTime> {
        match &self.stage {
            Stage::Served(session) => session.poll_timeout().map(BootTime::from_ms),
            Stage::New | Stage::Gone => None,
        }
    }

    /// Hears, once, and writes what waits. Ready when something was heard or taken.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        acts: &mut Vec<Act>,
    ) -> Poll<Result<(), DriverError>> {
        let mut moved = false;
        if let Stage::Served(_) = &self.stage
            && let Poll::Ready(piece) = self.ear.poll(cx)
        {
            match piece {
                Some(piece) => self.hear(&piece, acts)?,
                None => return Poll::Ready(Err(self.close())),
            }
            moved = true;
        }
        while !self.pending.is_empty() && self.stream.poll_write_ready(cx).is_ready() {
            match self.stream.try_write(&self.pending) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(Err(self.close())),
                Ok(taken) => {
                    self.pending.advance(taken);
                    moved = true;
                }
            }
        }
        if moved {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    /// Hears what it has sent until now.
    pub(super) fn catch_up(&mut self, acts: &mut Vec<Act>) -> Result<(), DriverError> {
        if let Stage::Served(_) = &self.stage {
            for piece in self.ear.catch_up() {
                self.hear(&piece, acts)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, piece: &Piece, acts: &mut Vec<Act>) -> Result<(), DriverError> {
        let Stage::Served(session) = &mut self.stage else {
            return Ok(());
        };
        let received = piece.received;
        let heard = session.handle_bytes(received.ms(), &piece.bytes);
        acts.extend(
            std::iter::from_fn(|| session.poll_input()).map(|input| Act {
                received,
                origin: Origin::Wire,
                input,
            }),
        );
        heard.map_err(|error| self.dismiss(error))
    }

    /// Does what is due, and gives it of the picture what it asked for, unless it still has to
    /// take what it was given.
    pub(super) fn serve(
        &mut self,
        framebuffer: &Framebuffer,
        now: BootTime,
    ) -> Result<(), DriverError> {
        let Stage::Served(session) = &mut self.stage else {
            return Ok(());
        };
        if let Err(error) = session.handle_timeout(now.ms()) {
            return Err(self.dismiss(error));
        }
        if self.pending.is_empty() {
            session.update(framebuffer);
            self.pending = session.poll_transmit().unwrap_or_default().into();
        }
        Ok(())
    }

    /// Lets it go, and tells it why if it takes that at once.
    fn dismiss(&mut self, error: DriverError) -> DriverError {
        if let Stage::Served(session) = &mut self.stage
            && self.pending.is_empty()
            && let Some(words) = session.poll_transmit()
        {
            let _ = rustix::io::write(&self.stream, &words); // it may be gone
        }
        self.stage = Stage::Gone;
        self.pending = Bytes::new();
        error
    }

    /// It has closed the connection.
    fn close(&mut self) -> DriverError {
        let inside_message = self.due().is_some();
        self.dismiss(DriverError::Closed { inside_message })
    }
}
