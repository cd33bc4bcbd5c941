//! What is recorded, and what is known about each moment? The index over the store, behind one
//! trait (store.md, "Catalogue"). It holds nothing that the store does not, except leases.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use capture::{
    MediaTime, SessionId, WallTime,
    session::SessionHead,
    trace::{SpanId, TraceId},
};
use segment::end::EndBody;

pub mod line;
mod object;
mod query;
mod rows;
mod sqlite;
mod summary;

pub use object::{CommittedObject, MediaRow, ObjectBody, ObjectRow, Stored};
pub use query::{Cursor, EventPage, EventQuery, SessionPage, SessionQuery, Sort};
pub use rows::{LinkedRow, LogObject, Put, TraceLink};
pub use summary::{SessionSummary, Silent, State};

use crate::{Timeline, row::EventRow, timeline::TimelineError};

/// An agent that has not renewed its lease for this long has lost contact.
pub const LEASE_MS: i64 = 60_000;
/// Late rows are waited for this long after a session's end before it counts as settled.
pub const SETTLE_MS: i64 = 60_000;
/// The most rows one write transaction holds, so that another process gets its turn.
pub const MAX_WRITE_ROWS: usize = 1000;
/// The most rows one answer holds.
pub const MAX_PAGE_ROWS: usize = 20_000;
/// The most sessions one answer holds.
pub const MAX_PAGE_SESSIONS: usize = 1000;

