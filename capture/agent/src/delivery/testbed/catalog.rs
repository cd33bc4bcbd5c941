//! A catalogue that only keeps in mind what it was told, and can be away. It answers at once, so
//! that a paused clock does not run while it works.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use capture::{
    MediaTime, SessionId, WallTime,
    session::SessionHead,
    trace::{SpanId, TraceId},
};
use index::{
    Catalog, CatalogError, EventRow, Timeline,
    catalog::{
        CommittedObject, EventPage, EventQuery, LinkedRow, LogObject, ObjectRow, Place, Put,
        SessionPage, SessionQuery, SessionSummary, Silent, Stored, TraceLink, line::Sender,
    },
};
use segment::end::EndBody;

use super::Life;

/// What it was told, in order.
#[derive(Default)]
pub(crate) struct TestCatalog {
    pub(crate) away: Mutex<bool>,
    pub(crate) rows: Mutex<Vec<String>>,
    /// That of whoever tells: each row is a step, and so is the answer.
    pub(super) life: Arc<Life>,
}

impl TestCatalog {
    async fn put(&self, row: String) -> Result<(), CatalogError> {
        self.life.step().await;
        if *self.away.lock().unwrap() {
            return Err(CatalogError::Cancelled);
        }
        {
            let mut rows = self.rows.lock().unwrap();
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        self.life.step().await;
        Ok(())
    }
}

#[async_trait]
impl Catalog for TestCatalog {
    fn url(&self) -> &'static str {
        "test://catalog"
    }

    async fn probe(&self) -> Result<(), CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn store_ids(&self) -> Result<Vec<String>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn set_store_ids(&self, _: &[String]) -> Result<(), CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn store_of(&self, _: SessionId) -> Result<Option<String>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn set_store_of(&self, _: &[SessionId], _: &str) -> Result<(), CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn put_head(&self, head: &SessionHead, _: Stored) -> Result<(), CatalogError> {
        self.put(format!("head {}", head.id)).await
    }

    async fn put_object(&self, object: &CommittedObject) -> Result<(), CatalogError> {
        self.put(object.entry.key.clone()).await
    }

    async fn put_end(&self, end: &EndBody, _: Stored) -> Result<(), CatalogError> {
        self.put(format!("end {}", end.session)).await
    }

    async fn put_interrupted(&self, _: SessionId, _: u64, _: WallTime) -> Result<(), CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn renew(&self, _: SessionId, _: WallTime) -> Result<(), CatalogError> {
        Ok(())
    }

    async fn sessions(&self, _: &SessionQuery, _: WallTime) -> Result<SessionPage, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn session(
        &self,
        _: SessionId,
        _: WallTime,
    ) -> Result<Option<SessionSummary>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn silent(&self, _: WallTime, _: usize) -> Result<Vec<Silent>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn head(&self, _: SessionId) -> Result<Option<SessionHead>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn end(&self, _: SessionId) -> Result<Option<Stored>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn objects(&self, _: SessionId) -> Result<Vec<ObjectRow>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn object(&self, _: SessionId, _: u64) -> Result<Option<ObjectRow>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn timeline(&self, _: SessionId, _: WallTime) -> Result<Option<Timeline>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn place(&self, _: &[EventRow]) -> Result<Vec<Place>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn put_rows(&self, _: &LogObject, _: &[EventRow]) -> Result<Put, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn events(&self, _: SessionId, _: &EventQuery) -> Result<EventPage, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn event_density(
        &self,
        _: SessionId,
        _: MediaTime,
        _: u32,
    ) -> Result<BTreeMap<String, Vec<u32>>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn event(&self, _: &str) -> Result<Option<LinkedRow>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn by_trace(
        &self,
        _: TraceId,
        _: Option<SpanId>,
    ) -> Result<Vec<LinkedRow>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn trace_links(&self, _: TraceId) -> Result<Vec<TraceLink>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn begin_rebuild(&self) -> Result<Arc<dyn Catalog>, CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn finish_rebuild(&self) -> Result<(), CatalogError> {
        Err(CatalogError::Cancelled)
    }

    async fn lines(&self, _: Sender) -> Result<(), CatalogError> {
        Err(CatalogError::Cancelled)
    }
}
