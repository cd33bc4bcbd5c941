//! Does the catalogue know what the store has? Objects go first and never wait for their rows: a
//! row that cannot be written leaves a note in the spool, and is made later of the stored object,
//! as a rebuild makes it.

use std::time::Duration;

use anyhow::anyhow;
use capture::session::SessionHead;
use index::{
    CatalogError,
    catalog::{CommittedObject, Stored},
    scan,
};
use segment::end::EndBody;
use tokio::time::timeout;

use super::{
    Places,
    fault::{Attempt, Fault},
};
use crate::spool::{Folder, OwedRow};

/// The catalogue answers within its own ten seconds, or is away.
const PATIENCE: Duration = Duration::from_secs(15);

/// The rows of one session.
pub(super) struct Rows {
    places: Places,
    folder: Folder,
    head: SessionHead,
    head_stored: Stored,
    /// The catalogue has the head.
    head_known: bool,
    /// Rows are owed: those that follow wait behind them.
    owes: bool,
    fault: Option<Fault>,
}

impl Rows {
    /// The rows of `head`, which is in the store.
    pub(super) async fn open(
        places: Places,
        folder: Folder,
        head: SessionHead,
        head_stored: Stored,
    ) -> Result<Self, Fault> {
        let owes = !folder.owed_rows().map_err(Fault::spool)?.is_empty();
        let mut rows = Self {
            places,
            folder,
            head,
            head_stored,
            head_known: false,
            owes,
            fault: None,
        };
        if let Err(fault) = rows.put_head().await {
            rows.owe(fault);
        }
        Ok(rows)
    }

    /// Whether rows are owed.
    pub(super) const fn owes(&self) -> bool {
        self.owes
    }

    /// Why a row was not written at once.
    pub(super) const fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    fn owe(&mut self, fault: Fault) {
        self.owes = true;
        self.fault = Some(fault);
    }

    /// Writes the row of object `seq`, or notes durably that it is owed.
    pub(super) async fn note(&mut self, seq: u64, object: &CommittedObject) -> Result<(), Fault> {
        if !self.owes {
            match self.put(object).await {
                Ok(()) => return Ok(()),
                Err(fault) => self.owe(fault),
            }
        }
        let row = OwedRow {
            entry: object.entry.clone(),
            thumb: object.thumb.clone(),
        };
        self.folder.owe_row(seq, &row).map_err(Fault::spool)
    }

    /// Writes what is owed.
    pub(super) async fn pay(&mut self) -> Result<(), Fault> {
        self.put_head().await?;
        for seq in self.folder.owed_rows().map_err(Fault::spool)? {
            self.pay_one(seq).await?;
            self.folder.forget_row(seq).map_err(Fault::spool)?;
        }
        self.owes = false;
        Ok(())
    }

    async fn pay_one(&mut self, seq: u64) -> Result<(), Fault> {
        let Some(OwedRow { entry, thumb }) = self.folder.owed_row(seq).map_err(Fault::spool)?
        else {
            return Ok(());
        };
        let body = scan::read_object(&*self.places.store, &entry).await?;
        let body = body.map_err(|problem| {
            Fault::internal(anyhow::anyhow!(
                "object {} cannot be read: {problem}",
                entry.key
            ))
        })?;
        let object = CommittedObject { entry, thumb, body };
        self.put(&object).await
    }

    async fn put_head(&mut self) -> Result<(), Fault> {
        if self.head_known {
            return Ok(());
        }
        let put = self.places.catalog.put_head(&self.head, self.head_stored);
        patiently(put).await?;
        self.head_known = true;
        Ok(())
    }

    async fn put(&mut self, object: &CommittedObject) -> Result<(), Fault> {
        let put = patiently(self.places.catalog.put_object(object)).await;
        self.again_without_head(put)
    }

    /// Writes the row of the end; every other must be written.
    pub(super) async fn end(&mut self, body: &EndBody, stored: Stored) -> Result<(), Fault> {
        let put = patiently(self.places.catalog.put_end(body, stored)).await;
        self.again_without_head(put)
    }

    /// A catalogue that has lost the session, as one that was made anew has, is told of it again.
    fn again_without_head(&mut self, put: Result<(), Fault>) -> Result<(), Fault> {
        if let Err(fault) = &put
            && let Some(CatalogError::UnknownSession { .. }) = fault.cause.downcast_ref()
        {
            self.head_known = false;
        }
        put
    }
}

async fn patiently(put: impl Future<Output = Result<(), CatalogError>>) -> Result<(), Fault> {
    Attempt::Rows.tried(match timeout(PATIENCE, put).await {
        Ok(put) => put.map_err(Fault::catalog),
        Err(_) => Err(Fault::catalog(anyhow!(
            "the catalogue did not answer within {} s",
            PATIENCE.as_secs()
        ))),
    })
}
