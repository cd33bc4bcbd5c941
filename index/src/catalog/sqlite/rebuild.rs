//! A catalogue that is made again beside the one in use, and takes its place in one step.

use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
    params,
};

use super::connection::File;
use crate::catalog::CatalogError;

/// A rebuild that is cut short begins anew, so nothing of it need be durable until it is whole;
/// and its log may grow, since nobody else reads it.
pub(super) fn prepare(db: &mut Connection) -> Result<(), CatalogError> {
    Ok(db.execute_batch(
        "pragma synchronous = off; pragma wal_autocheckpoint = 65536; \
         pragma cache_size = -131072;",
    )?)
}

/// Copies `made` over the catalogue in `file` in one transaction: processes that have it open see
/// the old one before and the new one after, and a crash leaves one of the two. A file that is
/// damaged is put aside.
pub(super) fn take_place(made: &mut Connection, file: &File) -> Result<(), CatalogError> {
    if !made.is_autocommit() {
        made.execute_batch("commit")?;
    }
    made.execute_batch("pragma optimize")?;
    let mut opened = match file.open_for_writing() {
        Err(CatalogError::Corrupt(_)) => {
            file.put_aside()?;
            file.open_for_writing()?
        }
        opened => opened?,
    };
    let db = opened.connection();
    let leases = leases(db)?;
    // A negative number of pages means all of them.
    if Backup::new(made, db)?.step(-1)? != StepResult::Done {
        return Err(CatalogError::Busy("held by another process".into()));
    }
    let renew = db.transaction()?;
    for (id, seen_utc) in leases {
        renew.execute(
            "update session set seen_utc = ? where id = ?",
            params![seen_utc, id],
        )?;
    }
    Ok(renew.commit()?)
}

/// What the store does not know: when each agent was last heard of.
fn leases(db: &Connection) -> Result<Vec<(Vec<u8>, i64)>, CatalogError> {
    let sql = "select id, seen_utc from session where end_utc is null and seen_utc is not null \
               and (interrupted is null or seen_utc > ifnull(noted_seen_utc, 0))";
    let mut statement = db.prepare(sql)?;
    let leases = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(leases.collect::<Result<_, _>>()?)
}
