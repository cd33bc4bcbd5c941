//! The one place that tries again: a task that carries sealed objects to the store in order, for
//! as long as it takes, so that a store or catalogue that is away never stops a recording.
//!
//! It holds one object at a time, and each step has its time. Store and catalogue fail apart: what
//! is in the store is not sent again because its row is missing.

use std::sync::{Arc, Mutex, PoisonError};

use segment::end::EndReason;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use super::announce::Announcer;
use crate::{
    delivery::{
        Delivery, Fault, Places, Position, Ready, Step,
        retry::{FaultKind, Retry},
    },
    spool::Folder,
};

/// Deliver everything and the end record, and say how far that is.
pub(super) struct Finish {
    pub(super) reason: EndReason,
    pub(super) sent: watch::Sender<Sent>,
}

/// How much of a session is where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Some of it waits in the spool.
    Partly,
    /// All of it is in the store, and the catalogue does not know all of that.
    Stored,
    /// Store and catalogue have it.
    Wholly,
}

/// Carries one session.
pub(super) struct Carrier {
    places: Places,
    folder: Folder,
    announcer: Arc<Mutex<Announcer>>,
    sealed: watch::Receiver<u64>,
    delivered: watch::Sender<Position>,
    orders: mpsc::Receiver<Finish>,
    delivery: Option<Delivery>,
    finish: Option<Finish>,
    store: Retry,
    catalog: Retry,
}

/// What there is to do after a step.
enum Then {
    /// Another step may be possible.
    GoOn,
    /// Nothing until something happens.
    Wait,
    /// Nothing ever again.
    Stop,
}

impl Carrier {
    pub(super) fn new(
        places: Places,
        folder: Folder,
        announcer: Arc<Mutex<Announcer>>,
        sealed: watch::Receiver<u64>,
        delivered: watch::Sender<Position>,
        orders: mpsc::Receiver<Finish>,
    ) -> Self {
        Self {
            places,
            folder,
            announcer,
            sealed,
            delivered,
            orders,
            delivery: None,
            finish: None,
            store: Retry::default(),
            catalog: Retry::default(),
        }
    }

    /// Carries until the session is finished or the recorder is gone.
    pub(super) async fn carry(mut self) {
        loop {
            match self.step().await {
                Then::GoOn => continue,
                Then::Wait => {}
                Then::Stop => return,
            }
            self.tell_recovery();
            let wake = [self.store.wake(), self.catalog.wake()];
            let wake = wake.into_iter().flatten().min();
            tokio::select! {
                changed = self.sealed.changed() => if changed.is_err() {
                    return;
                },
                order = self.orders.recv(), if self.finish.is_none() => match order {
                    None => return,
                    Some(finish) => {
                        self.finish = Some(finish);
                        // Whoever ordered it does not wait for long.
                        self.store.hurry(Instant::now());
                        self.catalog.hurry(Instant::now());
                    }
                },
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
    }

    /// Does one thing that is due.
    async fn step(&mut self) -> Then {
        if self.store.is_due(Instant::now()) {
            match self.deliver().await {
                Ok(Then::Wait) => self.store.succeeded(),
                Ok(then) => {
                    self.store.succeeded();
                    self.note_row_fault();
                    return then;
                }
                Err(fault) => self.failed(&fault),
            }
        }
        self.note_row_fault();
        self.pay().await
    }

    /// Takes the next step to the store.
    async fn deliver(&mut self) -> Result<Then, Fault> {
        let Some(delivery) = &mut self.delivery else {
            let (places, folder) = (self.places.clone(), self.folder.clone());
            let opened = Delivery::open(places, folder, self.delivered.clone()).await?;
            self.delivery = opened;
            // There is nothing to deliver without a head.
            return Ok(if self.delivery.is_some() {
                Then::GoOn
            } else {
                Then::Stop
            });
        };
        let ready = match &self.finish {
            Some(_) => Ready::All,
            None => Ready::Below(*self.sealed.borrow_and_update()),
        };
        match delivery.next(ready).await? {
            Some(Step::Stored(entry)) => self.announce(|to| {
                to.committed(&entry.key, entry.bytes, entry.from, entry.to);
            }),
            Some(Step::SetAside(file)) => {
                tracing::error!(%file, "Spool file set aside");
                self.announce(|to| to.health("spool-damaged", &file.to_string()));
            }
            Some(Step::Nothing) => {}
            None => match &self.finish {
                Some(finish) if !delivery.has_ended() => {
                    delivery.end(finish.reason, false).await?;
                    finish.sent.send_replace(Sent::Stored);
                }
                _ => return Ok(Then::Wait),
            },
        }
        Ok(Then::GoOn)
    }

    /// Tells the catalogue what is owed to it, and who waits for the end that it is reached.
    async fn pay(&mut self) -> Then {
        let Some(delivery) = &mut self.delivery else {
            return Then::Wait;
        };
        let ended = delivery.has_ended();
        if !(ended || delivery.owes_rows()) || !self.catalog.is_due(Instant::now()) {
            return Then::Wait;
        }
        let paid = if ended {
            delivery.end_rows().await
        } else {
            delivery.pay_rows().await
        };
        match paid {
            Err(fault) => {
                self.row_failed(&fault);
                Then::Wait
            }
            Ok(()) => {
                self.catalog.succeeded();
                match self.finish.take_if(|_| ended) {
                    None => Then::Wait,
                    Some(finish) => {
                        finish.sent.send_replace(Sent::Wholly);
                        Then::Stop
                    }
                }
            }
        }
    }

    fn note_row_fault(&mut self) {
        let fault = self.delivery.as_mut().and_then(Delivery::take_row_fault);
        if let Some(fault) = fault {
            self.row_failed(&fault);
        }
    }

    /// The row, not the object, is what is tried again, whatever it was that failed.
    fn row_failed(&mut self, fault: &Fault) {
        if self.catalog.failed(Instant::now(), fault.kind) {
            self.tell("catalog-unavailable", fault);
        }
    }

    fn failed(&mut self, fault: &Fault) {
        if self.store.failed(Instant::now(), fault.kind) {
            let state = match fault.kind {
                FaultKind::Spool => "spool-unreadable",
                _ => "store-unavailable",
            };
            self.tell(state, fault);
        }
    }

    fn tell(&self, state: &str, fault: &Fault) {
        tracing::warn!(error = %format!("{:#}", fault.cause), "Delivery will be tried again");
        self.announce(|to| to.health(state, &format!("{:#}", fault.cause)));
    }

    fn tell_recovery(&mut self) {
        let now = Instant::now();
        if self.store.is_over(now) {
            self.announce(|to| to.health("store-available", "delivery goes on"));
        }
        if self.catalog.is_over(now) {
            self.announce(|to| to.health("catalog-available", "the catalogue knows all again"));
        }
    }

    fn announce(&self, say: impl FnOnce(&mut Announcer)) {
        say(&mut self
            .announcer
            .lock()
            .unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests;
