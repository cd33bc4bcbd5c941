//! Taking event rows in.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    relink::{self, Clocks},
    tally::{Counted, Tally},
    value::{id_bytes, int, to_json},
};
use crate::{
    catalog::{CatalogError, LogObject, Put},
    row::EventRow,
};

/// Notes `log` and its rows, of which there are at most `MAX_WRITE_ROWS`.
pub(super) fn put(
    db: &Connection,
    log: &LogObject,
    rows: &[EventRow],
) -> Result<Put, CatalogError> {
    let log_key = put_log(db, log)?;
    let (mut clocks, mut tally) = (Clocks::default(), Tally::default());
    let mut put = Put::default();
    for row in rows {
        match known(db, row)? {
            None => put.accepted += 1,
            Some(found) => {
                put.duplicate += 1;
                if !comes_first(&log.key, &found.log) {
                    continue;
                }
                remove(db, row, &found, &mut tally)?;
            }
        }
        let session = relink::session_of(db, row)?;
        let t_ms = session
            .map(|session| clocks.t_ms(db, session, row.time))
            .transpose()?;
        insert(db, row, log_key, session, t_ms)?;
        if let Some((session, t_ms)) = session.zip(t_ms) {
            tally.add(&counted(row, session), t_ms, row.session.is_some());
        }
    }
    relink::traces_changed(db, tally.write(db)?)?;
    Ok(put)
}

fn put_log(db: &Connection, log: &LogObject) -> Result<i64, CatalogError> {
    db.execute(
        "insert into log (name, sha256, bytes) values (?, ?, ?) on conflict (name) do nothing",
        params![
            log.key,
            log.stored.sha256.as_bytes(),
            int(log.stored.bytes)?
        ],
    )?;
    let (key, sha256): (i64, Vec<u8>) = db.query_row(
        "select key, sha256 from log where name = ?",
        [&log.key],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if sha256 == log.stored.sha256.as_bytes() {
        Ok(key)
    } else {
        let what = format!("log object {}", log.key);
        Err(CatalogError::Conflict { what })
    }
}

/// A row that is known under the same id.
struct Known {
    key: i64,
    session: Option<i64>,
    outcome: String,
    trace: Option<[u8; 16]>,
    log: String,
}

fn known(db: &Connection, row: &EventRow) -> Result<Option<Known>, CatalogError> {
    Ok(db
        .prepare_cached(
            "select e.key, e.session, e.outcome, e.trace, l.name from event e \
             join log l on l.key = e.log where e.id = ?",
        )?
        .query_row([&row.id], |row| {
            Ok(Known {
                key: row.get(0)?,
                session: row.get(1)?,
                outcome: row.get(2)?,
                trace: row.get(3)?,
                log: row.get(4)?,
            })
        })
        .optional()?)
}

/// Whether the object `a` was named before `b`. Two servers that take the same row at once each
/// store it; the earlier copy counts, in whatever order they are read again.
fn comes_first(a: &str, b: &str) -> bool {
    let uuid = |key: &str| key.rsplit('/').next().map(str::to_owned);
    (uuid(a), a) < (uuid(b), b)
}

fn remove(
    db: &Connection,
    row: &EventRow,
    found: &Known,
    tally: &mut Tally,
) -> Result<(), CatalogError> {
    db.execute("delete from event where key = ?", [found.key])?;
    let Some(session) = found.session else {
        return Ok(());
    };
    tally.unlink(&Counted {
        session,
        outcome: &found.outcome,
        trace: found.trace,
    });
    // Adding to a link that lost a row needs a count of both.
    tally.moved(&counted(row, session));
    Ok(())
}

fn counted(row: &EventRow, session: i64) -> Counted<'_> {
    Counted {
        session,
        outcome: row.outcome.as_str(),
        trace: row.trace_id.map(|trace| *trace.as_bytes()),
    }
}

fn insert(
    db: &Connection,
    row: &EventRow,
    log: i64,
    session: Option<i64>,
    t_ms: Option<i64>,
) -> Result<(), CatalogError> {
    let attributes = (!row.attributes.is_empty()).then(|| to_json(&row.attributes));
    db.prepare_cached(
        "insert into event (id, log, utc, session, t_ms, named, trace, span, run, actor, source, \
         kind, outcome, request, text, on_behalf_of, decided_by, artifact, attributes) \
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        row.id,
        log,
        row.time.unix_ms(),
        session,
        t_ms,
        row.session.map(id_bytes),
        row.trace_id.as_ref().map(|trace| trace.as_bytes()),
        row.span_id.as_ref().map(|span| span.as_bytes()),
        row.run,
        row.actor,
        row.source,
        row.kind.as_str(),
        row.outcome.as_str(),
        row.request,
        row.text,
        row.on_behalf_of,
        row.decided_by,
        row.artifact.as_ref().map(to_json).transpose()?,
        attributes.transpose()?,
    ])?;
    Ok(())
}
