//! A driver's connection, relayed to the machine on a thread of its own, so that encoding never
//! delays it. All input is told to the recording before the machine gets it.

mod outgoing;

use std::{collections::VecDeque, io, net::TcpStream as StdTcpStream, time::Duration};

use capture::{event::Origin, mark::Mark, source::ErrorKind};
use capture_vnc::{
    Challenge, DriverError, Password, Random, Tls,
    proxy::{self, End, RelayConfig, RelayError},
};
use segment::end::EndReason;
use tokio::{
    io::{AsyncReadExt as _, ReadHalf, WriteHalf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};

use self::outgoing::Outgoing;
use super::{
    backlog::Backlog,
    inbox::{Act, Departure, Told},
    transport::{self, Transport},
};
use crate::{access::Access, clock, clock::BootTime, source::Source};

/// What is read from a socket at once.
const READ_BYTES: usize = 64 << 10;
/// Marks on their way through the relay: as many as the parent ever has under way.
const MARKS_MAX: usize = 32;
/// What one side has said last still reaches the other, which has this long to take it.
const LAST_WORDS_MS: u64 = 2_000;

/// A driver that is connected and not yet let through.
pub(super) struct Waiting {
    pub(super) driver: StdTcpStream,
    pub(super) source: Source,
    pub(super) access: Access,
    pub(super) tell: mpsc::Sender<Told>,
}

/// A driver that is let through; dropping this hangs up.
pub(super) struct Relay {
    marks: Option<mpsc::Sender<(u64, Mark)>>,
}

impl Waiting {
    /// Lets the driver through.
    pub(super) fn start(self) -> io::Result<Relay> {
        let (pass, marks) = mpsc::channel(MARKS_MAX);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let work = async move {
            let tell = self.tell.clone();
            let departure = match Wires::connect(self, marks).await {
                Ok(wires) => wires.relay().await,
                Err(departure) => departure,
            };
            let _ = tell.send(Told::Left(departure)).await; // recording has ended by itself
        };
        std::thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || runtime.block_on(work))?;
        Ok(Relay { marks: Some(pass) })
    }
}

impl Relay {
    /// Sends `mark` through the relay, behind all that the driver has sent until now. `false` when
    /// there is no way through any more.
    pub(super) fn pass(&self, id: u64, mark: &Mark) -> bool {
        let marks = self.marks.as_ref();
        marks.is_some_and(|marks| marks.try_send((id, mark.clone())).is_ok())
    }

    /// Cuts the driver off.
    pub(super) fn hang_up(&mut self) {
        self.marks = None;
    }
}

/// Both connections, and what is on its way from one to the other.
struct Wires {
    relay: proxy::Relay,
    from_driver: OwnedReadHalf,
    to_driver: Outgoing<OwnedWriteHalf>,
    from_server: ReadHalf<Transport>,
    to_server: Outgoing<WriteHalf<Transport>>,
    /// Where the server's encryption, if it comes to that, is believed.
    security: (String, Access),
    source: Source,
    tell: mpsc::Sender<Told>,
    marks: Marks,
    /// Once it is known that the relay ends: why, and when at the latest.
    leaving: Option<(Departure, BootTime)>,
}

/// Marks on their way through the relay, behind what the driver had sent when they came.
struct Marks {
    coming: mpsc::Receiver<(u64, Mark)>,
    /// Each with what is to be read before it, oldest first.
    held: VecDeque<(Backlog, u64, Mark)>,
    /// One before which all has been read, and is to be told.
    due: Option<(u64, Mark)>,
}

impl Wires {
    async fn connect(
        waiting: Waiting,
        coming: mpsc::Receiver<(u64, Mark)>,
    ) -> Result<Self, Departure> {
        let Waiting {
            driver,
            source,
            access,
            tell,
        } = waiting;
        let internal = |error: io::Error| lost(error.to_string());
        let server = transport::connect(&source, &access).await;
        let server = server.map_err(|error| lost(error.lost(&source).detail))?;
        driver.set_nonblocking(true).map_err(internal)?;
        // A key is a few bytes that somebody waits for; it must not wait to be gathered.
        driver.set_nodelay(true).map_err(internal)?;
        let driver = TcpStream::from_std(driver).map_err(internal)?;
        let (host, encrypted) = source.peer();
        let config = RelayConfig {
            user: source.user.clone(),
            password: access.password.clone().map(Password::new),
            random: Some(Random::new(clock::random().map_err(internal)?)),
            tls: (access.encrypt && !encrypted).then_some(Tls::Certified),
            challenge: Challenge::new(clock::random().map_err(internal)?),
        };
        let security = (host.to_owned(), access);
        let (from_server, to_server) = tokio::io::split(server);
        let (from_driver, to_driver) = driver.into_split();
        Ok(Self {
            relay: proxy::Relay::new(config, BootTime::now().ms()),
            from_driver,
            to_driver: Outgoing::to(to_driver),
            from_server,
            to_server: Outgoing::to(to_server),
            security,
            source,
            tell,
            marks: Marks {
                coming,
                held: VecDeque::new(),
                due: None,
            },
            leaving: None,
        })
    }

