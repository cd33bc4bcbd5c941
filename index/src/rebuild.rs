//! How is the catalogue made again? From the store alone: heads, manifests by their tails, end
//! records, then every log object (store.md, "Catalogue").

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use futures::{StreamExt as _, stream};
use segment::key::{ObjectKind, parse};
use store::{Store, StoreError};

use crate::{
    catalog::{Catalog, CatalogError, LogObject, Stored},
    locate::{Listing, keys_of},
    log::{self, LogError},
    row::EventRow,
    scan::{self, Scan, ScanError, Unreadable, with_causes},
};

/// Sessions and log objects read at once, so that the store is not waited for one by one. Each may
/// be some ten megabytes.
const READ_AT_ONCE: usize = 4;

/// How far a rebuild is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Sessions found in the store.
    pub sessions: u64,
    /// Sessions done.
    pub sessions_done: u64,
    /// Log objects found.
    pub logs: u64,
    /// Log objects done; they come after all sessions.
    pub logs_done: u64,
    /// Event rows taken from them.
    pub rows: u64,
}

/// What a rebuild found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebuildReport {
    /// Sessions.
    pub sessions: u64,
    /// Segments and idle records.
    pub objects: u64,
    /// Event rows.
    pub rows: u64,
    /// Objects that could not be taken, and why. The rest is there all the same.
    pub unreadable: Vec<Unreadable>,
}

/// Why a rebuild stopped. It can be run again.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The catalogue failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Makes `catalog` again from `store`, beside the one that is in use until the new one is whole.
/// It belongs to the stores `owners` then, or to those it belonged to if there are none.
///
/// # Errors
/// When store or catalogue fail; the catalogue is then as it was. Objects that cannot be read are
/// reported, not errors.
pub async fn rebuild(
    store: &dyn Store,
    catalog: &dyn Catalog,
    owners: &[String],
    progress: impl FnMut(Progress),
) -> Result<RebuildReport, RebuildError> {
    let fresh = catalog.begin_rebuild().await?;
    if owners.is_empty() {
        fresh.set_store_ids(&catalog.store_ids().await?).await?;
    } else {
        fresh.set_store_ids(owners).await?;
    }
    let first = find(store).await?;
    let mut filling = Filling {
        store,
        catalog: &*fresh,
        report: RebuildReport::default(),
        so_far: Progress::default(),
        progress,
    };
    filling.fill(&first, &Found::default()).await?;
    fresh.finish_rebuild().await?;
    // What was recorded meanwhile is in the store, but its rows went to the catalogue before.
    let meanwhile = find(store).await?;
    filling.catalog = catalog;
    filling.fill(&meanwhile, &first).await?;
    Ok(filling.report)
}

/// What there is to read.
#[derive(Default)]
struct Found {
    /// By the prefix of each session, a digest of its objects' keys.
    sessions: BTreeMap<String, u64>,
    /// The keys of all log objects.
    logs: BTreeSet<String>,
}

async fn find(store: &dyn Store) -> Result<Found, StoreError> {
    let mut found = Found::default();
    let mut listing = Listing::new("v1/");
    loop {
        let page = listing.next(store).await?;
        if page.is_empty() {
            return Ok(found);
        }
        for object in page {
            let key = object.key;
            if let Some((_, keys)) = keys_of(&key) {
                let digest = found.sessions.entry(keys.prefix()).or_default();
                let mut hasher = DefaultHasher::new();
                (*digest, &key).hash(&mut hasher);
                *digest = hasher.finish();
            }
            let is_log = matches!(parse(&key), Some((_, ObjectKind::Log { .. })));
            if is_log || key.starts_with("v1/rows/") {
                found.logs.insert(key);
            }
        }
    }
}

/// A catalogue that is being filled.
struct Filling<'a, F> {
    store: &'a dyn Store,
    catalog: &'a dyn Catalog,
    report: RebuildReport,
    so_far: Progress,
    progress: F,
}

