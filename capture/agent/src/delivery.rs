//! From spool to store: one session's objects in order, each exactly once.
//!
//! Every step can be repeated. An object is assembled from its spool file to the same bytes each
//! time, the store takes equal bytes twice without complaint, and the spool file goes only after
//! the object was read back. The catalogue is told beside it, and later if it cannot be now. A file
//! that never gives its object is set aside, so that it holds up no other.

#[cfg(test)]
mod broken_catalogue;
mod fault;
mod piece;
pub(crate) mod retry;
mod rows;
#[cfg(test)]
pub(crate) mod testbed;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use anyhow::anyhow;
use capture::{Anchor, ClockMap, MediaTime, WallTime, session::SessionHead};
use index::{Catalog, catalog::Stored, commit, scan::scan};
use segment::{
    Assembled, Sha256,
    end::{EndBody, EndReason, ObjectEntry},
    key::{self, ObjectKind, SessionKeys},
    manifest::Span,
};
use store::Store;
use tokio::{sync::watch, time::timeout};

pub(crate) use self::{
    fault::{Attempt, Fault},
    piece::reached,
};
use self::{
    piece::{Found, Piece, Slot},
    retry::FaultKind,
    rows::Rows,
};
use crate::{
    cli,
    exit::{Failure, Kind},
    metrics::metrics,
    spool::{Folder, SetAside},
};

/// A store that does not answer the probe at start in this time is refused.
const PROBE_PATIENCE: Duration = Duration::from_secs(60);
/// A store is asked this often to take an object under whose name it says to have another.
const TAKEN_TRIES: u32 = 3;

/// Where objects and rows go.
#[derive(Clone)]
pub(crate) struct Places {
    /// The object store.
    pub(crate) store: Arc<dyn Store>,
    /// The catalogue.
    pub(crate) catalog: Arc<dyn Catalog>,
}

impl Places {
    /// Opens the store, which has to keep its promises, and a catalogue, which may be in any state:
    /// what is recorded does not wait for it, and rows are owed to one that fails.
    pub(crate) async fn open(options: &cli::Places) -> Result<Self, Failure> {
        let refused = |error: anyhow::Error| Kind::Store.because(error);
        let store = store::open_store(&options.store).map_err(|error| refused(error.into()))?;
        timeout(PROBE_PATIENCE, store::probe(&*store))
            .await
            .map_err(|_| refused(anyhow!("store {} does not answer", store.url())))?
            .map_err(|error| refused(error.into()))?;
        let catalog =
            index::open_catalog_later(&options.catalog).map_err(|error| refused(error.into()))?;
        Ok(Self { store, catalog })
    }
}

/// Delivers one session.
pub(crate) struct Delivery {
    places: Places,
    folder: Folder,
    head: SessionHead,
    keys: SessionKeys,
    /// What the store has, in leaf order; the head is first.
    entries: Vec<ObjectEntry>,
    /// Where the delivered part ends: told before a spool file goes.
    position: watch::Sender<Position>,
    rows: Rows,
    /// The object that the store says to have otherwise, and how often it has said so.
    taken: Option<(u64, u32)>,
    ended: Option<(EndBody, Stored)>,
}

/// Where the delivered part of a session ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position {
    /// The number of the next object.
    pub(crate) seq: u64,
    /// Where that object begins.
    pub(crate) from: MediaTime,
    /// The last run of the recorder.
    pub(crate) run: u32,
    /// The last clock anchor.
    pub(crate) last_anchor: Option<Anchor>,
}

impl Position {
    /// Of a session of which nothing is delivered.
    pub(crate) const START: Self = Self {
        seq: 0,
        from: MediaTime::ZERO,
        run: 1,
        last_anchor: None,
    };

    fn advance(&mut self, span: &Span) {
        if self.seq <= span.seq {
            self.seq = span.seq + 1;
            self.from = span.to;
            self.run = span.run;
            self.last_anchor = span.anchors.last().copied().or(self.last_anchor);
        }
    }
}

/// Which spool files are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// Those below this number; more will follow.
    Below(u64),
    /// All: whoever wrote them is gone.
    All,
}

impl Ready {
    fn includes(self, seq: u64) -> bool {
        match self {
            Self::Below(end) => seq < end,
            Self::All => true,
        }
    }
}

