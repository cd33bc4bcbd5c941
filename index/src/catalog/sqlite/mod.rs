//! The catalogue in one SQLite file, shared by the processes of one host.
//!
//! One thread writes, in immediate transactions; readers work on snapshots beside it. The tables
//! are in `schema.sql`.

mod connection;
mod dump;
mod events;
mod objects;
mod rebuild;
mod relink;
mod rows;
mod sessions;
mod tally;
mod value;
mod write;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use async_trait::async_trait;
use capture::{
    MediaTime, SessionId, WallTime,
    session::SessionHead,
    trace::{SpanId, TraceId},
};
use rusqlite::Connection;
use segment::end::EndBody;

use self::connection::{File, Readers, Writer};
use super::{
    Catalog, CatalogError, CommittedObject, EventPage, EventQuery, LinkedRow, LogObject,
    MAX_WRITE_ROWS, ObjectRow, Place, Put, SessionPage, SessionQuery, SessionSummary, Silent,
    Stored, TraceLink, line,
};
use crate::{Timeline, row::EventRow};

/// Rows of one transaction of a rebuild, which nobody waits for.
const REBUILD_ROWS: u64 = 20_000;

/// A catalogue in a file.
pub(super) struct SqliteCatalog {
    file: File,
    writer: Writer,
    readers: Readers,
    /// The catalogue that this one is to take the place of, while a rebuild fills it; and the lock
    /// that keeps a second rebuild away.
    replaces: Option<(File, std::fs::File)>,
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
            writer: Writer::spawn(file.clone(), opened, None)?,
            readers: Readers::new(file.clone()),
            file,
            replaces: None,
        })
    }

    /// Runs `work`, which may touch links of rows, and then settles those that did not fit into
    /// its transaction, in as many as it takes.
    async fn link<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let with_rest = move |db: &Connection| Ok((work(db)?, relink::is_pending(db)?));
        let (done, mut pending) = self.writer.run(with_rest).await?;
        while pending {
            pending = self.writer.run(relink::go_on).await?;
        }
        Ok(done)
    }
}

#[async_trait]
impl Catalog for SqliteCatalog {
    fn url(&self) -> &str {
        &self.file.url
    }

    async fn probe(&self) -> Result<(), CatalogError> {
        self.writer.run(write::probe).await
    }

    async fn store_ids(&self) -> Result<Vec<String>, CatalogError> {
        self.readers.run(sessions::store_ids).await
    }

    async fn set_store_ids(&self, ids: &[String]) -> Result<(), CatalogError> {
        let ids = ids.to_owned();
        self.writer
            .run(move |db| write::set_store_ids(db, &ids))
            .await
    }

    async fn store_of(&self, session: SessionId) -> Result<Option<String>, CatalogError> {
        self.readers
            .run(move |db| sessions::store_of(db, session))
            .await
    }

    async fn set_store_of(&self, sessions: &[SessionId], id: &str) -> Result<(), CatalogError> {
        let (sessions, id) = (sessions.to_owned(), id.to_owned());
        self.writer
            .run(move |db| write::set_store_of(db, &sessions, &id))
            .await
    }

    async fn put_head(&self, head: &SessionHead, stored: Stored) -> Result<(), CatalogError> {
        let head = head.clone();
        self.link(move |db| write::put_head(db, &head, stored))
            .await
    }

    async fn put_object(&self, object: &CommittedObject) -> Result<(), CatalogError> {
        let object = object.clone();
        self.link(move |db| write::put_object(db, &object)).await
    }

    async fn put_end(&self, end: &EndBody, stored: Stored) -> Result<(), CatalogError> {
        let end = end.clone();
        self.link(move |db| write::put_end(db, &end, stored)).await
    }

    async fn put_interrupted(
        &self,
        session: SessionId,
        n: u64,
        at: WallTime,
    ) -> Result<(), CatalogError> {
        self.link(move |db| write::put_interrupted(db, session, n, at))
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
            let part = self.link(move |db| rows::put(db, &log, &chunk)).await?;
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

    async fn begin_rebuild(&self) -> Result<Arc<dyn Catalog>, CatalogError> {
        let beside = self.file.beside();
        let lock = beside.lock()?;
        beside.remove()?;
        let opened = beside.open_for_writing()?;
        let writer = Writer::spawn(beside.clone(), Some(opened), Some(REBUILD_ROWS))?;
        writer.run_bare(rebuild::prepare).await?;
        Ok(Arc::new(Self {
            writer,
            readers: Readers::new(beside.clone()),
            file: beside,
            replaces: Some((self.file.clone(), lock)),
        }))
    }

    async fn finish_rebuild(&self) -> Result<(), CatalogError> {
        let no_rebuild = || CatalogError::Database("it is no rebuild".into());
        let (replaces, _lock) = self.replaces.as_ref().ok_or_else(no_rebuild)?;
        let replaces = replaces.clone();
        let take_place = move |db: &mut Connection| rebuild::take_place(db, &replaces);
        self.writer.run_bare(take_place).await?;
        self.file.remove()
    }

    async fn lines(&self, tell: line::Sender) -> Result<(), CatalogError> {
        self.readers.run(move |db| dump::lines(db, tell)).await
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
            let limit = move |db: &mut Connection| {
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
    #[tokio::test]
    async fn a_large_backlog_is_linked_in_small_transactions() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str| SqliteCatalog::open("sqlite:", &folder.path().join(name), true);
        let (waiting, ready) = (open("a.db").unwrap(), open("b.db").unwrap());
        let head: SessionHead = serde_json::from_str(
            r#"{"format":1,"id":"01937f0e-7c1a-7b2c-9d3e-0123456789ab",
                "start":"2026-11-30T09:00:00Z","protocol":"vnc","source":"vnc://a",
                "server_name":"a","size":[64,48],"fps_max":15,"recorder":"test",
                "run":"r-1"}"#,
        )
        .unwrap();
        let log = LogObject {
            key: "v1/rows/a.ndjson.zst".into(),
            stored: Stored::of(b"a"),
        };
        let line =
            |n: usize| format!(r#"{{"time":"2026-11-30T09:00:00Z","text":"{n}","run":"r-1"}}"#);
        let rows = (0..2_500).map(|n| crate::row::parse(line(n).as_bytes(), 1).unwrap());
        let rows: Vec<EventRow> = rows.collect();
        let stored = Stored::of(b"head");
        ready.put_head(&head, stored).await.unwrap();
        ready.put_rows(&log, &rows).await.unwrap();
        waiting.put_rows(&log, &rows).await.unwrap();

        let linked = async || {
            let sql = "select count(*) from event where session is not null";
            let count = move |db: &Connection| {
                let linked: i64 = db.query_row(sql, [], |row| row.get(0))?;
                Ok(linked)
            };
            waiting.readers.run(count).await.unwrap()
        };
        let put = head.clone();
        let first = move |db: &Connection| write::put_head(db, &put, stored);
        waiting.writer.run(first).await.unwrap();
        assert_eq!(linked().await, 1000);
        // Whoever writes next goes on, also after a crash.
        waiting.put_head(&head, stored).await.unwrap();
        assert_eq!(linked().await, 2500);
        assert_eq!(waiting.dump().await.unwrap(), ready.dump().await.unwrap());
    }
}
