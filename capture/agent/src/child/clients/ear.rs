//! When did a client send that? Its bytes are read on a thread of its own and stamped as they
//! come, so that no stamp waits for a frame to be coded.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use rustix::{
    event::{PollFd, PollFlags},
    net::Shutdown,
};

use crate::{child::backlog::Backlog, clock::BootTime};

/// What is read at once: clients say little, and a paste may come in parts.
const READ_BYTES: usize = 4 << 10;
/// Pieces that wait to be heard: at a thousand events a second, a quarter of one, and 1 MiB at
/// most. Past it the client waits.
const UNHEARD_MAX: usize = 256;

/// What a client has said at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// When it came.
    pub(super) received: BootTime,
    pub(super) bytes: Box<[u8]>,
}

/// The receiving end of a client's connection; dropping this hangs up.
pub(super) struct Ear(Arc<Shared>);

struct Shared {
    socket: OwnedFd,
    // INVARIANT: the socket is read under this lock only, so pieces lie in the order they came in.
    unheard: Mutex<Unheard>,
    /// Told when there is room again, or nobody hears any more.
    room: Condvar,
}

#[derive(Default)]
struct Unheard {
    pieces: VecDeque<Piece>,
    /// The client has closed the connection.
    ended: bool,
    /// Nobody hears any more.
    deaf: bool,
    /// Whoever waits for the next piece.
    waker: Option<Waker>,
}

impl Ear {
    /// Listens to `socket`, which must not block.
    ///
    /// # Errors
    /// When there is no further descriptor or thread.
    pub(super) fn of(socket: &impl AsFd) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            socket: socket.as_fd().try_clone_to_owned()?,
            unheard: Mutex::default(),
            room: Condvar::new(),
        });
        let listening = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("client".to_owned())
            .spawn(move || listening.listen())?;
        Ok(Self(shared))
    }

    /// The next piece; `None` when the client has closed the connection.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let mut unheard = self.0.unheard();
        if let Some(piece) = unheard.pieces.pop_front() {
            self.0.room.notify_one();
            return Poll::Ready(Some(piece));
        }
        if unheard.ended {
            return Poll::Ready(None);
        }
        unheard.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// All that the client has sent until now. The end, if it has come, is heard in its turn.
    pub(super) fn catch_up(&self) -> VecDeque<Piece> {
        let mut unheard = self.0.unheard();
        let mut backlog = Backlog::of(&self.0.socket);
        let mut buffer = [0; READ_BYTES];
        while let Some(len) = backlog.read(&mut &self.0.socket, &mut buffer) {
            unheard.push(buffer.get(..len).unwrap_or_default());
        }
        self.0.room.notify_one();
        std::mem::take(&mut unheard.pieces)
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.0.unheard().deaf = true;
        self.0.room.notify_one();
        // Wakes the thread, too, where it waits for the client.
        let _ = rustix::net::shutdown(&self.0.socket, Shutdown::Both);
    }
}

impl Shared {
    fn listen(&self) {
        let mut buffer = [0; READ_BYTES];
        loop {
            let mut readable = [PollFd::new(&self.socket, PollFlags::IN)];
            // Interrupted or not: what there is to read is found out by reading.
            let _ = rustix::event::poll(&mut readable, None);
            let full = |unheard: &mut Unheard| !unheard.deaf && unheard.pieces.len() >= UNHEARD_MAX;
            let unheard = self.room.wait_while(self.unheard(), full);
            let mut unheard = unheard.unwrap_or_else(PoisonError::into_inner);
            if unheard.deaf {
                return;
            }
            match rustix::io::read(&self.socket, &mut buffer) {
                Ok(len @ 1..) => unheard.push(buffer.get(..len).unwrap_or_default()),
                // Another reader was faster, or it was nothing.
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => continue,
                Ok(0) | Err(_) => unheard.ended = true,
            }
            if let Some(waker) = unheard.waker.take() {
                waker.wake();
            }
            if unheard.ended {
                return;
            }
        }
    }

    fn unheard(&self) -> MutexGuard<'_, Unheard> {
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unheard {
    fn push(&mut self, bytes: &[u8]) {
        self.pieces.push_back(Piece {
            received: BootTime::now(),
            bytes: bytes.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        (client, server)
    }

    fn next(ear: &Ear) -> Option<Piece> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(poll_fn(|cx| ear.poll(cx)))
    }

    #[test]
    fn bytes_are_stamped_when_they_come_and_not_when_they_are_heard() {
        let (mut client, server) = connected();
        let ear = Ear::of(&server).unwrap();
        client.write_all(b"key").unwrap();
        while ear.0.unheard().pieces.is_empty() {
            std::thread::yield_now();
        }
        let before = BootTime::now();
        let piece = next(&ear).unwrap();
        assert!(piece.received <= before);
        assert_eq!(*piece.bytes, *b"key");
        drop(client);
        assert_eq!(next(&ear), None);
    }

    #[test]
    fn all_that_was_sent_is_caught_up_with_in_order() {
        let (mut client, server) = connected();
        let ear = Ear::of(&server).unwrap();
        let sent: Vec<u8> = (0..100_000u32).map(|at| at.to_le_bytes()[0]).collect();
        client.write_all(&sent).unwrap();
        let heard = ear.catch_up();
        let heard: Vec<u8> = heard
            .iter()
            .flat_map(|piece| piece.bytes.iter().copied())
            .collect();
        assert!(heard == sent, "{} of {} bytes", heard.len(), sent.len());
    }

    #[test]
    fn who_is_not_heard_waits() {
        let (mut client, server) = connected();
        let ear = Ear::of(&server).unwrap();
        client.set_nonblocking(true).unwrap();
        let piece = [0; READ_BYTES];
        while ear.0.unheard().pieces.len() < UNHEARD_MAX {
            let _ = client.write(&piece); // full for a moment, perhaps
        }
        let sent = std::iter::from_fn(|| client.write(&piece).ok()).count();
        assert!(sent < 64 << 10, "the kernel's buffers are finite");
        assert_eq!(ear.0.unheard().pieces.len(), UNHEARD_MAX);
    }

    #[test]
    fn hanging_up_ends_the_connection() {
        let (mut client, server) = connected();
        let ear = Ear::of(&server).unwrap();
        drop(ear);
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        drop(server);
    }
}
