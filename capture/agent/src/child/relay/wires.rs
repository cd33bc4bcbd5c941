//! Both connections of a relay, and what is on its way from one to the other.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use capture::{event::Origin, mark::Mark, relay::End};
use rustix::net::Shutdown;
use tokio::{io::AsyncReadExt as _, net::TcpStream, sync::mpsc};
use tokio_rustls::TlsAcceptor;

use super::{
    Order, Waiting,
    line::Line,
    prompt::{Arrived, Prompt},
    protocol::Protocol,
    rdp::Rdp,
    viewer::Viewer,
    vnc::Vnc,
};
use crate::{
    access::Access,
    child::{
        backlog::Backlog,
        inbox::{Act, Departure, Told},
        lost::Lost,
        transport::{self, Transport},
    },
    clock::BootTime,
    entrance::Entrance,
    source::Source,
};

/// What is read from a socket at once.
const READ_BYTES: usize = 64 << 10;
/// What one side has said last still reaches the other, which has this long to take it.
const LAST_WORDS_MS: u64 = 2_000;
/// How long a machine is kept whose driver has gone, so that the recording can ask whether its last
/// picture stands: longer than the recording waits for that.
const LAST_PROOF_MS: u64 = 2_000;

/// Both connections, and what is on its way from one to the other.
pub(super) struct Wires {
    protocol: Box<dyn Protocol>,
    /// The driver's connection, under whatever lies around it.
    socket: Arc<TcpStream>,
    driver: Line,
    server: Line,
    /// Whether the server is connected. Who has to let the driver in first does not disturb it
    /// before.
    connected: bool,
    source: Source,
    access: Access,
    /// How TLS is spoken to the driver, where it is, and the certificate it is shown.
    entrance: Option<(TlsAcceptor, Vec<u8>)>,
    tell: mpsc::Sender<Told>,
    orders: mpsc::Receiver<Order>,
    marks: Marks,
    /// Once it is known that the relay ends: why, and when at the latest.
    leaving: Option<(Departure, BootTime)>,
}

/// Marks on their way through the relay, behind what the driver had sent when they came.
#[derive(Default)]
struct Marks {
    /// Each with what is to be read before it, oldest first.
    held: VecDeque<(Backlog, u64, Mark)>,
    /// One before which all has been read, and is to be told.
    due: Option<(u64, Mark)>,
}

impl Wires {
    /// The driver's connection, and the server's where the driver cannot be let in without it.
    pub(super) async fn new(
        waiting: Waiting,
        entrance: Option<Entrance>,
        orders: mpsc::Receiver<Order>,
    ) -> Result<Self, Departure> {
        let Waiting {
            driver,
            source,
            access,
            tell,
        } = waiting;
        driver.set_nonblocking(true).map_err(broken)?;
        // A key is a few bytes that somebody waits for; it must not wait to be gathered.
        driver.set_nodelay(true).map_err(broken)?;
        let socket = Arc::new(TcpStream::from_std(driver).map_err(broken)?);
        let driver = Line::over(Box::new(Prompt(Arc::clone(&socket))));
        let (server, protocol, entrance): (_, Box<dyn Protocol>, _) = match entrance {
            None => {
                let server = connect(&source, &access).await?;
                let protocol = Vnc::new(&source, &access).map_err(broken)?;
                (Some(server), Box::new(protocol), None)
            }
            Some(entrance) => {
                let unusable = |error| broken(io::Error::other(error));
                let accept = entrance.certificate.server().map_err(unusable)?;
                let own = entrance.certificate.leaf().map_err(unusable)?;
                let protocol = Rdp::new(&source, &access, &entrance);
                let entrance = (TlsAcceptor::from(Arc::new(accept)), own);
                (None, Box::new(protocol), Some(entrance))
            }
        };
        Ok(Self {
            protocol,
            socket,
            driver,
            connected: server.is_some(),
            server: server.map_or_else(Line::closed, Line::over),
            source,
            access,
            entrance,
            tell,
            orders,
            marks: Marks::default(),
            leaving: None,
        })
    }

