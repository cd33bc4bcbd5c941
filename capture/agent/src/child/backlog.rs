//! What has a driver sent by some instant that is still to be read? A mark is told behind all of
//! it: a secret's last key must not be taken for the first one after it.

use std::os::fd::AsFd;

/// What a driver's side may hold back of what it has sent while nothing is read. Somebody who
/// never stops sending is not waited for longer.
const HELD_BACK_BYTES: u64 = 1 << 20;

/// A connection's receiving end. Nothing here waits.
pub(super) trait Unread {
    /// How much has arrived.
    fn arrived_bytes(&self) -> u64;

    /// Tells the other side at once what has arrived, which the kernel would else put off.
    fn acknowledge(&self);

    /// Takes the first of what has arrived; `None` when that is nothing, or the end.
    fn take(&mut self, buffer: &mut [u8]) -> Option<usize>;
}

/// Not by way of a runtime, which may not know yet that there is something.
impl<S: AsFd> Unread for S {
    fn arrived_bytes(&self) -> u64 {
        rustix::io::ioctl_fionread(self).unwrap_or(0)
    }

    fn acknowledge(&self) {
        let _ = rustix::net::sockopt::set_tcp_quickack(self, true); // it may be gone
    }

    fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        rustix::io::read(self, buffer).ok().filter(|&len| len > 0)
    }
}

/// What was sent until this was made.
pub(super) struct Backlog {
    left_bytes: u64,
}

impl Backlog {
    pub(super) fn of(socket: &impl Unread) -> Self {
        Self {
            left_bytes: socket.arrived_bytes().max(HELD_BACK_BYTES),
        }
    }

    /// Reads the next of it into `buffer`, and gives back how much that was; `None` when all of
    /// it has been read.
    pub(super) fn read(&mut self, socket: &mut impl Unread, buffer: &mut [u8]) -> Option<usize> {
        if self.left_bytes == 0 {
            return None;
        }
        // Its side may send the rest only when it hears that the first was taken, so what is
        // there to be counted is not all, and what is there to be read is not either until this.
        socket.acknowledge();
        let len = socket.take(buffer)?;
        self.left_bytes = self.left_bytes.saturating_sub(len as u64);
        Some(len)
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::VecDeque};

    use super::*;

    /// A sender that lets the next piece go when it hears that the one before has come.
    struct Hesitant {
        arrived: RefCell<VecDeque<u8>>,
        held_back: RefCell<VecDeque<Vec<u8>>>,
    }

    impl Hesitant {
        fn sending(pieces: &[&[u8]]) -> Self {
            let mut pieces = pieces.iter().map(|piece| piece.to_vec());
            Self {
                arrived: RefCell::new(pieces.next().unwrap_or_default().into()),
                held_back: RefCell::new(pieces.collect()),
            }
        }
    }

    impl Unread for Hesitant {
        fn arrived_bytes(&self) -> u64 {
            self.arrived.borrow().len() as u64
        }

        fn acknowledge(&self) {
            let next = self.held_back.borrow_mut().pop_front();
            self.arrived.borrow_mut().extend(next.unwrap_or_default());
        }

        fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
            let arrived = self.arrived.get_mut();
            let len = arrived.len().min(buffer.len());
            for (to, from) in buffer.iter_mut().zip(arrived.drain(..len)) {
                *to = from;
            }
            (len > 0).then_some(len)
        }
    }

    fn read(mut socket: Hesitant) -> Vec<u8> {
        let mut backlog = Backlog::of(&socket);
        let mut buffer = [0; 64];
        let pieces = std::iter::from_fn(|| {
            let len = backlog.read(&mut socket, &mut buffer)?;
            Some(buffer[..len].to_vec())
        });
        pieces.collect::<Vec<_>>().concat()
    }

    #[test]
    fn what_comes_only_when_the_first_was_taken_is_part_of_it() {
        let socket = Hesitant::sending(&[b"the", b"secret's", b"last", b"keys"]);
        assert_eq!(read(socket), b"thesecret'slastkeys");
    }

    #[test]
    fn who_sends_nothing_is_not_waited_for() {
        assert_eq!(read(Hesitant::sending(&[])), b"");
    }

    #[test]
    fn who_never_stops_is_heard_so_far() {
        let endless = vec![&[b'a'; 4096][..]; 1024];
        let read = read(Hesitant::sending(&endless)).len() as u64;
        assert!((HELD_BACK_BYTES..HELD_BACK_BYTES + 64).contains(&read));
    }
}
