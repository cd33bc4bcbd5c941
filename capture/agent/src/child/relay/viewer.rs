//! How does the recording see the machine? By a connection of its own, or by what the driver's is
//! shown: then through a stream, as if it were one.

use std::io;

use capture_rdp::proxy::Desktop;
use tokio::{
    io::AsyncReadExt as _,
    sync::{mpsc, oneshot},
};

use super::line::Line;
use crate::child::{
    inbox::{Departure, Told},
    transport::Transport,
};

/// What is on its way to the recording, beside what is on its way to the driver. Past it the machine
/// is slowed down to the rate at which pictures are recorded.
const STREAM_BYTES: usize = 1 << 20;

/// A machine that is watched through its driver's connection.
pub(in crate::child) struct Watched {
    /// What driver and machine have agreed on.
    pub(in crate::child) desktop: Desktop,
    /// The machine's messages; what is said to it goes to the machine.
    pub(in crate::child) stream: Transport,
}

/// What the recording hears first.
pub(in crate::child) type Coming = oneshot::Receiver<Result<Watched, Departure>>;

/// The recording, as the relay sees it.
pub(super) enum Viewer {
    /// It has a connection of its own.
    Apart,
    /// It waits for a desktop.
    Waits(oneshot::Sender<Result<Watched, Departure>>),
    /// It is shown one.
    Watches(Line),
}

impl Viewer {
    /// Driver and machine have agreed on a desktop.
    pub(super) fn open(&mut self, desktop: Desktop) {
        if let Self::Waits(tell) = std::mem::replace(self, Self::Apart) {
            let (ours, theirs) = tokio::io::duplex(STREAM_BYTES);
            let stream = Box::new(theirs);
            let _ = tell.send(Ok(Watched { desktop, stream })); // else the stream is closed
            *self = Self::Watches(Line::over(Box::new(ours)));
        }
    }

    /// Shows it what the machine has said.
    pub(super) fn show(&mut self, bytes: Vec<u8>) {
        if let Self::Watches(line) = self {
            line.out.push(bytes);
        }
    }

    /// Nobody drives the machine any more: whoever waits for that hears it.
    pub(super) async fn tell(&mut self, departure: Departure, tell: &mpsc::Sender<Told>) {
        match self {
            Self::Apart | Self::Watches(_) => {
                let _ = tell.send(Told::Left(departure)).await; // recording has ended by itself
            }
            Self::Waits(_) => {
                if let Self::Waits(tell) = std::mem::replace(self, Self::Apart) {
                    let _ = tell.send(Err(departure)); // as above
                }
            }
        }
    }

    /// Whether more may be read of the machine.
    pub(super) const fn has_room(&self) -> bool {
        match self {
            Self::Watches(line) => line.out.has_room(),
            Self::Apart | Self::Waits(_) => true,
        }
    }

    /// Waits for what it asks of the machine; shows it meanwhile what waits to be. Nothing is its
    /// end. Cancel-safe.
    pub(super) async fn asks(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self::Watches(Line { read, out }) = self else {
            return std::future::pending().await;
        };
        loop {
            tokio::select! {
                asked = read.read(buffer) => return asked,
                sent = out.send() => sent?,
            }
        }
    }
}
