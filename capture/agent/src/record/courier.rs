//! Delivering beside recording: a task that carries sealed objects to the store in order and
//! tries again for as long as it takes, so that a store which is away never stops a recording.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::anyhow;
use capture::session::SessionHead;
use segment::end::EndReason;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::announce::Announcer;
use crate::{
    clock,
    delivery::{Delivery, Places, Position},
    spool::Folder,
    wire::Status,
};

/// The wait before a failed delivery is tried again; each further one is twice as long.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// The longest such wait.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How often the catalogue hears that the recorder lives.
const LEASE_EVERY: Duration = Duration::from_secs(5);

/// What became of a closed session's delivery.
pub(super) enum Delivered {
    /// The store has all of it, the end record last.
    Wholly,
    /// The store has some of it; the rest waits in the spool.
    Partly(anyhow::Error),
}

/// The parent's side: it notes what is sealed and waits only when it must.
pub(super) struct Courier {
    places: Places,
    folder: Folder,
    announcer: Arc<Mutex<Announcer>>,
    /// How many objects are sealed: the number of the first that is not.
    sealed: watch::Sender<u64>,
    task: Option<Task>,
}

struct Task {
    orders: mpsc::Sender<Order>,
    handle: JoinHandle<()>,
    lease: JoinHandle<()>,
}

enum Order {
    /// Deliver everything in the folder; the child that wrote it is gone.
    Settle(oneshot::Sender<(SessionHead, Position)>),
    /// Deliver everything and the end record.
    Finish(EndReason, oneshot::Sender<()>),
}

impl Courier {
    /// A courier for the session in `folder`, which may not have a head yet.
    pub(super) fn new(places: Places, folder: Folder, announcer: Announcer) -> Self {
        let announcer = Arc::new(Mutex::new(announcer));
        Self {
            places,
            folder,
            announcer,
            sealed: watch::Sender::new(0),
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
        let carrier = Carrier {
            announcer: Arc::clone(&self.announcer),
            failing: false,
        };
        let sealed = self.sealed.subscribe();
        let handle = tokio::spawn(carrier.carry(places.clone(), folder.clone(), sealed, receiver));
        let lease = tokio::spawn(renew_lease(places, folder));
        self.task = Some(Task {
            orders,
            handle,
            lease,
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

    /// Delivers all that a dead child left, however long that takes.
    pub(super) async fn settle(&mut self) -> anyhow::Result<(SessionHead, Position)> {
        self.begin();
        let (reply, settled) = oneshot::channel();
        self.order(Order::Settle(reply)).await?;
        settled.await.map_err(|_| anyhow!("delivery stopped"))
    }

    /// Delivers the rest and the end record, within `patience`.
    pub(super) async fn finish(&mut self, reason: EndReason, patience: Duration) -> Delivered {
        self.begin();
        let (reply, finished) = oneshot::channel();
        let all = async {
            self.order(Order::Finish(reason, reply)).await?;
            finished.await.map_err(|_| anyhow!("delivery stopped"))
        };
        match timeout(patience, all).await {
            Ok(Ok(())) => Delivered::Wholly,
            Ok(Err(error)) => Delivered::Partly(error),
            Err(_) => Delivered::Partly(anyhow!("the store did not take all of it in time")),
        }
    }

    async fn order(&self, order: Order) -> anyhow::Result<()> {
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

/// The task's side: the one place that tries again.
struct Carrier {
    announcer: Arc<Mutex<Announcer>>,
    failing: bool,
}

impl Carrier {
    async fn carry(
        mut self,
        places: Places,
        folder: Folder,
        mut sealed: watch::Receiver<u64>,
        mut orders: mpsc::Receiver<Order>,
    ) {
        let mut retry = FIRST_RETRY;
        let mut delivery = loop {
            match Delivery::open(places.clone(), folder.clone()).await {
                Ok(Some(delivery)) => break delivery,
                Ok(None) => return, // there is nothing to deliver without a head
                Err(error) => self.wait(&mut retry, &error).await,
            }
        };
        self.recovered();
        loop {
            let ready = *sealed.borrow_and_update();
            self.deliver(&mut delivery, ready).await;
            tokio::select! {
                changed = sealed.changed() => if changed.is_err() { return },
                order = orders.recv() => match order {
                    None => return,
                    Some(Order::Settle(reply)) => {
                        self.deliver(&mut delivery, u64::MAX).await;
                        let settled = (delivery.head().clone(), delivery.position());
                        let _ = reply.send(settled); // the parent may have given up waiting
                    }
                    Some(Order::Finish(reason, reply)) => {
                        self.deliver(&mut delivery, u64::MAX).await;
                        self.end(&mut delivery, reason).await;
                        let _ = reply.send(()); // the parent may have given up waiting
                        return;
                    }
                },
            }
        }
    }

    /// Delivers what the folder holds of the objects before `ready`.
    async fn deliver(&mut self, delivery: &mut Delivery, ready: u64) {
        let mut retry = FIRST_RETRY;
        loop {
            match delivery.next(ready).await {
                Ok(None) => return,
                Ok(Some(entry)) => {
                    self.recovered();
                    retry = FIRST_RETRY;
                    self.announce(|to| {
                        to.committed(&entry.key, entry.bytes, entry.from, entry.to);
                    });
                }
                Err(error) => self.wait(&mut retry, &error).await,
            }
        }
    }

    async fn end(&mut self, delivery: &mut Delivery, reason: EndReason) {
        let mut retry = FIRST_RETRY;
        while let Err(error) = delivery.end(reason, false).await {
            self.wait(&mut retry, &error).await;
        }
    }

    async fn wait(&mut self, retry: &mut Duration, error: &anyhow::Error) {
        if !std::mem::replace(&mut self.failing, true) {
            self.announce(|to| to.health("store-unavailable", &format!("{error:#}")));
        }
        tracing::warn!(%error, wait = ?*retry, "Retrying delivery");
        sleep(*retry).await;
        *retry = (*retry * 2).min(LONGEST_RETRY);
    }

    fn recovered(&mut self) {
        if std::mem::take(&mut self.failing) {
            self.announce(|to| to.health("store-available", "delivery goes on"));
        }
    }

    fn announce(&self, say: impl FnOnce(&mut Announcer)) {
        say(&mut self
            .announcer
            .lock()
            .unwrap_or_else(PoisonError::into_inner));
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