impl<F: FnMut(Progress)> Filling<'_, F> {
    /// Takes what is in `found` and was not, or was otherwise, in `before`.
    async fn fill(&mut self, found: &Found, before: &Found) -> Result<(), RebuildError> {
        let is_new =
            |(prefix, digest): &(&String, &u64)| before.sessions.get(*prefix) != Some(digest);
        let sessions: Vec<_> = found.sessions.iter().filter(is_new).collect();
        let logs: Vec<_> = found.logs.difference(&before.logs).collect();
        self.so_far.sessions += sessions.len() as u64;
        self.so_far.logs += logs.len() as u64;
        (self.progress)(self.so_far);
        let store = self.store;
        let scans = sessions.into_iter().filter_map(|(prefix, _)| {
            let (_, keys) = keys_of(&format!("{prefix}session.json"))?;
            Some(async move { scan::scan(store, &keys).await })
        });
        let mut scans = stream::iter(scans).buffered(READ_AT_ONCE);
        while let Some(scan) = scans.next().await {
            self.put_session(scan).await?;
        }
        let logs = logs.into_iter().map(|key| async move {
            let bytes = store.get(key).await?;
            let stored = Stored::of(&bytes);
            let rows = tokio::task::spawn_blocking(move || log::unpack(&bytes)).await;
            let rows = rows.map_err(|_| StoreError::Cancelled)?;
            let key = key.clone();
            Ok::<_, StoreError>((LogObject { key, stored }, rows))
        });
        let mut logs = stream::iter(logs).buffered(READ_AT_ONCE);
        while let Some(log) = logs.next().await {
            let (log, rows) = log?;
            self.put_log(log, rows).await?;
        }
        Ok(())
    }

    async fn put_session(&mut self, scan: Result<Scan, ScanError>) -> Result<(), RebuildError> {
        match scan {
            Err(ScanError::Store(error)) => return Err(error.into()),
            Err(ScanError::Head { key, problem }) => {
                self.report.unreadable.push(Unreadable { key, problem });
            }
            Ok(scan) => {
                let unreadable = &mut self.report.unreadable;
                self.report.objects += put_missing(self.catalog, &scan, unreadable).await?;
                self.report.sessions += 1;
                self.report.unreadable.extend(scan.unreadable);
            }
        }
        self.so_far.sessions_done += 1;
        (self.progress)(self.so_far);
        Ok(())
    }

    async fn put_log(
        &mut self,
        log: LogObject,
        rows: Result<Vec<EventRow>, LogError>,
    ) -> Result<(), RebuildError> {
        match rows {
            Ok(rows) => {
                self.report.rows += self.catalog.put_rows(&log, &rows).await?.accepted;
            }
            Err(error) => self.report.unreadable.push(Unreadable {
                key: log.key,
                problem: with_causes(&error),
            }),
        }
        self.so_far.logs_done += 1;
        self.so_far.rows = self.report.rows;
        (self.progress)(self.so_far);
        Ok(())
    }
}

/// Notes what `scan` found and the catalogue lacks. Gives how many segments and idle records it
/// has of these now; what contradicts it is `refused`.
pub(crate) async fn put_missing(
    catalog: &dyn Catalog,
    scan: &Scan,
    refused: &mut Vec<Unreadable>,
) -> Result<u64, CatalogError> {
    catalog.put_head(&scan.head, scan.head_stored).await?;
    let mut objects = 0;
    for object in &scan.objects {
        let put = catalog.put_object(object).await;
        objects += u64::from(put.is_ok());
        taken(put, &object.entry.key, refused)?;
    }
    for &(n, at) in &scan.interrupted {
        catalog.put_interrupted(scan.head.id, n, at).await?;
    }
    if let Some((end, stored)) = &scan.end {
        let put = catalog.put_end(end, *stored).await;
        taken(put, &scan.keys.end(), refused)?;
    }
    Ok(objects)
}

/// An object that contradicts another is told; a catalogue that fails is an error.
fn taken(
    put: Result<(), CatalogError>,
    key: &str,
    refused: &mut Vec<Unreadable>,
) -> Result<(), CatalogError> {
    match put {
        Err(
            error @ (CatalogError::Conflict { .. }
            | CatalogError::UnknownSession { .. }
            | CatalogError::Refused(_)),
        ) => {
            refused.push(Unreadable {
                key: key.to_owned(),
                problem: with_causes(&error),
            });
            Ok(())
        }
        put => put,
    }
}
