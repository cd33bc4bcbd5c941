//! What every call and command works on: a store, its catalogue, and a reader of media.

use std::sync::{Arc, Mutex, PoisonError};

use capture::{SessionId, WallTime};
use index::{
    Catalog, CatalogError, Stores, Timeline,
    catalog::{ObjectRow, SessionSummary},
    import::{Import, ImportError, ImportReport},
    log::Names,
};
use store::Store;

use tokio::sync::Semaphore;

use crate::{
    cache::Cache,
    clock,
    decode::Picture,
    media::{MediaReader, PictureError},
    readiness::Probe,
    shot::Shot,
};

/// Timelines kept in memory: those of some ten sessions of eight hours.
const TIMELINE_CACHE_BYTES: usize = 32 << 20;

/// Clips made at a time. Each holds two fragments in memory, and codes on one core at most.
const MAX_CLIPS: usize = 8;

/// An archive of sessions.
pub struct Archive {
    /// Where the objects are.
    pub store: Arc<Stores>,
    /// The index over them.
    pub catalog: Arc<dyn Catalog>,
    /// Reads and decodes what is in them.
    pub media: MediaReader,
    /// Places for clips under way.
    pub clips: Arc<Semaphore>,
    /// Knows whether both can be used.
    pub probe: Probe,
    /// Reads the wall clock.
    pub now: fn() -> WallTime,
    timelines: Mutex<Cache<Version, Arc<Timeline>>>,
}

/// A session as far as it was recorded: another object or its end makes it another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Version {
    session: SessionId,
    state: &'static str,
    bytes: u64,
    duration_ms: u64,
}

impl Archive {
    /// An archive in `store`, indexed by `catalog`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, catalog: Arc<dyn Catalog>, now: fn() -> WallTime) -> Self {
        Self::over(Stores::new(store, [], catalog.clone()), catalog, now)
    }

    /// An archive in several stores, indexed by `catalog`.
    #[must_use]
    pub fn over(stores: Stores, catalog: Arc<dyn Catalog>, now: fn() -> WallTime) -> Self {
        let store = Arc::new(stores);
        Self {
            media: MediaReader::new(store.clone()),
            store,
            catalog,
            clips: Arc::new(Semaphore::new(MAX_CLIPS)),
            probe: Probe::default(),
            now,
            timelines: Mutex::new(Cache::new("timeline", TIMELINE_CACHE_BYTES)),
        }
    }

    /// What is known of a session; `None` for an unknown one.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    pub async fn session(&self, id: SessionId) -> Result<Option<SessionSummary>, CatalogError> {
        self.catalog.session(id, (self.now)()).await
    }

    /// The session of `summary` on one clock; `None` when it is gone.
    ///
    /// # Errors
    /// When the catalogue cannot be asked, or the session's objects contradict themselves.
    pub async fn timeline(
        &self,
        summary: &SessionSummary,
    ) -> Result<Option<Arc<Timeline>>, CatalogError> {
        let version = Version {
            session: summary.id,
            state: summary.state.as_str(),
            bytes: summary.bytes,
            duration_ms: summary.duration_ms,
        };
        let lock = || {
            // A cache that was being written when a thread died is still a cache.
            self.timelines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let kept = lock().get(&version);
        if kept.is_some() {
            return Ok(kept);
        }
        let made = self.catalog.timeline(summary.id, (self.now)()).await?;
        let made = made.map(Arc::new);
        if let Some(timeline) = &made {
            lock().put(version, timeline.clone(), size_bytes(timeline));
        }
        Ok(made)
    }

    /// The object that holds the frame of `shot`, and the fragment in it.
    ///
    /// # Errors
    /// When the catalogue cannot be asked or lacks the object.
    pub async fn source(
        &self,
        id: SessionId,
        timeline: &Timeline,
        shot: &Shot,
    ) -> Result<(ObjectRow, u32), CatalogError> {
        let damaged = || CatalogError::Damaged {
            what: format!("list of objects of session {id}"),
        };
        let placed = timeline.fragments.get(shot.frame.placed);
        let placed = placed.ok_or_else(damaged)?;
        let object = self.catalog.object(id, placed.seq).await?;
        Ok((object.ok_or_else(damaged)?, placed.fragment))
    }

    /// The picture of `shot`, from the object and fragment that hold it.
    ///
    /// # Errors
    /// As [`MediaReader::picture`].
    pub async fn picture(
        &self,
        (object, fragment): &(ObjectRow, u32),
        shot: &Shot,
    ) -> Result<Arc<Picture>, PictureError> {
        let sample = shot.frame.sample;
        self.media.picture(object, *fragment, sample).await
    }

    /// Takes in rows, one a line, the first being line `first_line`. Rows that name no session
    /// go to `session` if there is one.
    ///
    /// # Errors
    /// When the store or the catalogue fails. Rows that are wrong are told in the report.
    pub async fn import(
        &self,
        rows: &[u8],
        first_line: u64,
        session: Option<SessionId>,
    ) -> Result<ImportReport, ImportError> {
        let import = Import {
            store: &*self.store,
            catalog: &*self.catalog,
            session,
            first_line,
        };
        let mut names = Names::new((self.now)(), clock::fresh().into_bytes());
        import.rows(rows, &mut names).await
    }
}

/// About what a timeline takes in memory: its fragments and samples are nearly all of it.
fn size_bytes(timeline: &Timeline) -> usize {
    let placed = timeline.fragments.iter();
    let placed = placed.map(|placed| size_of_val(placed) + size_of_val(&*placed.samples));
    size_of::<Timeline>() + placed.sum::<usize>()
}