/// The index over a store. Shared by the agents and servers of one host, or of all.
///
/// Every write may be repeated: the same head, object, end record or row again changes nothing.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// The URL it was opened with, without secrets.
    fn url(&self) -> &str;

    /// Writes something that changes nothing, to learn whether it can be written.
    ///
    /// # Errors
    /// When the catalogue cannot be written.
    async fn probe(&self) -> Result<(), CatalogError>;

    /// The stores it belongs to, by the ids in their markers; none until it is
    /// [claimed](crate::owner::claim).
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn store_ids(&self) -> Result<Vec<String>, CatalogError>;

    /// Binds the catalogue to these stores.
    ///
    /// # Errors
    /// [`CatalogError::Conflict`] when it is bound to one that is not among them.
    async fn set_store_ids(&self, ids: &[String]) -> Result<(), CatalogError>;

    /// The id of the store in which the session was last found, if that was noted.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn store_of(&self, session: SessionId) -> Result<Option<String>, CatalogError>;

    /// Notes in which store these sessions were found, at most [`MAX_WRITE_ROWS`]; nothing for
    /// those that are not known.
    ///
    /// # Errors
    /// When the catalogue cannot be written.
    async fn set_store_of(&self, sessions: &[SessionId], id: &str) -> Result<(), CatalogError>;

    /// Notes a new session, and links the rows that waited for it.
    ///
    /// # Errors
    /// [`CatalogError::Conflict`] when the session has another head.
    async fn put_head(&self, head: &SessionHead, stored: Stored) -> Result<(), CatalogError>;

    /// Notes an object and its sprite sheet, and corrects row times by its clock anchors.
    ///
    /// # Errors
    /// [`CatalogError::UnknownSession`], or [`CatalogError::Conflict`] when another object has
    /// its number.
    async fn put_object(&self, object: &CommittedObject) -> Result<(), CatalogError>;

    /// Notes that the session ended. Supersedes an interruption.
    ///
    /// # Errors
    /// [`CatalogError::UnknownSession`], or [`CatalogError::Conflict`] when it ended otherwise.
    async fn put_end(&self, end: &EndBody, stored: Stored) -> Result<(), CatalogError>;

    /// Notes that the server wrote the session's `n`th note of a silent recorder.
    ///
    /// # Errors
    /// [`CatalogError::UnknownSession`].
    async fn put_interrupted(
        &self,
        session: SessionId,
        n: u64,
        at: WallTime,
    ) -> Result<(), CatalogError>;

    /// Renews the lease of the agent that records the session.
    ///
    /// # Errors
    /// [`CatalogError::UnknownSession`].
    async fn renew(&self, session: SessionId, seen_at: WallTime) -> Result<(), CatalogError>;

    /// Sessions without an end whose recorder has not been heard of for a minute: at most `limit`,
    /// oldest first. One that was noted as interrupted is silent again only after its recorder was
    /// heard of since.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn silent(&self, now: WallTime, limit: usize) -> Result<Vec<Silent>, CatalogError>;

    /// Sessions that match, and how they spread over each facet.
    ///
    /// # Errors
    /// [`CatalogError::Cursor`] for a cursor this catalogue did not give.
    async fn sessions(
        &self,
        query: &SessionQuery,
        now: WallTime,
    ) -> Result<SessionPage, CatalogError>;

    /// One session.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn session(
        &self,
        session: SessionId,
        now: WallTime,
    ) -> Result<Option<SessionSummary>, CatalogError>;

    /// The session's head as it was recorded.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn head(&self, session: SessionId) -> Result<Option<SessionHead>, CatalogError>;

    /// Digest and size of the session's end record.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn end(&self, session: SessionId) -> Result<Option<Stored>, CatalogError>;

    /// The session's objects in order; empty for an unknown session.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn objects(&self, session: SessionId) -> Result<Vec<ObjectRow>, CatalogError>;

    /// One object by its number.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn object(&self, session: SessionId, seq: u64)
    -> Result<Option<ObjectRow>, CatalogError>;

    /// The session on one clock; `None` for an unknown session.
    ///
    /// # Errors
    /// [`CatalogError::Timeline`] when its objects contradict themselves.
    async fn timeline(
        &self,
        session: SessionId,
        now: WallTime,
    ) -> Result<Option<Timeline>, CatalogError>;

    /// The session each row belongs to as things stand, and whether the row is known already.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn place(&self, rows: &[EventRow]) -> Result<Vec<Place>, CatalogError>;

    /// Notes a log object and its rows. A row that is known stays as it is.
    ///
    /// # Errors
    /// When the catalogue cannot be written.
    async fn put_rows(&self, log: &LogObject, rows: &[EventRow]) -> Result<Put, CatalogError>;

    /// The rows of a session in time order.
    ///
    /// # Errors
    /// [`CatalogError::Cursor`] for a cursor this catalogue did not give.
    async fn events(
        &self,
        session: SessionId,
        query: &EventQuery,
    ) -> Result<EventPage, CatalogError>;

    /// How many rows of each outcome fall into each of `n` equal parts of `0..duration`.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn event_density(
        &self,
        session: SessionId,
        duration: MediaTime,
        n: u32,
    ) -> Result<BTreeMap<String, Vec<u32>>, CatalogError>;

    /// The row with this id.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn event(&self, id: &str) -> Result<Option<LinkedRow>, CatalogError>;

    /// The rows of a trace, or of one span of it, in time order: at most [`MAX_PAGE_ROWS`].
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn by_trace(
        &self,
        trace: TraceId,
        span: Option<SpanId>,
    ) -> Result<Vec<LinkedRow>, CatalogError>;

    /// The sessions a trace passes through: by their heads or by rows linked to them.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn trace_links(&self, trace: TraceId) -> Result<Vec<TraceLink>, CatalogError>;

    /// An empty catalogue beside this one, made for many writes by one process. This one stays as
    /// it is, and in use.
    ///
    /// # Errors
    /// When there is no place for it.
    async fn begin_rebuild(&self) -> Result<Arc<dyn Catalog>, CatalogError>;

    /// Puts what this catalogue, which [`begin_rebuild`](Self::begin_rebuild) gave, holds in the
    /// place of the one it was begun beside, in one step and for all who have that open. Leases
    /// are carried over. Nothing can be done with this one afterwards.
    ///
    /// # Errors
    /// When the other cannot be written; it is then as it was.
    async fn finish_rebuild(&self) -> Result<(), CatalogError>;

    /// Gives every row in a form that two catalogues over one store share: lines in the order of
    /// their natural keys, without leases. For comparing them.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn lines(&self, tell: line::Sender) -> Result<(), CatalogError>;

    /// All [`lines`](Self::lines) of each table, in memory.
    ///
    /// # Errors
    /// When the catalogue cannot be asked.
    async fn dump(&self) -> Result<BTreeMap<String, Vec<String>>, CatalogError> {
        let (tell, mut lines) = line::channel();
        let gather = async {
            let mut dump: BTreeMap<String, Vec<String>> = BTreeMap::new();
            while let Some(line) = lines.next().await {
                dump.entry(line.table.to_owned())
                    .or_default()
                    .push(line.text);
            }
            dump
        };
        let (told, dump) = tokio::join!(self.lines(tell), gather);
        told.map(|()| dump)
    }
}

/// Where a row goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The row is known.
    pub known: bool,
    /// The session it belongs to and when that began; `None` while it waits.
    pub session: Option<(SessionId, WallTime)>,
}