    /// Relays until one side has gone or the recording hangs up, and says why.
    pub(super) async fn relay(&mut self, viewer: &mut Viewer) -> Departure {
        let mut said_by_driver = vec![0; READ_BYTES];
        let mut said_by_server = vec![0; READ_BYTES];
        let mut asked = vec![0; READ_BYTES];
        loop {
            self.collect(viewer);
            let now = BootTime::now();
            if let Some((departure, due)) = self.leaving.take() {
                if due <= now || (self.driver.out.is_empty() && self.server.out.is_empty()) {
                    return departure;
                }
                self.leaving = Some((departure, due));
            } else {
                match self.build_up().await {
                    Ok(false) => {}
                    Ok(true) => continue,
                    Err(departure) => {
                        self.leave(departure);
                        continue;
                    }
                }
            }
            let going_on = self.leaving.is_none();
            let due = match &self.leaving {
                Some((_, due)) => Some(*due),
                None => self.protocol.poll_timeout(),
            };
            let due_ms = due.map_or(u64::MAX, |due| due.ms_since(now));
            let hears_driver = going_on && self.hears(End::Driver) && self.server.out.has_room();
            let hears_server = going_on
                && self.hears(End::Server)
                && self.driver.out.has_room()
                && viewer.has_room();
            let heard = tokio::select! {
                order = self.orders.recv(), if going_on => match order {
                    None => return Departure::Stopped,
                    Some(Order::LetThrough) => {
                        self.protocol.let_through();
                        Ok(())
                    }
                    Some(Order::Pass(id, mark)) => {
                        let before = Backlog::of(&*self.socket);
                        self.marks.held.push_back((before, id, mark));
                        Ok(())
                    }
                },
                () = std::future::ready(()), if hears_driver && !self.marks.held.is_empty() => {
                    self.catch_up(&mut said_by_driver)
                }
                read = self.driver.read.read(&mut said_by_driver), if hears_driver => {
                    self.hear(End::Driver, read, &said_by_driver)
                }
                read = self.server.read.read(&mut said_by_server), if hears_server => {
                    self.hear(End::Server, read, &said_by_server)
                }
                read = viewer.asks(&mut asked), if going_on => match read {
                    Ok(len @ 1..) => {
                        self.protocol.ask(asked.get(..len).unwrap_or_default());
                        Ok(())
                    }
                    Ok(0) | Err(_) => return Departure::Stopped,
                },
                sent = self.driver.out.send() => {
                    sent.map_err(|_| self.protocol.handle_close(End::Driver))
                }
                sent = self.server.out.send() => {
                    sent.map_err(|_| self.protocol.handle_close(End::Server))
                }
                () = tokio::time::sleep(Duration::from_millis(due_ms)) => {
                    self.protocol.handle_timeout(BootTime::now())
                }
            };
            let received = BootTime::now();
            while let Some(input) = self.protocol.poll_input() {
                let act = Act {
                    received,
                    origin: Origin::Wire,
                    input,
                };
                if self.tell.send(Told::Act(act)).await.is_err() {
                    return Departure::Stopped;
                }
            }
            if let Some((id, mark)) = self.marks.due.take()
                && self.tell.send(Told::Mark { id, mark }).await.is_err()
            {
                return Departure::Stopped;
            }
            if let Err(departure) = heard
                && going_on
            {
                self.leave(departure);
            }
        }
    }

    /// Keeps the machine whose driver has gone, until the recording has seen enough of it.
    pub(super) async fn linger(&mut self, viewer: &mut Viewer) {
        if !matches!(viewer, Viewer::Watches(_)) || !self.connected {
            return;
        }
        let _ = rustix::net::shutdown(&*self.socket, Shutdown::Both); // it may be gone
        self.driver = Line::closed();
        let (mut said, mut asked) = (vec![0; READ_BYTES], vec![0; READ_BYTES]);
        let until = BootTime::now().plus_ms(LAST_PROOF_MS);
        loop {
            self.collect(viewer);
            self.driver.out.forget();
            let left_ms = until.ms_since(BootTime::now());
            let heard = tokio::select! {
                read = self.server.read.read(&mut said), if viewer.has_room() => {
                    self.hear(End::Server, read, &said)
                }
                read = viewer.asks(&mut asked) => match read {
                    Ok(len @ 1..) => {
                        self.protocol.ask(asked.get(..len).unwrap_or_default());
                        Ok(())
                    }
                    Ok(0) | Err(_) => return,
                },
                sent = self.server.out.send() => {
                    sent.map_err(|_| self.protocol.handle_close(End::Server))
                }
                () = tokio::time::sleep(Duration::from_millis(left_ms)) => return,
            };
            if heard.is_err() {
                return;
            }
        }
    }