/// What one step has done.
#[derive(Debug)]
pub(crate) enum Step {
    /// An object is in the store.
    Stored(ObjectEntry),
    /// A spool file held nothing worth an object.
    Nothing,
    /// A spool file that gives no object was set aside.
    SetAside(SetAside),
}

impl Delivery {
    /// Delivers the head and takes up where the store's objects end, which `position` is told;
    /// `None` when the session never had a first frame.
    pub(crate) async fn open(
        places: Places,
        folder: Folder,
        position: watch::Sender<Position>,
    ) -> Result<Option<Self>, Fault> {
        let Some(head) = folder.head().map_err(Fault::spool)? else {
            return Ok(None);
        };
        let opened = Self::open_session(places, folder, head, position).await;
        Attempt::Session.tried(opened).map(Some)
    }

    async fn open_session(
        places: Places,
        folder: Folder,
        head: SessionHead,
        position: watch::Sender<Position>,
    ) -> Result<Self, Fault> {
        let keys = SessionKeys::new(head.id, head.start);
        let stored = commit::store_head(&*places.store, &head).await?;
        let scan = scan(&*places.store, &keys).await?;
        position.send_modify(|position| {
            for object in &scan.objects {
                position.advance(object.body.span());
            }
        });
        let rows = Rows::open(places.clone(), folder.clone(), head.clone(), stored).await?;
        Ok(Self {
            places,
            folder,
            head,
            keys,
            entries: scan.entries(),
            position,
            rows,
            taken: None,
            ended: None,
        })
    }

    /// Where the delivered part ends.
    pub(crate) fn position(&self) -> Position {
        *self.position.borrow()
    }

    /// Delivers the next object of which the folder has the file, complete; `None` when there is
    /// none.
    pub(crate) async fn next(&mut self, ready: Ready) -> Result<Option<Step>, Fault> {
        let done = self.step(ready).await;
        match &done {
            Ok(Some(Step::Stored(object))) => metrics().stored(object.bytes),
            Ok(_) => {} // there was none
            Err(fault) => metrics().failed(Attempt::Object, fault.kind),
        }
        done
    }

    async fn step(&mut self, ready: Ready) -> Result<Option<Step>, Fault> {
        let pending = self.folder.pending().map_err(Fault::spool)?;
        let Some(&first) = pending.first().filter(|&&seq| ready.includes(seq)) else {
            return Ok(None);
        };
        let due = self.position().seq;
        if due < first {
            let (missing, found) = self.piece(due).await?;
            if let Err(why) = found {
                return self.set_aside(&missing, why, true).map(Some);
            }
        }
        let (mut piece, found) = self.piece(first).await?;
        let assembled = match found {
            // What follows it says where it ends, and has yet to be written.
            Err(_) if ready != Ready::All && !piece.is_followed() => return Ok(None),
            Err(why) => return self.set_aside(&piece, why, true).map(Some),
            Ok(assembled) => assembled,
        };
        match self.store(first, assembled, piece.sheet.take()).await {
            Err(fault) if fault.kind == FaultKind::Taken && self.is_taken_for_good(first) => {
                let why = format!("{:#}", fault.cause);
                self.set_aside(&piece, why, false).map(Some)
            }
            step => step.map(Some),
        }
    }

    /// Reads the file of object `seq`.
    async fn piece(&self, seq: u64) -> Result<(Piece, Found), Fault> {
        let position = self.position();
        let slot = Slot {
            session: self.head.id,
            seq,
            run: position.run,
            from: (position.seq <= seq).then_some(position.from),
        };
        let (folder, prev) = (self.folder.clone(), self.hash_before(seq));
        let read = tokio::task::spawn_blocking(move || Piece::read(&folder, slot, prev)).await;
        read.map_err(Fault::internal)?.map_err(Fault::spool)
    }

    fn set_aside(&self, piece: &Piece, why: String, readable: bool) -> Result<Step, Fault> {
        let set_aside = piece.set_aside(&self.folder, why, readable);
        Ok(Step::SetAside(set_aside.map_err(Fault::spool)?))
    }

    /// Whether the store has now said often enough that it has another object `seq`.
    fn is_taken_for_good(&mut self, seq: u64) -> bool {
        let before = match self.taken {
            Some((taken, times)) if taken == seq => times,
            _ => 0,
        };
        self.taken = Some((seq, before + 1));
        TAKEN_TRIES <= before + 1
    }

