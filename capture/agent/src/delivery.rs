//! From spool to store: one session's objects in order, each exactly once.
//!
//! Every step can be repeated. An object is assembled from its spool file to the same bytes each
//! time, the store takes equal bytes twice without complaint, and the spool file goes only after
//! the object was read back, and catalogued.

use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use capture::{Anchor, ClockMap, MediaTime, WallTime, session::SessionHead};
use index::{Catalog, commit, scan::scan};
use segment::{
    Assembly, Sha256, assemble,
    end::{EndBody, EndReason, ObjectEntry},
    key::{self, ObjectKind, SessionKeys},
    manifest::Span,
};
use store::Store;

use crate::{
    cli,
    exit::{Failure, Kind},
    spool::Folder,
};

/// Where objects and rows go.
#[derive(Clone)]
pub(crate) struct Places {
    /// The object store.
    pub(crate) store: Arc<dyn Store>,
    /// The catalogue.
    pub(crate) catalog: Arc<dyn Catalog>,
}

impl Places {
    /// Opens both and tries whether the store keeps its promises.
    pub(crate) async fn open(options: &cli::Places) -> Result<Self, Failure> {
        let refused = |error: anyhow::Error| Kind::Store.because(error);
        let store = store::open_store(&options.store).map_err(|error| refused(error.into()))?;
        store.probe().await.map_err(|error| refused(error.into()))?;
        let catalog =
            index::open_catalog(&options.catalog).map_err(|error| refused(error.into()))?;
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
    position: Position,
}

/// Where the delivered part of a session ends.
#[derive(Clone, Copy, Debug)]
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
    const START: Self = Self {
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

impl Delivery {
    /// Delivers the head and takes up where the store's objects end; `None` when the session
    /// never had a first frame.
    pub(crate) async fn open(places: Places, folder: Folder) -> anyhow::Result<Option<Self>> {
        let Some(head) = folder.head().context("reading the session's head")? else {
            return Ok(None);
        };
        let keys = SessionKeys::new(head.id, head.start);
        let Places { store, catalog } = &places;
        commit::commit_head(&**store, &**catalog, &head)
            .await
            .context("committing the session's head")?;
        let scan = scan(&**store, &keys)
            .await
            .context("looking for what is in the store")?;
        let mut position = Position::START;
        for object in &scan.objects {
            position.advance(object.body.span());
        }
        let entries = scan.entries();
        Ok(Some(Self {
            places,
            folder,
            head,
            keys,
            entries,
            position,
        }))
    }

    /// The session's head.
    pub(crate) const fn head(&self) -> &SessionHead {
        &self.head
    }

    /// Where the delivered part ends.
    pub(crate) const fn position(&self) -> Position {
        self.position
    }

    /// Delivers the first object in the folder with a number below `ready`; `None` when there is
    /// none.
    pub(crate) async fn next(&mut self, ready: u64) -> anyhow::Result<Option<ObjectEntry>> {
        for seq in self.folder.pending().context("reading the spool")? {
            if seq >= ready {
                break;
            }
            if let Some(entry) = self.object(seq).await? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Delivers object `seq`; `None` when its spool file holds nothing worth an object.
    async fn object(&mut self, seq: u64) -> anyhow::Result<Option<ObjectEntry>> {
        let wal = self
            .folder
            .read_wal(seq)
            .context("reading the spool")?
            .unwrap_or_default();
        let sheet = self
            .folder
            .read_sheet(seq)
            .context("reading the spool")?
            .map(Bytes::from);
        let prev = self.hash_before(seq);
        let sheet_to_name = sheet.clone();
        let work = move || {
            assemble(
                &wal,
                Assembly {
                    prev,
                    sheet: sheet_to_name.as_deref(),
                },
            )
        };
        let assembled = tokio::task::spawn_blocking(work)
            .await?
            .with_context(|| format!("assembling spool file {seq}"))?;
        let Places { store, catalog } = &self.places;
        let committed = commit::commit_object(&**store, &**catalog, &self.keys, assembled, sheet)
            .await
            .with_context(|| format!("committing object {seq}"))?;
        let entry = committed.map(|object| {
            self.position.advance(object.body.span());
            self.note(object.thumb);
            self.note(Some(object.entry.clone()));
            object.entry
        });
        self.folder
            .remove_object(seq)
            .context("removing what was committed")?;
        Ok(entry)
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

    /// Delivers the end record. The session ends where its last object does.
    pub(crate) async fn end(&mut self, reason: EndReason, recovered: bool) -> anyhow::Result<()> {
        let body = EndBody {
            format: segment::manifest::FORMAT,
            session: self.head.id,
            reason,
            recovered,
            duration: self.position.from,
            end: self.wall_at_end(),
            objects: self.entries.clone(),
        };
        let Places { store, catalog } = &self.places;
        commit::commit_end(&**store, &**catalog, &self.keys, &body)
            .await
            .context("committing the end record")?;
        Ok(())
    }

    fn wall_at_end(&self) -> WallTime {
        let start = Anchor {
            t: MediaTime::ZERO,
            utc: self.head.start,
            error_ms: None,
            step: false,
        };
        let anchor = self.position.last_anchor.unwrap_or(start);
        ClockMap::new(vec![anchor]).map_or(anchor.utc, |map| map.utc_at(self.position.from))
    }
}
