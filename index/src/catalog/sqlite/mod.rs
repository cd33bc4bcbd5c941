//! The catalogue in one SQLite file, shared by the processes of one host.
//!
//! One thread writes, in immediate transactions; readers work on snapshots beside it. The tables
//! are in `schema.sql`.

mod connection;
mod dump;
mod events;
mod objects;
mod relink;
mod rows;
mod sessions;
mod tally;
mod value;
mod write;

use std::{collections::BTreeMap, path::Path};

use async_trait::async_trait;
use capture::{
    MediaTime, SessionId, WallTime,
    session::SessionHead,
    trace::{SpanId, TraceId},
};
use segment::end::EndBody;

use self::connection::{File, Readers, Writer};
use super::{
    Catalog, CatalogError, CommittedObject, EventPage, EventQuery, LinkedRow, LogObject,
    MAX_WRITE_ROWS, ObjectRow, Place, Put, SessionPage, SessionQuery, SessionSummary, Silent,
    Stored, TraceLink,
};
use crate::{Timeline, row::EventRow};

/// A catalogue in a file.
pub(super) struct SqliteCatalog {
    url: String,
    writer: Writer,
    readers: Readers,
}

impl SqliteCatalog {
    /// The catalogue at `path`. When `now`, it is opened or made, and its schema brought up to
    /// date; else this happens when it is first used.
    pub(super) fn open(url: &str, path: &Path, now: bool) -> Result<Self, CatalogError> {
        let file = File {
            url: url.to_owned(),
            path: path.to_owned(),
        };
        let opened = now.then(|| file.open_for_writing()).transpose()?;
        Ok(Self {
            url: url.to_owned(),
            writer: Writer::spawn(file.clone(), opened)?,
            readers: Readers::new(file),
        })
    }
}

#[async_trait]
impl Catalog for SqliteCatalog {
    fn url(&self) -> &str {
        &self.url
    }

    async fn probe(&self) -> Result<(), CatalogError> {
        self.writer.run(write::probe).await
    }

    async fn store_id(&self) -> Result<Option<String>, CatalogError> {
        self.readers.run(sessions::store_id).await
    }

    async fn set_store_id(&self, id: &str) -> Result<(), CatalogError> {
        let id = id.to_owned();
        self.writer
            .run(move |db| write::set_store_id(db, &id))
            .await
    }

    async fn put_head(&self, head: &SessionHead, stored: Stored) -> Result<(), CatalogError> {
        let head = head.clone();
        self.writer
            .run(move |db| write::put_head(db, &head, stored))
            .await
    }

    async fn put_object(&self, object: &CommittedObject) -> Result<(), CatalogError> {
        let object = object.clone();
        self.writer
            .run(move |db| write::put_object(db, &object))
            .await
    }

    async fn put_end(&self, end: &EndBody, stored: Stored) -> Result<(), CatalogError> {
        let end = end.clone();
        self.writer
            .run(move |db| write::put_end(db, &end, stored))
            .await
    }

    async fn put_interrupted(
        &self,
        session: SessionId,
        n: u64,
        at: WallTime,
    ) -> Result<(), CatalogError> {
        self.writer
            .run(move |db| write::put_interrupted(db, session, n, at))
            .await
    }

    async fn renew(&self, session: SessionId, seen_at: WallTime) -> Result<(), CatalogError> {
        self.writer
            .run(move |db| write::renew(db, session, seen_at))
            .await
    }

    async fn silent(&self, now: WallTime, limit: usize) -> Result<Vec<Silent>, CatalogError> {
        self.readers
            .run(move |db| sessions::silent(db, now, limit))
            .await
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        now: WallTime,
    ) -> Result<SessionPage, CatalogError> {
        let query = query.clone();
        self.readers
            .run(move |db| sessions::page(db, &query, now))
            .await
    }

    async fn session(
        &self,
        session: SessionId,
        now: WallTime,
    ) -> Result<Option<SessionSummary>, CatalogError> {
        self.readers
            .run(move |db| sessions::summary(db, session, now))
            .await
    }

    async fn head(&self, session: SessionId) -> Result<Option<SessionHead>, CatalogError> {
        self.readers
            .run(move |db| sessions::head(db, session))
            .await
    }

    async fn end(&self, session: SessionId) -> Result<Option<Stored>, CatalogError> {
        self.readers.run(move |db| sessions::end(db, session)).await
    }

    async fn objects(&self, session: SessionId) -> Result<Vec<ObjectRow>, CatalogError> {
        self.readers
            .run(move |db| objects::objects(db, session, None))
            .await
    }

