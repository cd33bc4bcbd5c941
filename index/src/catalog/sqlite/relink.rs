//! Which session and moment each row has, now and after sessions change.
//!
//! The choice itself is [`link::choose`]; here are its inputs, and which rows a change can touch.

use std::collections::{BTreeSet, HashMap};

use capture::{Anchor, ClockMap, MediaTime, SessionId, WallTime, session::SessionHead};
use rusqlite::{Connection, OptionalExtension as _, ToSql, params};

use super::{
    events::{COLUMNS, Raw},
    tally::{Counted, SessionKey, Tally, Trace},
    value::{damaged, id_bytes, id_of, int_ms, media, wall},
    write::{OPEN, find_session},
};
use crate::{
    catalog::{CatalogError, MAX_WRITE_ROWS, Place},
    link::{self, Candidate, Tie},
    row::EventRow,
    timeline::start_anchor,
};

/// Where `row` would go as things stand, and whether it is known.
pub(super) fn place(db: &Connection, row: &EventRow) -> Result<Place, CatalogError> {
    let known = db
        .prepare_cached("select 1 from event where id = ?")?
        .exists([&row.id])?;
    let session = match session_of(db, row)? {
        None => None,
        Some(key) => {
            let (id, start): (Vec<u8>, i64) = db
                .prepare_cached("select id, start_utc from session where key = ?")?
                .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Some((id_of(&id)?, wall(start)))
        }
    };
    Ok(Place { known, session })
}

/// The session `row` belongs to as things stand.
pub(super) fn session_of(
    db: &Connection,
    row: &EventRow,
) -> Result<Option<SessionKey>, CatalogError> {
    match row.session {
        Some(named) => find_session(db, named),
        None => Ok(link::choose(row, &candidates(db, row)?)),
    }
}

/// Every session that going on at the row's time and tied to it.
fn candidates(db: &Connection, row: &EventRow) -> Result<Vec<Candidate<SessionKey>>, CatalogError> {
    const FIELDS: &str = "select s.key, s.start_utc, s.until_utc, s.run, s.actor from session s";
    let utc = row.time.unix_ms();
    let mut found = Vec::new();
    let mut tied = |tie: Tie, by: &dyn ToSql, rule: &str| {
        let sql = format!("{FIELDS} {rule} and s.until_utc > ?2 and s.start_utc <= ?2");
        let mut statement = db.prepare_cached(&sql)?;
        let candidates = statement.query_map(params![by, utc], |row| {
            let until: i64 = row.get(2)?;
            Ok(Candidate {
                session: row.get(0)?,
                tie,
                start: wall(row.get(1)?),
                until: (until != OPEN).then(|| wall(until)),
                run: row.get(3)?,
                actor: row.get(4)?,
            })
        })?;
        for candidate in candidates {
            found.push(candidate?);
        }
        Ok::<_, CatalogError>(())
    };
    if let Some(trace) = row.trace_id {
        let rule = "join trace_link l on l.session = s.key where l.trace = ?1 \
                    and (l.by_head = 1 or l.by_name > 0)";
        tied(Tie::Trace, trace.as_bytes(), rule)?;
    }
    if let Some(run) = &row.run {
        tied(Tie::Run, run, "where s.run = ?1")?;
    }
    if let Some(actor) = &row.actor {
        tied(Tie::Actor, actor, "where s.actor = ?1")?;
    }
    Ok(found)
}

/// The clocks of the sessions that one transaction meets.
#[derive(Default)]
pub(super) struct Clocks(HashMap<SessionKey, ClockMap>);

impl Clocks {
    /// The moment of `utc` in the session, the earlier one where the clock repeats; −1 before
    /// its start.
    pub(super) fn t_ms(
        &mut self,
        db: &Connection,
        session: SessionKey,
        utc: WallTime,
    ) -> Result<i64, CatalogError> {
        let clock = match self.0.entry(session) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => new.insert(clock(db, session)?),
        };
        clock
            .moments_at(utc)
            .first()
            .copied()
            .map_or(Ok(-1), int_ms)
    }
}

/// The session's two clocks, from all anchors known so far.
fn clock(db: &Connection, session: SessionKey) -> Result<ClockMap, CatalogError> {
    let mut statement = db.prepare_cached(
        "select t_ms, utc, error_ms, step from anchor where session = ? order by t_ms",
    )?;
    let mut rows = statement.query([session])?;
    let mut anchors = Vec::new();
    while let Some(row) = rows.next()? {
        anchors.push(Anchor {
            t: media(row.get(0)?)?,
            utc: wall(row.get(1)?),
            error_ms: row.get(2)?,
            step: row.get(3)?,
        });
    }
    if anchors.is_empty() {
        let start = db
            .prepare_cached("select start_utc from session where key = ?")?
            .query_row([session], |row| row.get(0))?;
        anchors.push(start_anchor(wall(start)));
    }
    ClockMap::new(anchors).map_err(|_| damaged("list of clock anchors"))
}

/// Links what waited for a new session. What was another session's by run or actor may now be
/// ambiguous.
pub(super) fn session_appeared(
    db: &Connection,
    session: SessionKey,
    head: &SessionHead,
) -> Result<(), CatalogError> {
    let mut rows = Touched::default();
    rows.find(db, "named = ? and session is null", &[&id_bytes(head.id)])?;
    rows.tied(db, session, head.start.unix_ms())?;
    rows.settle(db)
}

/// Looks again at rows from `from_utc` on that the session's end lets go, or lets be another's.
pub(super) fn session_ended(
    db: &Connection,
    session: SessionKey,
    from_utc: i64,
) -> Result<(), CatalogError> {
    let mut rows = Touched::default();
    rows.tied(db, session, from_utc)?;
    rows.settle(db)
}

