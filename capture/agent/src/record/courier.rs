//! Delivering beside recording: the parent's side, which notes what is sealed and waits only when
//! it must. The work is the [carrier](super::carrier)'s.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use segment::end::EndReason;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};
use tracing::Instrument as _;

use super::{
    announce::Announcer,
    carrier::{Carrier, Finish, Sent},
};
use crate::{
    clock,
    delivery::{Places, Position, reached},
    spool::Folder,
    wire::Status,
};

/// How often the catalogue hears that the recorder lives.
const LEASE_EVERY: Duration = Duration::from_secs(5);

/// What became of a closed session's delivery.
pub(super) enum Delivered {
    /// The store has all of it, the end record last.
    Wholly,
    /// The store has all of it; the catalogue is still to be told.
    Stored,
    /// The store has some of it; the rest waits in the spool.
    Partly(anyhow::Error),
}

/// Delivers what is sealed.
pub(super) struct Courier {
    places: Places,
    folder: Folder,
    announcer: Arc<Mutex<Announcer>>,
    /// How many objects are sealed: the number of the first that is not.
    sealed: watch::Sender<u64>,
    /// Where the delivered part ends.
    delivered: watch::Sender<Position>,
    task: Option<Task>,
}

struct Task {
    orders: mpsc::Sender<Finish>,
    handle: JoinHandle<()>,
    lease: JoinHandle<()>,
}

impl Courier {
    /// A courier for the session in `folder`, which may not have a head yet, and of which the store
    /// has the part before `delivered`.
    pub(super) fn new(
        places: Places,
        folder: Folder,
        announcer: Announcer,
        delivered: Position,
    ) -> Self {
        Self {
            places,
            folder,
            announcer: Arc::new(Mutex::new(announcer)),
            sealed: watch::Sender::new(delivered.seq),
            delivered: watch::Sender::new(delivered),
            task: None,
        }
    }

    /// Begins to deliver: the head is in the folder.
    pub(super) fn begin(&mut self) {
        if self.task.is_some() {
            return;
        }
        let (orders, receiver) = mpsc::channel(1);
        let (places, folder) = (self.places.clone(), self.folder.clone());
        let carrier = Carrier::new(
            places.clone(),
            folder.clone(),
            Arc::clone(&self.announcer),
            self.sealed.subscribe(),
            self.delivered.clone(),
            receiver,
        );
        self.task = Some(Task {
            orders,
            handle: tokio::spawn(carrier.carry().in_current_span()),
            lease: tokio::spawn(renew_lease(places, folder).in_current_span()),
        });
    }

    /// Object `seq` is complete in the folder.
    pub(super) fn sealed(&self, seq: u64) {
        self.sealed
            .send_modify(|sealed| *sealed = (*sealed).max(seq + 1));
    }

    /// Prints something.
    pub(super) fn announce(&self, say: impl FnOnce(&mut Announcer)) {
        say(&mut self
            .announcer
            .lock()
            .unwrap_or_else(PoisonError::into_inner));
    }

    /// Prints that recording has started.
    pub(super) fn announce_start(&self, source: &str) {
        self.announce(|announcer| announcer.started(source, self.places.store.url()));
    }

    /// Shows how it goes.
    pub(super) fn status(&self, status: Status) {
        let pending = self.folder.pending().map_or(0, |pending| pending.len());
        self.announce(|announcer| announcer.status(status, pending));
    }

    /// Where a dead child has left the session, and has its last file delivered. The store need
    /// not be there for it.
    pub(super) async fn settle(&mut self) -> anyhow::Result<Position> {
        self.begin();
        let (folder, delivered) = (self.folder.clone(), self.delivered.subscribe());
        let find = move || {
            let before = *delivered.borrow();
            let reached = reached(&folder, before)?;
            let now = *delivered.borrow();
            // A file that was delivered meanwhile was not read.
            std::io::Result::Ok(if reached.seq < now.seq { now } else { reached })
        };
        let position = tokio::task::spawn_blocking(find)
            .await?
            .context("reading what the recorder has left in the spool")?;
        self.sealed
            .send_modify(|sealed| *sealed = (*sealed).max(position.seq));
        Ok(position)
    }

    /// Delivers the rest and the end record, within `patience`.
    pub(super) async fn finish(&mut self, reason: EndReason, patience: Duration) -> Delivered {
        self.begin();
        let (tell, mut sent) = watch::channel(Sent::Partly);
        let all = async {
            self.order(Finish { reason, sent: tell }).await?;
            let wholly = sent.wait_for(|&sent| sent == Sent::Wholly).await;
            wholly.map(drop).map_err(|_| anyhow!("delivery stopped"))
        };
        let done = timeout(patience, all).await;
        match (done, *sent.borrow()) {
            (Ok(Ok(())), _) => Delivered::Wholly,
            (_, Sent::Stored) => Delivered::Stored,
            (Ok(Err(error)), _) => Delivered::Partly(error),
            (Err(_), _) => Delivered::Partly(anyhow!("the store did not take all of it in time")),
        }
    }

    async fn order(&self, order: Finish) -> anyhow::Result<()> {
        let task = self
            .task
            .as_ref()
            .ok_or_else(|| anyhow!("delivery has not begun"))?;
        task.orders
            .send(order)
            .await
            .map_err(|_| anyhow!("delivery stopped"))
    }
}

impl Drop for Courier {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.handle.abort();
            task.lease.abort();
        }
    }
}

/// Tells the catalogue that the recorder lives. A lease that cannot be renewed is no reason to
/// stop: the session then shows as lost until it can be.
async fn renew_lease(places: Places, folder: Folder) {
    loop {
        if let Ok(Some(head)) = folder.head()
            && let Err(error) = places.catalog.renew(head.id, clock::wall()).await
        {
            tracing::debug!(%error, "Lease not renewed");
        }
        sleep(LEASE_EVERY).await;
    }
}
