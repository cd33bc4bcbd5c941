//! How do event rows come in? Parsed, placed, stored as log objects, then noted in the catalogue
//! (api.md, "Event rows").

use std::collections::{BTreeMap, HashSet};

use capture::{SessionId, WallTime};
use segment::key::SessionKeys;
use serde::Serialize;
use store::Store;

use crate::{
    catalog::{Catalog, CatalogError, LogObject, MAX_WRITE_ROWS},
    commit::{self, CommitError},
    log::{self, Names},
    row::{EventRow, Refusal, parse},
};

/// Refusals told one by one; more are only counted.
pub const MAX_REFUSALS: usize = 1000;

/// How to take rows in.
#[derive(Clone, Copy)]
pub struct Import<'a> {
    /// Where log objects go.
    pub store: &'a dyn Store,
    /// Where rows are noted.
    pub catalog: &'a dyn Catalog,
    /// The session of rows that name none.
    pub session: Option<SessionId>,
    /// The number of the first line, from 1: more when a file is taken in pieces.
    pub first_line: u64,
}

/// What became of the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// How many were new.
    pub accepted: u64,
    /// How many were known.
    pub duplicate: u64,
    /// The lines that are no rows, at most [`MAX_REFUSALS`].
    pub refused: Vec<Refusal>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused_more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Why rows could not be taken. Those already counted are kept; sending all again is harmless.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A log object could not be stored.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The catalogue failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Rows could not be packed.
    #[error("rows do not pack")]
    Pack(#[from] std::io::Error),
}

impl Import<'_> {
    /// Takes in the rows of `ndjson`, one a line. Blank lines are skipped; wrong ones are refused
    /// one by one.
    ///
    /// # Errors
    /// When store or catalogue fail.
    pub async fn rows(
        &self,
        ndjson: &[u8],
        names: &mut Names,
    ) -> Result<ImportReport, ImportError> {
        let mut report = ImportReport::default();
        let mut batch = Vec::with_capacity(MAX_WRITE_ROWS);
        for (number, line) in (self.first_line..).zip(ndjson.split(|&b| b == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match parse(line, number) {
                Ok(row) => batch.push(self.with_session(row)),
                Err(refusal) if report.refused.len() < MAX_REFUSALS => report.refused.push(refusal),
                Err(_) => report.refused_more += 1,
            }
            if batch.len() == MAX_WRITE_ROWS {
                self.take(std::mem::take(&mut batch), names, &mut report)
                    .await?;
            }
        }
        self.take(batch, names, &mut report).await?;
        Ok(report)
    }

    fn with_session(&self, row: EventRow) -> EventRow {
        EventRow {
            session: row.session.or(self.session),
            ..row
        }
    }

    /// Takes in one batch.
    async fn take(
        &self,
        rows: Vec<EventRow>,
        names: &mut Names,
        report: &mut ImportReport,
    ) -> Result<(), ImportError> {
        let places = self.catalog.place(&rows).await?;
        let mut fresh: BTreeMap<Drawer, Vec<EventRow>> = BTreeMap::new();
        let mut seen = HashSet::new();
        for (row, place) in rows.into_iter().zip(places) {
            if place.known || !seen.insert(row.id.clone()) {
                report.duplicate += 1;
                continue;
            }
            let drawer = Drawer {
                session: place.session,
                slug: log::slug(row.source.as_deref()),
            };
            fresh.entry(drawer).or_default().push(row);
        }
        for (drawer, rows) in fresh {
            let key = drawer.key(names);
            let stored = commit::put(self.store, &key, log::pack(&rows)?.into()).await?;
            let put = self
                .catalog
                .put_rows(&LogObject { key, stored }, &rows)
                .await?;
            report.accepted += put.accepted;
            report.duplicate += put.duplicate;
        }
        Ok(())
    }
}

/// Rows that share a log object.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Drawer {
    /// The session and its start; `None` for rows that wait for one.
    session: Option<(SessionId, WallTime)>,
    slug: String,
}

impl Drawer {
    fn key(&self, names: &mut Names) -> String {
        let (slug, name) = (&self.slug, names.next_name());
        match self.session {
            Some((session, start)) => SessionKeys::new(session, start).log(slug, &name),
            None => format!("v1/rows/{}/{slug}/{name}.ndjson.zst", names.now().day()),
        }
    }
}