/// Corrects the moments of rows after anchors from `first` on became known: those at or after
/// the anchor before it, and those that seemed to lie before the start.
pub(super) fn clock_changed(
    db: &Connection,
    session: SessionKey,
    first: MediaTime,
) -> Result<(), CatalogError> {
    let before: Option<i64> = db
        .prepare_cached("select max(t_ms) from anchor where session = ? and t_ms < ?")?
        .query_row(params![session, int_ms(first)?], |row| row.get(0))?;
    let mut rows = Touched::default();
    rows.find(
        db,
        "session = ? and t_ms >= ?",
        &[&session, &before.unwrap_or(-1)],
    )?;
    if before.is_some() {
        rows.find(db, "session = ? and t_ms = -1", &[&session])?;
    }
    rows.settle(db)
}

/// Looks again at the rows of traces that point to other sessions than before.
pub(super) fn traces_changed(db: &Connection, traces: BTreeSet<Trace>) -> Result<(), CatalogError> {
    let mut rows = Touched::default();
    for trace in traces {
        rows.find(db, "trace = ? and named is null", &[&trace])?;
    }
    rows.settle(db)
}

/// Whether rows wait to be looked at again.
pub(super) fn is_pending(db: &Connection) -> Result<bool, CatalogError> {
    Ok(db.prepare_cached("select 1 from relink")?.exists([])?)
}

/// Looks again at as many waiting rows as one transaction takes. Gives whether more wait.
pub(super) fn go_on(db: &Connection) -> Result<bool, CatalogError> {
    let first = format!("select event from relink order by event limit {MAX_WRITE_ROWS}");
    let mut rows = Touched::default();
    let mut statement = db.prepare_cached(&first)?;
    for key in statement.query_map([], |row| row.get(0))? {
        rows.0.insert(key?);
    }
    if let Some(last) = rows.0.last() {
        db.prepare_cached("delete from relink where event <= ?")?
            .execute([last])?;
    }
    rows.settle(db)?;
    is_pending(db)
}

/// Keys of rows to look at again.
#[derive(Default)]
struct Touched(BTreeSet<i64>);

impl Touched {
    fn find(
        &mut self,
        db: &Connection,
        rule: &str,
        values: &[&dyn ToSql],
    ) -> Result<(), CatalogError> {
        let sql = format!("select key from event where {rule}");
        let mut statement = db.prepare_cached(&sql)?;
        for key in statement.query_map(values, |row| row.get(0))? {
            self.0.insert(key?);
        }
        Ok(())
    }

    /// Rows from `from_utc` on that name no session and share trace, run or actor with this one.
    fn tied(
        &mut self,
        db: &Connection,
        session: SessionKey,
        from_utc: i64,
    ) -> Result<(), CatalogError> {
        let told = "trace in (select trace from trace_link where session = ?1 \
                    and (by_head = 1 or by_name > 0))";
        let run = "run = (select run from session where key = ?1)";
        let actor = "actor = (select actor from session where key = ?1)";
        for tie in [told, run, actor] {
            let rule = format!("named is null and utc >= ?2 and {tie}");
            self.find(db, &rule, &[&session, &from_utc])?;
        }
        Ok(())
    }

    /// Gives each row the session and moment it has as things stand. What is more than one
    /// transaction takes waits in the table `relink`, and whoever writes next goes on with it, so
    /// that no writer keeps the others out for long.
    fn settle(mut self, db: &Connection) -> Result<(), CatalogError> {
        if let Some(&rest) = self.0.iter().nth(MAX_WRITE_ROWS) {
            let mut wait =
                db.prepare_cached("insert into relink (event) values (?) on conflict do nothing")?;
            for key in self.0.split_off(&rest) {
                wait.execute([key])?;
            }
        }
        let (mut clocks, mut tally) = (Clocks::default(), Tally::default());
        for key in self.0 {
            settle_row(db, key, &mut clocks, &mut tally)?;
        }
        let changed = tally.write(db)?;
        if changed.is_empty() {
            return Ok(());
        }
        // Only rows that name a session tell of it, and these are linked by now: so this ends.
        traces_changed(db, changed)
    }
}

fn settle_row(
    db: &Connection,
    key: i64,
    clocks: &mut Clocks,
    tally: &mut Tally,
) -> Result<(), CatalogError> {
    let sql = format!("select {COLUMNS} from event e where e.key = ?");
    let raw = db
        .prepare_cached(&sql)?
        .query_row([key], Raw::read)
        .optional()?;
    let Some(raw) = raw else { return Ok(()) };
    let (was, was_t) = (raw.session, raw.t_ms);
    let row = raw.into_row()?;
    let session = session_of(db, &row)?;
    let t_ms = session
        .map(|session| clocks.t_ms(db, session, row.time))
        .transpose()?;
    if (was, was_t) == (session, t_ms) {
        return Ok(());
    }
    db.prepare_cached("update event set session = ?, t_ms = ? where key = ?")?
        .execute(params![session, t_ms, key])?;
    let counted = |session| Counted {
        session,
        outcome: row.outcome.as_str(),
        trace: row.trace_id.map(|trace| *trace.as_bytes()),
    };
    if was == session {
        session
            .iter()
            .for_each(|&session| tally.moved(&counted(session)));
    } else {
        was.iter().for_each(|&was| tally.unlink(&counted(was)));
        session
            .iter()
            .for_each(|&session| tally.link(&counted(session)));
    }
    Ok(())
}

/// The session with this key.
pub(super) fn id_of_key(db: &Connection, key: SessionKey) -> Result<SessionId, CatalogError> {
    let id: Vec<u8> = db
        .prepare_cached("select id from session where key = ?")?
        .query_row([key], |row| row.get(0))?;
    id_of(&id)
}