    async fn store(
        &mut self,
        seq: u64,
        assembled: Assembled,
        sheet: Option<bytes::Bytes>,
    ) -> Result<Step, Fault> {
        let store = &*self.places.store;
        let object = commit::store_object(store, &self.keys, assembled, sheet).await?;
        let step = match object {
            None => Step::Nothing,
            Some(object) => {
                self.rows.note(seq, &object).await?;
                self.position
                    .send_modify(|position| position.advance(object.body.span()));
                self.note(object.thumb);
                self.note(Some(object.entry.clone()));
                Step::Stored(object.entry)
            }
        };
        self.folder.remove_object(seq).map_err(Fault::spool)?;
        Ok(step)
    }

    /// The hash of the object before `seq`: of the head for the first.
    fn hash_before(&self, seq: u64) -> Sha256 {
        let before = |entry: &&ObjectEntry| match key::parse(&entry.key) {
            Some((_, ObjectKind::Segment { seq: n } | ObjectKind::Idle { seq: n })) => n < seq,
            Some((_, ObjectKind::Head)) => true,
            _ => false,
        };
        // INVARIANT: the head is always among the entries.
        let last = self.entries.iter().rfind(before);
        last.map_or_else(|| Sha256::of(&[]), |entry| entry.sha256)
    }

    fn note(&mut self, entry: Option<ObjectEntry>) {
        let known = |entry: &ObjectEntry| self.entries.iter().any(|known| known.key == entry.key);
        if let Some(entry) = entry.filter(|entry| !known(entry)) {
            self.entries.push(entry);
        }
    }

    /// Whether the catalogue is still to be told of something.
    pub(crate) const fn owes_rows(&self) -> bool {
        self.rows.owes()
    }

    /// Why the catalogue was not told at once, if that is new.
    pub(crate) const fn take_row_fault(&mut self) -> Option<Fault> {
        self.rows.take_fault()
    }

    /// Tells the catalogue what it is still to be told.
    pub(crate) async fn pay_rows(&mut self) -> Result<(), Fault> {
        self.rows.pay().await
    }

    /// Delivers the end record, and the head if the store has lost that. The session ends where its
    /// last object does.
    pub(crate) async fn end(&mut self, reason: EndReason, recovered: bool) -> Result<(), Fault> {
        let body = EndBody {
            format: segment::manifest::FORMAT,
            session: self.head.id,
            reason,
            recovered,
            duration: self.position().from,
            end: self.wall_at_end(),
            objects: self.entries.clone(),
        };
        let stored = self.store_end(&body).await;
        let stored = Attempt::End.tried(stored)?;
        self.ended = Some((body, stored));
        Ok(())
    }

    async fn store_end(&self, body: &EndBody) -> Result<Stored, Fault> {
        let store = &*self.places.store;
        if store.head(&self.keys.head()).await?.is_none() {
            tracing::warn!("The store has lost the session's head and gets it again");
            commit::store_head(store, &self.head).await?;
        }
        Ok(commit::store_end(store, &self.keys, body).await?)
    }

    /// Whether the end record is in the store.
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Tells the catalogue of the end, after all else.
    pub(crate) async fn end_rows(&mut self) -> Result<(), Fault> {
        self.rows.pay().await?;
        match &self.ended {
            Some((body, stored)) => self.rows.end(body, *stored).await,
            None => Ok(()),
        }
    }

    fn wall_at_end(&self) -> WallTime {
        let start = Anchor {
            t: MediaTime::ZERO,
            utc: self.head.start,
            error_ms: None,
            step: false,
        };
        let position = self.position();
        let anchor = position.last_anchor.unwrap_or(start);
        ClockMap::new(vec![anchor]).map_or(anchor.utc, |map| map.utc_at(position.from))
    }

    /// Delivers a whole session of which the writer is gone, trying nothing for long. What was set
    /// aside is told to `set_aside`.
    pub(crate) async fn settle(
        &mut self,
        mut set_aside: impl FnMut(&SetAside),
    ) -> Result<(), Fault> {
        loop {
            match self.next(Ready::All).await {
                Ok(None) => return Ok(()),
                Ok(Some(Step::SetAside(file))) => set_aside(&file),
                Ok(Some(Step::Stored(_) | Step::Nothing)) => {}
                Err(fault) if fault.kind == FaultKind::Taken => {} // a few times at most
                Err(fault) => return Err(fault),
            }
        }
    }
}
