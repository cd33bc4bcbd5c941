//! How is the catalogue made again? From the store alone: heads, manifests by their tails, end
//! records, then every log object (store.md, "Catalogue").

use std::collections::BTreeSet;

use segment::key::SessionKeys;
use store::{Store, StoreError};

use crate::{
    catalog::{Catalog, CatalogError, LogObject, Stored},
    locate::{Listing, keys_of},
    log,
    scan::{self, Scan, ScanError, Unreadable, with_causes},
};

/// How far a rebuild is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Sessions found in the store.
    pub sessions: u64,
    /// Sessions done.
    pub sessions_done: u64,
    /// Log objects found so far.
    pub logs: u64,
    /// Log objects done; they come after all sessions.
    pub logs_done: u64,
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

/// Empties `catalog` and fills it from `store`. Leases come back as agents renew them.
///
/// # Errors
/// When store or catalogue fail. Objects that cannot be read are reported, not errors.
pub async fn rebuild(
    store: &dyn Store,
    catalog: &dyn Catalog,
    mut progress: impl FnMut(Progress),
) -> Result<RebuildReport, RebuildError> {
    catalog.begin_rebuild().await?;
    let mut report = RebuildReport::default();
    let (sessions, mut logs) = find(store).await?;
    let mut so_far = Progress {
        sessions: sessions.len() as u64,
        logs: logs.len() as u64,
        ..Progress::default()
    };
    progress(so_far);
    for prefix in &sessions {
        if let Some((_, keys)) = keys_of(&format!("{prefix}session.json")) {
            let found = put_session(store, catalog, &keys, &mut report).await?;
            logs.extend(found);
        }
        so_far.sessions_done += 1;
        so_far.logs = logs.len() as u64;
        progress(so_far);
    }
    for key in &logs {
        put_log(store, catalog, key, &mut report).await?;
        so_far.logs_done += 1;
        progress(so_far);
    }
    catalog.finish_rebuild().await?;
    Ok(report)
}

/// The prefixes of all sessions, and the keys of log objects that belong to none.
async fn find(store: &dyn Store) -> Result<(BTreeSet<String>, Vec<String>), StoreError> {
    let (mut sessions, mut logs) = (BTreeSet::new(), Vec::new());
    let mut listing = Listing::new("v1/");
    loop {
        let page = listing.next(store).await?;
        if page.is_empty() {
            return Ok((sessions, logs));
        }
        for object in page {
            if let Some((_, keys)) = keys_of(&object.key) {
                sessions.insert(keys.prefix());
            } else if object.key.starts_with("v1/rows/") {
                logs.push(object.key);
            }
        }
    }
}

/// Notes one session. Gives the keys of its log objects.
async fn put_session(
    store: &dyn Store,
    catalog: &dyn Catalog,
    keys: &SessionKeys,
    report: &mut RebuildReport,
) -> Result<Vec<String>, RebuildError> {
    let scan = match scan::scan(store, keys).await {
        Ok(scan) => scan,
        Err(ScanError::Store(error)) => return Err(error.into()),
        Err(ScanError::Head { key, problem }) => {
            report.unreadable.push(Unreadable { key, problem });
            return Ok(Vec::new());
        }
    };
    report.sessions += 1;
    report.objects += put_missing(catalog, &scan, &mut report.unreadable).await?;
    report.unreadable.extend(scan.unreadable);
    Ok(scan.logs.into_iter().map(|log| log.key).collect())
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

async fn put_log(
    store: &dyn Store,
    catalog: &dyn Catalog,
    key: &str,
    report: &mut RebuildReport,
) -> Result<(), RebuildError> {
    let bytes = store.get(key).await?;
    match log::unpack(&bytes) {
        Ok(rows) => {
            let log = LogObject {
                key: key.to_owned(),
                stored: Stored::of(&bytes),
            };
            report.rows += catalog.put_rows(&log, &rows).await?.accepted;
        }
        Err(error) => report.unreadable.push(Unreadable {
            key: key.to_owned(),
            problem: with_causes(&error),
        }),
    }
    Ok(())
}

/// An object that contradicts another is told; a catalogue that fails is an error.
fn taken(
    put: Result<(), CatalogError>,
    key: &str,
    refused: &mut Vec<Unreadable>,
) -> Result<(), CatalogError> {
    match put {
        Err(error @ (CatalogError::Conflict { .. } | CatalogError::UnknownSession { .. })) => {
            refused.push(Unreadable {
                key: key.to_owned(),
                problem: error.to_string(),
            });
            Ok(())
        }
        put => put,
    }
}