    /// Connects and encrypts as far as the protocol asks for it now, and says whether it did.
    async fn build_up(&mut self) -> Result<bool, Departure> {
        if !self.connected && !self.server.out.is_empty() {
            self.server
                .attach(connect(&self.source, &self.access).await?);
            self.connected = true;
            return Ok(true);
        }
        let end = match self.protocol.poll_upgrade() {
            Some(End::Driver) if self.driver.out.is_empty() => End::Driver,
            Some(End::Server) if self.server.out.is_empty() => End::Server,
            _ => return Ok(false),
        };
        let (line, wrapped) = match (end, &self.entrance) {
            (End::Driver, Some((acceptor, own))) => {
                let wrapped = transport::accept(self.driver.take(), acceptor, own).await;
                let refused = |error| Departure::Refused(format!("driver {error}"));
                (&mut self.driver, wrapped.map_err(refused)?)
            }
            _ => {
                let ((host, _), trust) = (self.source.peer(), self.access.trust);
                let wrapped = transport::upgrade(self.server.take(), host, trust).await;
                let lost = |error: transport::Error| Departure::Lost(error.lost(&self.source));
                (&mut self.server, wrapped.map_err(lost)?)
            }
        };
        *line = Line::over(wrapped.stream);
        let now = BootTime::now();
        self.protocol
            .handle_upgraded(now, end, &wrapped.certificate)?;
        Ok(true)
    }

    /// Puts what the relay has to say behind what is already on its way.
    fn collect(&mut self, viewer: &mut Viewer) {
        while let Some(bytes) = self.protocol.poll_transmit(End::Server) {
            self.server.out.push(bytes);
        }
        while let Some(bytes) = self.protocol.poll_transmit(End::Driver) {
            self.driver.out.push(bytes);
        }
        if let Some(desktop) = self.protocol.poll_desktop() {
            viewer.open(desktop);
        }
        while let Some(bytes) = self.protocol.poll_shown() {
            viewer.show(bytes);
        }
    }

    /// Whether what an end says is for the protocol: what it says to be encrypted is not.
    fn hears(&self, end: End) -> bool {
        let there = end == End::Driver || self.connected;
        there && self.protocol.wants_bytes(end) && self.protocol.poll_upgrade() != Some(end)
    }

    fn hear(&mut self, end: End, read: io::Result<usize>, buffer: &[u8]) -> Result<(), Departure> {
        match read {
            Ok(len @ 1..) => {
                let bytes = buffer.get(..len).unwrap_or_default();
                self.protocol.handle_bytes(BootTime::now(), end, bytes)
            }
            Ok(0) | Err(_) => Err(self.protocol.handle_close(end)),
        }
    }

    /// Reads some of what goes before the oldest mark, which is due when that was all.
    fn catch_up(&mut self, buffer: &mut [u8]) -> Result<(), Departure> {
        let read = self.marks.held.front_mut().and_then(|(before, ..)| {
            let mut arrived = Arrived {
                socket: &self.socket,
                read: &mut self.driver.read,
            };
            before.read(&mut arrived, buffer)
        });
        if let Some(len) = read {
            return self.hear(End::Driver, Ok(len), buffer);
        }
        let due = self.marks.held.pop_front();
        self.marks.due = due.map(|(_, id, mark)| (id, mark));
        Ok(())
    }

    /// The relay ends, once its last words are said.
    fn leave(&mut self, departure: Departure) {
        let due = BootTime::now().plus_ms(LAST_WORDS_MS);
        self.leaving = Some((departure, due));
    }
}

async fn connect(source: &Source, access: &Access) -> Result<Transport, Departure> {
    let connected = transport::connect(source, access).await;
    connected.map_err(|error| Departure::Lost(error.lost(source)))
}

fn broken(error: io::Error) -> Departure {
    Departure::Lost(Lost::disconnected(error.to_string()))
}
