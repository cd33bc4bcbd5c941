//! When is a recorder given up, and what is then noted? The server writes `interrupted/{n}.json`,
//! never the end record, which is the recorder's alone (recording.md, "Spool and recovery").

use std::collections::BTreeMap;

use capture::{ClockMap, SessionId, WallTime};
use segment::key::SessionKeys;
use store::{Store, StoreError};

use crate::{
    catalog::{Catalog, CatalogError, LEASE_MS, Silent},
    commit::{CommitError, Interrupted, commit_interrupted},
    owner::{self, ClaimError},
    rebuild,
    scan::{self, Scan, ScanError},
    stores::Stores,
    timeline::start_anchor,
};

/// Silent sessions looked at in one go; the rest have their turn once these are noted.
pub const MAX_SILENT: usize = 1000;

/// Watches for recorders that went silent. Several servers may watch one store.
#[derive(Debug)]
pub struct Watch {
    after_ms: i64,
    /// Since when each silent session was seen to be silent, without a break.
    looked: BTreeMap<SessionId, WallTime>,
}

/// A session whose recorder was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// It counts as interrupted from now on, at the last moment that is proven.
    Interrupted(SessionId, WallTime),
    /// Its end record was in the store, and only the catalogue had missed it.
    Ended(SessionId),
}

/// Why a session could not be noted. It is tried again at the next look.
#[derive(Debug, thiserror::Error)]
pub enum InterruptError {
    /// Store and catalogue do not belong together, or cannot be asked: nothing was done.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The catalogue cannot be asked.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The store cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session cannot be read from the store.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// The note cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// Another server's note cannot be read.
    #[error("object {key} is not a note of an interruption: {problem}")]
    Note {
        /// The object.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Watch {
    /// A watch that gives a recorder up when it was silent for `after_ms`, and never before it
    /// has seen that silence for a minute itself: a catalogue that was away, or was just rebuilt,
    /// knows no leases.
    #[must_use]
    pub const fn new(after_ms: i64) -> Self {
        Self {
            after_ms,
            looked: BTreeMap::new(),
        }
    }

    /// Looks once. Each session that is due has its own result, so that one that cannot be read
    /// holds up no other.
    ///
    /// # Errors
    /// When the catalogue cannot be asked or does not belong to the store. Nothing was written
    /// then, and what was seen before is forgotten, since agents may have been kept from it too.
    pub async fn look(
        &mut self,
        store: &Stores,
        catalog: &dyn Catalog,
        now: WallTime,
    ) -> Result<Vec<Result<GivenUp, InterruptError>>, InterruptError> {
        let due = match self.due(catalog, now).await {
            Ok(due) => due,
            Err(error) => {
                self.looked.clear();
                return Err(error.into());
            }
        };
        if due.is_empty() {
            return Ok(Vec::new());
        }
        owner::check(store, catalog).await?;
        let mut results = Vec::with_capacity(due.len());
        for silent in due {
            results.push(give_up(store, catalog, silent).await);
        }
        Ok(results)
    }

    async fn due(
        &mut self,
        catalog: &dyn Catalog,
        now: WallTime,
    ) -> Result<Vec<Silent>, CatalogError> {
        let silent = catalog.silent(now, MAX_SILENT).await?;
        let before = std::mem::take(&mut self.looked);
        let mut due = Vec::new();
        for session in silent {
            let first = before.get(&session.id).copied().unwrap_or(now);
            self.looked.insert(session.id, first);
            let since = |at: WallTime| now.unix_ms().saturating_sub(at.unix_ms());
            let heard = session.seen_at.unwrap_or(first);
            if since(first) >= LEASE_MS && since(heard) >= self.after_ms {
                due.push(session);
            }
        }
        Ok(due)
    }
}

/// Notes that the session's recorder is gone, by what the store holds: the catalogue may have
/// missed something, and two servers must write the same.
async fn give_up(
    store: &dyn Store,
    catalog: &dyn Catalog,
    silent: Silent,
) -> Result<GivenUp, InterruptError> {
    let session = silent.id;
    let keys = SessionKeys::new(session, silent.start);
    let scan = scan::scan(store, &keys).await?;
    rebuild::put_missing(catalog, &scan, &mut Vec::new()).await?;
    if scan.end.is_some() {
        return Ok(GivenUp::Ended(session));
    }
    let noted = scan.interrupted.iter().copied().max_by_key(|&(n, _)| n);
    if let Some((n, at)) = noted
        && silent.noted.unwrap_or(0) < n
    {
        // Another server was faster, and the catalogue has just been told.
        return Ok(GivenUp::Interrupted(session, at));
    }
    let note = Interrupted {
        format: 1,
        session,
        n: noted.map_or(0, |(n, _)| n) + 1,
        at: last_proven(&scan),
    };
    match commit_interrupted(store, catalog, &keys, &note).await {
        Err(CommitError::Store(StoreError::Exists { key })) => {
            let bytes = store.get(&key).await?;
            let theirs: Interrupted = serde_json::from_slice(&bytes).map_err(|error| {
                let problem = error.to_string();
                InterruptError::Note { key, problem }
            })?;
            catalog.put_interrupted(session, note.n, theirs.at).await?;
            Ok(GivenUp::Interrupted(session, theirs.at))
        }
        done => Ok(done.map(|()| GivenUp::Interrupted(session, note.at))?),
    }
}

/// The wall clock at the end of the last object.
fn last_proven(scan: &Scan) -> WallTime {
    let spans = scan.objects.iter().map(|object| object.body.span());
    let Some(to) = spans.clone().map(|span| span.to).max() else {
        return scan.head.start;
    };
    let mut anchors: Vec<_> = spans.flat_map(|span| span.anchors.clone()).collect();
    anchors.sort_by_key(|anchor| anchor.t);
    anchors.dedup_by_key(|anchor| anchor.t);
    if anchors.is_empty() {
        anchors.push(start_anchor(scan.head.start));
    }
    let from_start = || scan.head.start.plus_ms(i64::try_from(to.ms()).unwrap_or(0));
    ClockMap::new(anchors).map_or_else(|_| from_start(), |clock| clock.utc_at(to))
}