/// Why the catalogue did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The catalogue's URL cannot be used.
    #[error("catalogue {url:?}: {reason}")]
    Url {
        /// As given.
        url: String,
        /// What is wrong and what to write instead.
        reason: String,
    },
    /// A later Playhead made it.
    #[error(
        "catalogue {url} has schema {found} and this build knows {known}; use the newer build, or \
         move the file away and run `playhead index rebuild`"
    )]
    Newer {
        /// The catalogue.
        url: String,
        /// Its schema.
        found: i64,
        /// The schema this build writes.
        known: i64,
    },
    /// The session is not in the catalogue.
    #[error("session {session} is not in the catalogue")]
    UnknownSession {
        /// The session.
        session: SessionId,
    },
    /// Something else is known under the same name.
    #[error("the catalogue holds another {what}; run `playhead index rebuild`")]
    Conflict {
        /// What it is, with its name.
        what: String,
    },
    /// A cursor that this catalogue did not give.
    #[error("the cursor is not one this catalogue gave")]
    Cursor,
    /// A session's objects contradict themselves.
    #[error("session {session} has no timeline")]
    Timeline {
        /// The session.
        session: SessionId,
        /// In which way.
        source: TimelineError,
    },
    /// A row of the catalogue cannot be read.
    #[error("the catalogue's {what} is damaged; run `playhead index rebuild`")]
    Damaged {
        /// Which part.
        what: String,
    },
    /// The catalogue cannot be opened.
    #[error("cannot open catalogue {url}")]
    Open {
        /// The catalogue.
        url: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process holds it for longer than any of ours does.
    #[error("another process holds the catalogue; end what locks its file, or wait")]
    Busy(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// There is no space for it.
    #[error("the catalogue has no space to grow; free some on its disk")]
    Full(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Its file is damaged or none of ours.
    #[error(
        "the catalogue's file is damaged or is no catalogue; run `playhead index rebuild`, which \
         puts it aside"
    )]
    Corrupt(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What was to be written breaks a rule of the schema: no recorder writes that.
    #[error("the catalogue's rules refuse this")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database failed.
    #[error("the catalogue's database failed")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The task that did the work is gone: the process is shutting down.
    #[error("catalogue work was cancelled")]
    Cancelled,
}

/// What an error says of the catalogue, and so who can do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot do this now: the same may succeed later, with nothing changed.
    Passing,
    /// It cannot be used until someone mends or replaces it. What should have been written is in
    /// the store, where a rebuild finds it; a mended one is found without being opened anew.
    Broken,
    /// It works, and this was refused: the same will be refused again.
    Request,
}

impl CatalogError {
    /// Who can do something about it.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Busy(_) | Self::Full(_) | Self::Database(_) | Self::Cancelled => Fault::Passing,
            Self::Open { .. } | Self::Newer { .. } | Self::Corrupt(_) => Fault::Broken,
            Self::Url { .. }
            | Self::UnknownSession { .. }
            | Self::Refused(_)
            | Self::Conflict { .. }
            | Self::Cursor
            | Self::Timeline { .. }
            | Self::Damaged { .. } => Fault::Request,
        }
    }
}

/// The catalogue that `url` names: `sqlite:///absolute/file.db`, made when it is missing.
///
/// # Errors
/// [`CatalogError::Url`] for anything else, [`CatalogError::Open`] when the file cannot be
/// opened, [`CatalogError::Corrupt`] when it is no catalogue, [`CatalogError::Newer`] when a later
/// Playhead made it.
pub fn open_catalog(url: &str) -> Result<Arc<dyn Catalog>, CatalogError> {
    connect(url, true)
}

/// As [`open_catalog`], but the file is opened when it is first used, and again after a failure:
/// for who goes on without a catalogue.
///
/// # Errors
/// [`CatalogError::Url`] when `url` names none.
pub fn open_catalog_later(url: &str) -> Result<Arc<dyn Catalog>, CatalogError> {
    connect(url, false)
}

fn connect(url: &str, now: bool) -> Result<Arc<dyn Catalog>, CatalogError> {
    let refuse = |reason: &str| CatalogError::Url {
        url: url.to_owned(),
        reason: reason.to_owned(),
    };
    match url.split_once("://") {
        Some(("sqlite", path)) => {
            // A file URL, but for the scheme: the same rules for escapes and slashes.
            let path = url::Url::parse(&format!("file://{path}"))
                .ok()
                .and_then(|url| url.to_file_path().ok())
                .ok_or_else(|| {
                    refuse("names no absolute file; write it with three slashes: sqlite:///…")
                })?;
            Ok(Arc::new(sqlite::SqliteCatalog::open(url, &path, now)?))
        }
        Some(("postgres" | "postgresql", _)) => Err(refuse(
            "this build has no PostgreSQL back end yet; use sqlite:///absolute/file.db",
        )),
        _ => Err(refuse(
            "write it like sqlite:///var/lib/playhead/catalog.db",
        )),
    }
}
