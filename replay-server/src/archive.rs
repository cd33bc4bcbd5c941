//! What every call and command works on: a store, its catalogue, and a reader of media.

use std::sync::Arc;

use capture::{SessionId, WallTime};
use index::{
    Catalog, CatalogError, Store, Timeline,
    catalog::{ObjectRow, SessionSummary},
    import::{Import, ImportError, ImportReport},
    log::Names,
};

use crate::{
    clock,
    decode::Picture,
    media::{MediaReader, PictureError},
    shot::Shot,
};

/// An archive of sessions.
pub struct Archive {
    /// Where the objects are.
    pub store: Arc<dyn Store>,
    /// The index over them.
    pub catalog: Arc<dyn Catalog>,
    /// Reads and decodes what is in them.
    pub media: MediaReader,
    /// Reads the wall clock.
    pub now: fn() -> WallTime,
}

impl Archive {
    /// An archive in `store`, indexed by `catalog`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, catalog: Arc<dyn Catalog>, now: fn() -> WallTime) -> Self {
        Self {
            media: MediaReader::new(store.clone()),
            store,
            catalog,
            now,
        }
    }

    /// What is known of a session; `None` for an unknown one.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    pub async fn session(&self, id: SessionId) -> Result<Option<SessionSummary>, CatalogError> {
        self.catalog.session(id, (self.now)()).await
    }

    /// A session on one clock; `None` for an unknown one.
    ///
    /// # Errors
    /// When the catalogue cannot be asked, or the session's objects contradict themselves.
    pub async fn timeline(&self, id: SessionId) -> Result<Option<Timeline>, CatalogError> {
        self.catalog.timeline(id, (self.now)()).await
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
