//! How is an X server kept from filling our memory or from keeping us waiting for ever? A socket
//! that looks at the packets' heads before they reach the X11 library.

use std::{
    io::{self, ErrorKind, IoSlice},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec};
use x11rb::{
    connection::Connection as _,
    errors::{ConnectionError, ReplyError},
    protocol::xproto::{ConnectionExt as _, GE_GENERIC_EVENT},
    reexports::x11rb_protocol::{
        parse_display::{ParsedDisplay, parse_display},
        xauth::get_auth,
    },
    rust_connection::{DefaultStream, PollMode, RustConnection, Stream},
    utils::RawFdContainer,
};

use super::error::{ObserverError, not_let_in};

/// A connection to an X server over a [`Line`].
pub(super) type Connection = RustConnection<Line>;

/// The longest packet: a request that binds all keys to all it can fits four times.
const MAX_PACKET_BYTES: u64 = 1 << 20;
/// The most that is taken in before what came is looked at.
const MAX_READ_BYTES: u64 = 1 << 20;
/// The most events that wait to be thrown away. A change of the keyboard brings a handful.
const MAX_EVENTS: u32 = 4_096;
/// An X server that says nothing for this long when it should is lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a wait says that ended without anything to hear.
const IDLE: ErrorKind = ErrorKind::WouldBlock;
/// How often an X server is asked to hand out what it has seen. It does so by itself only when it
/// has something to say to some client; motion over an empty desktop would else wait, and be late.
const NUDGE_EVERY: Duration = Duration::from_millis(20);

/// Reads a display's name.
pub(super) fn parse(display: &str) -> Result<ParsedDisplay, ObserverError> {
    let shown = || display.chars().take(256).collect();
    parse_display(Some(display)).map_err(|_| ObserverError::Name { display: shown() })
}

/// Connects to `display`.
pub(super) fn connect(display: &str) -> Result<Connection, ObserverError> {
    let parsed = parse(display)?;
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in parsed.connect_instruction() {
        match DefaultStream::connect(&address) {
            Ok((stream, (family, peer))) => {
                // A cookie that cannot be read is one that we do not have.
                let cookie = get_auth(family, &peer, parsed.display).ok().flatten();
                let (method, cookie) = cookie.unwrap_or_default();
                let screen = parsed.screen.into();
                let line = Line::new(stream);
                return RustConnection::connect_to_stream_with_auth_info(
                    line, screen, method, cookie,
                )
                .map_err(not_let_in);
            }
            Err(error) => last = error,
        }
    }
    Err(ObserverError::Unreachable {
        display: display.to_owned(),
        source: last,
    })
}

/// Asks for anything, which makes the server hand out what it has for anyone.
pub(super) fn nudge(control: &Connection) -> Result<(), ReplyError> {
    control.get_input_focus()?.reply()?;
    Ok(())
}

/// Whether a wait ended because there was nothing to hear on a line that
/// [watches another](Line::watch_beside).
pub(super) fn is_idle(error: &ConnectionError) -> bool {
    matches!(error, ConnectionError::IoError(error) if error.kind() == IDLE)
}

/// Throws away what X servers send to every client unasked.
pub(super) fn forget_events(connection: &Connection) -> Result<(), ConnectionError> {
    while connection.poll_for_event()?.is_some() {}
    connection.stream().events_taken();
    Ok(())
}

/// A socket to an X server.
pub(super) struct Line {
    stream: DefaultStream,
    /// What is heard over this is waited for as well, while the server may rightly be silent here.
    beside: OnceLock<Arc<Connection>>,
    flow: Mutex<Flow>,
}

#[derive(Default)]
struct Flow {
    packets: Packets,
    /// Taken in since we last waited.
    read_bytes: u64,
}

impl Line {
    fn new(stream: DefaultStream) -> Self {
        Self {
            stream,
            beside: OnceLock::new(),
            flow: Mutex::default(),
        }
    }

    /// From now on the server may be silent here. A wait ends when it is for a moment, or when
    /// something is heard over `other`: [`is_idle`] tells.
    pub(super) fn watch_beside(&self, other: &Arc<Connection>) {
        self.beside.get_or_init(|| Arc::clone(other));
    }

    /// The events that had come were looked at.
    pub(super) fn events_taken(&self) {
        self.flow().packets.events = 0;
    }

    fn flow(&self) -> std::sync::MutexGuard<'_, Flow> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the socket is ready, or that of `other` has something to hear; `false` when
    /// `limit` passes first.
    fn ready_within(
        &self,
        mode: PollMode,
        other: Option<&Self>,
        limit: Duration,
    ) -> io::Result<bool> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, mode.readable());
        flags.set(PollFlags::OUT, mode.writable());
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        let mut sockets = vec![PollFd::new(&self.stream, flags)];
        sockets.extend(other.map(|other| PollFd::new(&other.stream, PollFlags::IN)));
        match rustix::event::poll(&mut sockets, Some(&limit)) {
            Ok(_) => Ok({ sockets.first() }.is_some_and(|own| !own.revents().is_empty())),
            Err(rustix::io::Errno::INTR) => Ok(true), // callers look again
            Err(error) => Err(error.into()),
        }
    }
}

