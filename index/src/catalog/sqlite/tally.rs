//! The tables derived from linked rows: how many of each outcome, and which traces.
//!
//! Linking thousands of rows touches few lines here, so changes are gathered and written once.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::catalog::CatalogError;

/// A session's integer key.
pub(super) type SessionKey = i64;
/// A trace's 16 bytes.
pub(super) type Trace = [u8; 16];

/// What changed for the derived tables.
#[derive(Default)]
pub(super) struct Tally {
    outcomes: BTreeMap<(SessionKey, String), i64>,
    added: BTreeMap<(Trace, SessionKey), Added>,
    /// Links that lost or moved a row and are counted anew.
    stale: BTreeSet<(Trace, SessionKey)>,
}

/// Rows added to a trace's link.
struct Added {
    rows: i64,
    by_name: i64,
    moments: Option<(i64, i64)>,
}

/// A row as far as these tables care.
pub(super) struct Counted<'a> {
    pub(super) session: SessionKey,
    pub(super) outcome: &'a str,
    pub(super) trace: Option<Trace>,
}

impl Tally {
    /// A new row was linked at `t_ms`; `by_name` when it names the session.
    pub(super) fn add(&mut self, row: &Counted<'_>, t_ms: i64, by_name: bool) {
        self.count(row, 1);
        let Some(trace) = row.trace else { return };
        let added = self.added.entry((trace, row.session)).or_insert(Added {
            rows: 0,
            by_name: 0,
            moments: None,
        });
        added.rows += 1;
        added.by_name += i64::from(by_name);
        if t_ms >= 0 {
            let (first, last) = added.moments.unwrap_or((t_ms, t_ms));
            added.moments = Some((first.min(t_ms), last.max(t_ms)));
        }
    }

    /// A known row was linked.
    pub(super) fn link(&mut self, row: &Counted<'_>) {
        self.count(row, 1);
        self.moved(row);
    }

    /// A known row was unlinked.
    pub(super) fn unlink(&mut self, row: &Counted<'_>) {
        self.count(row, -1);
        self.moved(row);
    }

    /// A linked row got another moment.
    pub(super) fn moved(&mut self, row: &Counted<'_>) {
        self.stale
            .extend(row.trace.map(|trace| (trace, row.session)));
    }

    fn count(&mut self, row: &Counted<'_>, by: i64) {
        let key = (row.session, row.outcome.to_owned());
        *self.outcomes.entry(key).or_default() += by;
    }

    /// Writes the changes. Gives the traces that point to other sessions than before, whose other
    /// rows may follow.
    pub(super) fn write(self, db: &Connection) -> Result<BTreeSet<Trace>, CatalogError> {
        for ((session, outcome), by) in self.outcomes {
            db.prepare_cached(
                "insert into outcome (session, outcome, rows) values (?1, ?2, ?3) \
                 on conflict do update set rows = rows + excluded.rows",
            )?
            .execute(params![session, outcome, by])?;
            db.prepare_cached(
                "delete from outcome where session = ? and outcome = ? and rows = 0",
            )?
            .execute(params![session, outcome])?;
        }
        let mut changed = BTreeSet::new();
        let pairs: BTreeSet<_> = self.added.keys().chain(&self.stale).copied().collect();
        for (trace, session) in pairs {
            let added = self.added.get(&(trace, session));
            let added = added.filter(|_| !self.stale.contains(&(trace, session)));
            // Most rows are new and name no session: they change nothing that others see.
            let silent = added.is_some_and(|added| added.by_name == 0);
            let was_told = !silent && is_told(db, &trace, session)?;
            match added {
                Some(added) => add(db, &trace, session, added)?,
                None => recount(db, &trace, session)?,
            }
            if !silent && was_told != is_told(db, &trace, session)? {
                changed.insert(trace);
            }
        }
        Ok(changed)
    }
}

/// Whether the trace points to the session by the session's head or a row that names it.
fn is_told(db: &Connection, trace: &Trace, session: SessionKey) -> Result<bool, CatalogError> {
    let told = db
        .prepare_cached(
            "select by_head = 1 or by_name > 0 from trace_link where trace = ? and session = ?",
        )?
        .query_row(params![trace, session], |row| row.get(0))
        .optional()?;
    Ok(told.unwrap_or(false))
}

fn add(
    db: &Connection,
    trace: &Trace,
    session: SessionKey,
    added: &Added,
) -> Result<(), CatalogError> {
    let (first, last) = added.moments.unzip();
    db.prepare_cached(
        "insert into trace_link (trace, session, by_head, by_name, rows, first_ms, last_ms) \
         values (?1, ?2, 0, ?3, ?4, ?5, ?6) on conflict do update set \
         by_name = by_name + excluded.by_name, rows = rows + excluded.rows, \
         first_ms = min(ifnull(first_ms, excluded.first_ms), \
                        ifnull(excluded.first_ms, first_ms)), \
         last_ms = max(ifnull(last_ms, excluded.last_ms), ifnull(excluded.last_ms, last_ms))",
    )?
    .execute(params![
        trace,
        session,
        added.by_name,
        added.rows,
        first,
        last
    ])?;
    Ok(())
}

/// Counts the link's rows from the rows themselves.
fn recount(db: &Connection, trace: &Trace, session: SessionKey) -> Result<(), CatalogError> {
    db.prepare_cached(
        "insert into trace_link (trace, session, by_head, by_name, rows, first_ms, last_ms) \
         select ?1, ?2, 0, count(named), count(*), min(t_ms) filter (where t_ms >= 0), \
         max(t_ms) filter (where t_ms >= 0) from event where trace = ?1 and session = ?2 \
         on conflict do update set by_name = excluded.by_name, rows = excluded.rows, \
         first_ms = excluded.first_ms, last_ms = excluded.last_ms",
    )?
    .execute(params![trace, session])?;
    db.prepare_cached(
        "delete from trace_link where trace = ? and session = ? and by_head = 0 and rows = 0",
    )?
    .execute(params![trace, session])?;
    Ok(())
}