    async fn object(
        &self,
        session: SessionId,
        seq: u64,
    ) -> Result<Option<ObjectRow>, CatalogError> {
        let found = self
            .readers
            .run(move |db| objects::objects(db, session, Some(seq)))
            .await?;
        Ok(found.into_iter().next())
    }

    async fn timeline(
        &self,
        session: SessionId,
        now: WallTime,
    ) -> Result<Option<Timeline>, CatalogError> {
        self.readers
            .run(move |db| objects::timeline(db, session, now))
            .await
    }

    async fn place(&self, rows: &[EventRow]) -> Result<Vec<Place>, CatalogError> {
        let rows = rows.to_vec();
        self.readers
            .run(move |db| rows.iter().map(|row| relink::place(db, row)).collect())
            .await
    }

    async fn put_rows(&self, log: &LogObject, rows: &[EventRow]) -> Result<Put, CatalogError> {
        let mut put = Put::default();
        let mut chunks: Vec<Vec<EventRow>> =
            rows.chunks(MAX_WRITE_ROWS).map(<[_]>::to_vec).collect();
        if chunks.is_empty() {
            chunks.push(Vec::new()); // the object itself is noted all the same
        }
        for chunk in chunks {
            let log = log.clone();
            let part = self
                .writer
                .run(move |db| rows::put(db, &log, &chunk))
                .await?;
            put.accepted += part.accepted;
            put.duplicate += part.duplicate;
        }
        Ok(put)
    }

    async fn events(
        &self,
        session: SessionId,
        query: &EventQuery,
    ) -> Result<EventPage, CatalogError> {
        let query = query.clone();
        self.readers
            .run(move |db| events::page(db, session, &query))
            .await
    }

    async fn event_density(
        &self,
        session: SessionId,
        duration: MediaTime,
        n: u32,
    ) -> Result<BTreeMap<String, Vec<u32>>, CatalogError> {
        self.readers
            .run(move |db| events::density(db, session, duration, n))
            .await
    }

    async fn event(&self, id: &str) -> Result<Option<LinkedRow>, CatalogError> {
        let id = id.to_owned();
        self.readers.run(move |db| events::event(db, &id)).await
    }

    async fn by_trace(
        &self,
        trace: TraceId,
        span: Option<SpanId>,
    ) -> Result<Vec<LinkedRow>, CatalogError> {
        self.readers
            .run(move |db| events::by_trace(db, trace, span))
            .await
    }

    async fn trace_links(&self, trace: TraceId) -> Result<Vec<TraceLink>, CatalogError> {
        self.readers
            .run(move |db| events::trace_links(db, trace))
            .await
    }

    async fn begin_rebuild(&self) -> Result<(), CatalogError> {
        self.writer.run_bare(write::begin_rebuild).await
    }

    async fn finish_rebuild(&self) -> Result<(), CatalogError> {
        self.writer.run_bare(write::finish_rebuild).await
    }

    async fn dump(&self) -> Result<BTreeMap<String, Vec<String>>, CatalogError> {
        self.readers.run(dump::dump).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Fault;

    #[tokio::test]
    async fn a_full_disk_refuses_rows_until_space_returns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let catalog = SqliteCatalog::open("sqlite:", &path, true).unwrap();
        let limit_pages = async |pages: i64| {
            let limit = move |db: &mut rusqlite::Connection| {
                db.pragma_update(None, "max_page_count", pages)?;
                Ok(())
            };
            catalog.writer.run_bare(limit).await.unwrap();
        };
        limit_pages(1).await; // taken as: no more than there are
        let log = LogObject {
            key: "v1/rows/a.ndjson.zst".into(),
            stored: Stored::of(b"a"),
        };
        let line = |n: usize| {
            let text = "x".repeat(1000);
            format!(r#"{{"time":"2026-11-30T09:00:00Z","text":"{n} {text}"}}"#)
        };
        let rows = (0..500).map(|n| crate::row::parse(line(n).as_bytes(), 1).unwrap());
        let rows: Vec<EventRow> = rows.collect();
        let error = catalog.put_rows(&log, &rows).await.unwrap_err();
        assert!(matches!(error, CatalogError::Full(_)), "{error:?}");
        assert_eq!(error.fault(), Fault::Passing);
        assert!(catalog.event(&rows[0].id).await.unwrap().is_none());
        limit_pages(1_000_000).await;
        assert_eq!(catalog.put_rows(&log, &rows).await.unwrap().accepted, 500);
    }
}
