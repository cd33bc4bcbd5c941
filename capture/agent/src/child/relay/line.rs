//! A connection that is relayed: what comes of it, and what is on its way out, in whatever layers.

use tokio::io::{ReadHalf, WriteHalf};

use super::outgoing::Outgoing;
use crate::child::transport::Transport;

/// Both directions of a connection.
pub(super) struct Line {
    pub(super) read: ReadHalf<Transport>,
    pub(super) out: Outgoing<WriteHalf<Transport>>,
}

impl Line {
    pub(super) fn over(transport: Transport) -> Self {
        let (read, write) = tokio::io::split(transport);
        let out = Outgoing::to(write);
        Self { read, out }
    }

    /// A connection with nobody.
    pub(super) fn closed() -> Self {
        Self::over(Box::new(tokio::io::empty()))
    }

    /// The connection is now this one; what is on its way out goes there.
    pub(super) fn attach(&mut self, transport: Transport) {
        let (read, write) = tokio::io::split(transport);
        self.read = read;
        self.out.redirect(write);
    }

    /// Takes the connection, on whose way out nothing is, to put a layer around it. What is left is
    /// closed.
    pub(super) fn take(&mut self) -> Transport {
        let Self { read, out } = std::mem::replace(self, Self::closed());
        read.unsplit(out.into_inner())
    }
}