    /// Relays until one side has gone or the recording hangs up, and says why.
    async fn relay(mut self) -> Departure {
        let mut said_by_driver = vec![0; READ_BYTES];
        let mut said_by_server = vec![0; READ_BYTES];
        loop {
            self.collect();
            let now = BootTime::now();
            if let Some((departure, due)) = self.leaving.take() {
                if due <= now || (self.to_driver.is_empty() && self.to_server.is_empty()) {
                    return departure;
                }
                self.leaving = Some((departure, due));
            } else if self.relay.poll_upgrade().is_some() && self.to_server.is_empty() {
                self = match self.encrypt().await {
                    Ok(encrypted) => encrypted,
                    Err(departure) => return departure,
                };
                continue;
            }
            let going_on = self.leaving.is_none();
            let due = match &self.leaving {
                Some((_, due)) => Some(*due),
                None => self.relay.poll_timeout().map(BootTime::from_ms),
            };
            let due_ms = due.map_or(u64::MAX, |due| due.ms_since(now));
            let heard = tokio::select! {
                mark = self.marks.coming.recv(), if going_on => match mark {
                    None => return stopped(),
                    Some((id, mark)) => {
                        let before = Backlog::of(self.from_driver.as_ref());
                        self.marks.held.push_back((before, id, mark));
                        Ok(())
                    }
                },
                () = std::future::ready(()),
                    if going_on && self.to_server.has_room() && !self.marks.held.is_empty() =>
                {
                    self.catch_up(&mut said_by_driver)
                }
                read = self.from_driver.read(&mut said_by_driver),
                    if going_on && self.to_server.has_room() =>
                {
                    self.hear(End::Driver, read, &said_by_driver)
                }
                read = self.from_server.read(&mut said_by_server),
                    if going_on && self.to_driver.has_room() =>
                {
                    self.hear(End::Server, read, &said_by_server)
                }
                sent = self.to_driver.send() => sent.map_err(|_| self.relay.handle_close(End::Driver)),
                sent = self.to_server.send() => sent.map_err(|_| self.relay.handle_close(End::Server)),
                () = tokio::time::sleep(Duration::from_millis(due_ms)) => {
                    self.relay.handle_timeout(BootTime::now().ms())
                }
            };
            let received = BootTime::now();
            while let Some(input) = self.relay.poll_input() {
                let act = Act {
                    received,
                    origin: Origin::Wire,
                    input,
                };
                if self.tell.send(Told::Act(act)).await.is_err() {
                    return stopped();
                }
            }
            if let Some((id, mark)) = self.marks.due.take()
                && self.tell.send(Told::Mark { id, mark }).await.is_err()
            {
                return stopped();
            }
            if let Err(error) = heard
                && going_on
            {
                let due = received.plus_ms(LAST_WORDS_MS);
                self.leaving = Some((departure(&error), due));
            }
        }
    }

    /// Puts what the relay has to say behind what is already on its way.
    fn collect(&mut self) {
        while let Some(bytes) = self.relay.poll_transmit(End::Server) {
            self.to_server.push(bytes);
        }
        while let Some(bytes) = self.relay.poll_transmit(End::Driver) {
            self.to_driver.push(bytes);
        }
    }

    fn hear(&mut self, end: End, read: io::Result<usize>, buffer: &[u8]) -> Result<(), RelayError> {
        let now_ms = BootTime::now().ms();
        match read {
            Ok(len @ 1..) => {
                let bytes = buffer.get(..len).unwrap_or_default();
                self.relay.handle_bytes(now_ms, end, bytes)
            }
            Ok(0) | Err(_) => Err(self.relay.handle_close(end)),
        }
    }

    /// Reads some of what goes before the oldest mark, which is due when that was all.
    fn catch_up(&mut self, buffer: &mut [u8]) -> Result<(), RelayError> {
        let read = self.marks.held.front_mut().and_then(|(before, ..)| {
            let socket = self.from_driver.as_ref();
            before.read(socket, buffer)
        });
        if let Some(len) = read {
            return self.hear(End::Driver, Ok(len), buffer);
        }
        let due = self.marks.held.pop_front();
        self.marks.due = due.map(|(_, id, mark)| (id, mark));
        Ok(())
    }

    /// Wraps the connection to the server in the encryption that it asks for.
    async fn encrypt(self) -> Result<Self, Departure> {
        let plain = self.from_server.unsplit(self.to_server.into_inner());
        let (host, access) = &self.security;
        let wrapped = transport::upgrade(plain, host, access.trust).await;
        let wrapped = wrapped.map_err(|error| lost(error.lost(&self.source).detail))?;
        let (from_server, to_server) = tokio::io::split(wrapped.stream);
        let mut relay = self.relay;
        relay
            .handle_upgraded(BootTime::now().ms())
            .map_err(|error| departure(&error))?;
        Ok(Self {
            relay,
            from_server,
            to_server: Outgoing::to(to_server),
            ..self
        })
    }
}

/// What the end of a relay means for the session.
pub(super) fn departure(error: &RelayError) -> Departure {
    match error {
        RelayError::Driver(DriverError::Closed { .. }) => Departure {
            reason: EndReason::DriverLeft,
            detail: None,
        },
        RelayError::Server(server) if server.kind() != ErrorKind::Refused => {
            lost(error.to_string())
        }
        RelayError::Server(_) | RelayError::Driver(_) | RelayError::OutOfTurn { .. } => Departure {
            reason: EndReason::DriverRefused,
            detail: Some(error.to_string()),
        },
    }
}

fn lost(detail: String) -> Departure {
    Departure {
        reason: EndReason::SourceLost,
        detail: Some(detail),
    }
}

/// The recording has ended, or is about to.
const fn stopped() -> Departure {
    Departure {
        reason: EndReason::Stopped,
        detail: None,
    }
}
