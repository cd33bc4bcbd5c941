//! A driver's connection, relayed to the machine on a thread of its own, so that encoding never
//! delays it. All input is told to the recording before the machine gets it.
//!
//! Where the driver's connection is the only one there can be, the recording is shown what the
//! machine says on it; the driver then operates nothing before the first frame is durable.

mod line;
mod outgoing;
mod prompt;
mod protocol;
mod rdp;
mod viewer;
mod vnc;
mod wires;

use std::{io, net::TcpStream};

use capture::mark::Mark;
use tokio::sync::{mpsc, oneshot};

pub(super) use self::viewer::{Coming, Watched};
use self::{viewer::Viewer, wires::Wires};
use super::inbox::Told;
use crate::{access::Access, entrance::Entrance, source::Source};

/// Marks on their way through the relay: as many as the parent ever has under way. The word that lets
/// the driver through comes before any.
const ORDERS_MAX: usize = 32;

/// A driver that is connected and not yet let through.
pub(super) struct Waiting {
    pub(super) driver: TcpStream,
    pub(super) source: Source,
    pub(super) access: Access,
    pub(super) tell: mpsc::Sender<Told>,
}

/// A driver's relay; dropping this hangs up.
pub(super) struct Relay {
    orders: Option<mpsc::Sender<Order>>,
}

/// What the recording wants of a relay.
enum Order {
    /// From now on the driver operates the machine.
    LetThrough,
    /// This mark is to pass, behind all that the driver has sent until now.
    Pass(u64, Mark),
}

impl Waiting {
    /// Lets the driver through, to a machine that the recording has another connection to.
    pub(super) fn start(self) -> io::Result<Relay> {
        self.spawn(None, Viewer::Apart)
    }

    /// Lets the driver in at `entrance`, to a machine that has no other connection. Gives what the
    /// recording is shown, too.
    pub(super) fn show(self, entrance: Entrance) -> io::Result<(Relay, Coming)> {
        let (tell, coming) = oneshot::channel();
        let relay = self.spawn(Some(entrance), Viewer::Waits(tell))?;
        Ok((relay, coming))
    }

    fn spawn(self, entrance: Option<Entrance>, mut viewer: Viewer) -> io::Result<Relay> {
        let (give, orders) = mpsc::channel(ORDERS_MAX);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let work = async move || {
            let tell = self.tell.clone();
            match Wires::new(self, entrance, orders).await {
                Err(departure) => viewer.tell(departure, &tell).await,
                Ok(mut wires) => {
                    let departure = wires.relay(&mut viewer).await;
                    viewer.tell(departure, &tell).await;
                    wires.linger(&mut viewer).await;
                }
            }
        };
        std::thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || runtime.block_on(work()))?;
        Ok(Relay { orders: Some(give) })
    }
}

impl Relay {
    /// Lets a driver that has been let in operate the machine. Does nothing where it waits outside.
    pub(super) fn let_through(&self) {
        self.give(Order::LetThrough);
    }

    /// Sends `mark` through the relay, behind all that the driver has sent until now. `false` when
    /// there is no way through any more.
    pub(super) fn pass(&self, id: u64, mark: &Mark) -> bool {
        self.give(Order::Pass(id, mark.clone()))
    }

    fn give(&self, order: Order) -> bool {
        let orders = self.orders.as_ref();
        orders.is_some_and(|orders| orders.try_send(order).is_ok())
    }

    /// Cuts the driver off.
    pub(super) fn hang_up(&mut self) {
        self.orders = None;
    }
}