impl Stream for Line {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        self.flow().read_bytes = 0;
        let beside = self.beside.get().filter(|_| !mode.writable());
        let other = beside.map(|connection| connection.stream());
        let (limit, silence) = match other {
            Some(_) => (NUDGE_EVERY, io::Error::from(IDLE)),
            None => (PATIENCE, io::Error::new(ErrorKind::TimedOut, "no answer")),
        };
        if self.ready_within(mode, other, limit)? {
            return Ok(());
        }
        Err(silence)
    }

    fn read(&self, buf: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        let mut flow = self.flow();
        if flow.read_bytes > MAX_READ_BYTES {
            return Err(ErrorKind::WouldBlock.into());
        }
        let len = self.stream.read(buf, fds)?;
        fds.clear(); // X servers that we ask nothing of the kind have none to give
        flow.read_bytes += len as u64;
        flow.packets.pass(buf.get(..len).unwrap_or_default())?;
        Ok(len)
    }

    fn write(&self, buf: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.write(buf, fds)
    }

    fn write_vectored(
        &self,
        bufs: &[IoSlice<'_>],
        fds: &mut Vec<RawFdContainer>,
    ) -> io::Result<usize> {
        self.stream.write_vectored(bufs, fds)
    }
}

/// Follows the packets in a server's bytes (X11 protocol, appendix B).
#[derive(Default)]
struct Packets {
    /// Whether the answer to the greeting has begun, which has a form of its own.
    greeted: bool,
    head: Vec<u8>,
    /// What is still to come of the packet whose head is known.
    rest_bytes: u64,
    /// Events that wait to be thrown away.
    events: u32,
}

impl Packets {
    const GREETING_HEAD_BYTES: usize = 8;
    const HEAD_BYTES: usize = 32;

    /// Looks at `bytes` on their way.
    fn pass(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let skipped =
                usize::try_from(self.rest_bytes).map_or(bytes.len(), |n| n.min(bytes.len()));
            self.rest_bytes -= skipped as u64;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let head_bytes = if self.greeted {
                Self::HEAD_BYTES
            } else {
                Self::GREETING_HEAD_BYTES
            };
            let taken = bytes.len().min(head_bytes - self.head.len());
            let (head, after) = bytes.split_at(taken);
            self.head.extend_from_slice(head);
            bytes = after;
            if self.head.len() == head_bytes {
                self.rest_bytes = self.measure()?;
                self.head.clear();
            }
        }
        Ok(())
    }

    /// How much follows the head.
    fn measure(&mut self) -> io::Result<u64> {
        const ERROR: u8 = 0;
        const REPLY: u8 = 1;
        let &[kind, _, _, _, a, b, c, d, ..] = self.head.as_slice() else {
            return Ok(0);
        };
        if !std::mem::replace(&mut self.greeted, true) {
            return Ok(4 * u64::from(u16::from_ne_bytes([c, d])));
        }
        let kind = kind & 0x7f; // the highest bit says that a client sent it
        self.events += u32::from(!matches!(kind, ERROR | REPLY));
        if self.events > MAX_EVENTS {
            return Err(nonsense("endless events"));
        }
        if !matches!(kind, REPLY | GE_GENERIC_EVENT) {
            return Ok(0);
        }
        let rest_bytes = 4 * u64::from(u32::from_ne_bytes([a, b, c, d]));
        if rest_bytes > MAX_PACKET_BYTES {
            return Err(nonsense("oversized packet"));
        }
        Ok(rest_bytes)
    }
}

fn nonsense(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREETING: [u8; 16] = [1, 0, 11, 0, 0, 0, 2, 0, 7, 7, 7, 7, 7, 7, 7, 7];

    fn packet(kind: u8, rest_words: u32, rest_bytes: usize) -> Vec<u8> {
        let mut packet = vec![0; Packets::HEAD_BYTES + rest_bytes];
        packet[0] = kind;
        packet[4..8].copy_from_slice(&rest_words.to_ne_bytes());
        packet
    }

    /// Whether a server may say `packets`, in pieces of any size.
    #[track_caller]
    fn check(packets: &[Vec<u8>], expected: Result<u32, ErrorKind>) {
        let bytes = [&[GREETING.to_vec()], packets].concat().concat();
        for piece in [1, 7, 32, 33, 4096] {
            let mut flow = Packets::default();
            let passed = bytes.chunks(piece).try_for_each(|piece| flow.pass(piece));
            let found = passed.map(|()| flow.events).map_err(|error| error.kind());
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn answers_events_and_errors_are_told_apart() {
        let answer = packet(1, 3, 12);
        let (event, error) = (packet(34, u32::MAX, 0), packet(0, u32::MAX, 0));
        let generic = packet(35, 2, 8);
        check(&[answer, event.clone(), error, generic, event], Ok(3));
    }

    #[test]
    fn packets_without_measure_are_refused_by_their_head() {
        let bomb = packet(1, u32::MAX, 0);
        check(&[packet(1, 0, 0), bomb], Err(ErrorKind::InvalidData));
        check(&[packet(35, 1 << 20, 0)], Err(ErrorKind::InvalidData));
        check(&vec![packet(6, 0, 0); 5_000], Err(ErrorKind::InvalidData));
    }
}
