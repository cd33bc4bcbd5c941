//! Writing sessions, their objects and their ends.

use capture::{SessionId, WallTime, session::SessionHead};
use rusqlite::{Connection, OptionalExtension as _, params};
use segment::{
    Manifest,
    end::EndBody,
    key::{ObjectKind, parse},
    manifest::{Fragment, Span},
};

use super::{
    relink,
    tally::SessionKey,
    value::{id_bytes, int, int_ms, pack_samples, stored, to_json},
};
use crate::catalog::{CatalogError, CommittedObject, ObjectBody, Stored};

/// `until_utc` of a session that goes on.
pub(super) const OPEN: i64 = i64::MAX;

/// Writes what is there already.
pub(super) fn probe(db: &Connection) -> Result<(), CatalogError> {
    db.execute("update store set id = id", [])?;
    Ok(())
}

pub(super) fn set_store_ids(db: &Connection, ids: &[String]) -> Result<(), CatalogError> {
    let bound = super::sessions::store_ids(db)?;
    if bound.iter().any(|bound| !ids.contains(bound)) {
        return Err(conflict("store's id"));
    }
    for id in ids {
        db.execute("insert or ignore into store (id) values (?)", [id])?;
    }
    Ok(())
}

pub(super) fn set_store_of(
    db: &Connection,
    sessions: &[SessionId],
    id: &str,
) -> Result<(), CatalogError> {
    let sql = "update session set store = ?2 where id = ?1 and store is not ?2";
    let mut update = db.prepare_cached(sql)?;
    for session in sessions {
        update.execute(params![id_bytes(*session), id])?;
    }
    Ok(())
}

pub(super) fn put_head(
    db: &Connection,
    head: &SessionHead,
    stored: Stored,
) -> Result<(), CatalogError> {
    let context = &head.context;
    let inserted = db.execute(
        "insert into session (id, head, head_sha256, head_bytes, start_utc, run, actor, os, \
         protocol, words, bytes) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?4) \
         on conflict (id) do nothing",
        params![
            id_bytes(head.id),
            to_json(head)?,
            stored.sha256.as_bytes(),
            int(stored.bytes)?,
            head.start.unix_ms(),
            context.run,
            context.actor,
            context.os.map(capture::session::Os::as_str),
            head.protocol.as_str(),
            search_words(head),
        ],
    )?;
    let session = session_key(db, head.id)?;
    if inserted == 0 {
        return same_or_conflict(db, session, "head", Some(stored), head.id);
    }
    for (name, value) in &context.labels {
        db.prepare_cached("insert into label (session, name, value) values (?, ?, ?)")?
            .execute(params![session, name, value])?;
    }
    if let Some(parent) = context.traceparent {
        db.execute(
            "insert into trace_link (trace, session, by_head, by_name, rows) \
             values (?, ?, 1, 0, 0)",
            params![parent.trace_id.as_bytes(), session],
        )?;
    }
    relink::session_appeared(db, session, head)
}

pub(super) fn put_object(db: &Connection, object: &CommittedObject) -> Result<(), CatalogError> {
    let span = object.body.span();
    let session = session_key(db, span.session)?;
    let (entry, seq) = (&object.entry, int(span.seq)?);
    let manifest = match &object.body {
        ObjectBody::Segment(manifest) => Some(manifest.as_ref()),
        ObjectBody::Idle(_) => None,
    };
    let json = |part: Option<Result<String, CatalogError>>| part.transpose();
    let inserted = db
        .prepare_cached(
            "insert into object (session, seq, run, from_ms, to_ms, sha256, bytes, init, events, \
             activity, thumbs) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
             on conflict (session, seq) do nothing",
        )?
        .execute(params![
            session,
            seq,
            span.run,
            int_ms(span.from)?,
            int_ms(span.to)?,
            entry.sha256.as_bytes(),
            int(entry.bytes)?,
            json(manifest.map(|manifest| to_json(&manifest.init)))?,
            json(manifest.map(|manifest| to_json(&manifest.events)))?,
            to_json(&span.activity)?,
            json(manifest.and_then(|m| m.thumbs.as_ref()).map(to_json))?,
        ])?;
    if inserted == 0 {
        let sha256: Vec<u8> = db.query_row(
            "select sha256 from object where session = ? and seq = ?",
            params![session, seq],
            |row| row.get(0),
        )?;
        return if sha256 == entry.sha256.as_bytes() {
            Ok(())
        } else {
            Err(conflict(&format!(
                "object {} of session {}",
                span.seq, span.session
            )))
        };
    }
    if let Some(manifest) = manifest {
        put_fragments(db, session, seq, manifest)?;
    }
    put_span(db, session, seq, span)?;
    db.prepare_cached("update session set to_ms = max(to_ms, ?) where key = ?")?
        .execute(params![int_ms(span.to)?, session])?;
    let thumb_bytes = object.thumb.as_ref().map_or(0, |thumb| thumb.bytes);
    add_bytes(db, session, entry.bytes.saturating_add(thumb_bytes))?;
    if let Some(first) = span.anchors.iter().map(|anchor| anchor.t).min() {
        relink::clock_changed(db, session, first)?;
    }
    Ok(())
}

fn put_fragments(
    db: &Connection,
    session: SessionKey,
    seq: i64,
    manifest: &Manifest,
) -> Result<(), CatalogError> {
    let mut insert = db.prepare_cached(
        "insert into fragment (session, seq, n, t_ms, dur_ms, offset, bytes, changed, samples) \
         values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for (n, fragment) in (0i64..).zip(&manifest.fragments) {
        let Fragment {
            t,
            dur,
            offset,
            len,
            changed,
            samples,
        } = fragment;
        insert.execute(params![
            session,
            seq,
            n,
            int_ms(*t)?,
            int(*dur)?,
            int(*offset)?,
            int(*len)?,
            changed,
            pack_samples(samples),
        ])?;
    }
    Ok(())
}

/// What stands beside the picture.
fn put_span(
    db: &Connection,
    session: SessionKey,
    seq: i64,
    span: &Span,
) -> Result<(), CatalogError> {
    for repeat in &span.repeats {
        db.prepare_cached(
            "insert into repeat (session, seq, from_ms, to_ms, of_seq, of_fragment) \
             values (?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            session,
            seq,
            int_ms(repeat.from)?,
            int_ms(repeat.to)?,
            int(repeat.seq)?,
            repeat.fragment,
        ])?;
    }
    for gap in &span.gaps {
        db.prepare_cached(
            "insert into gap (session, seq, from_ms, to_ms, reason) values (?, ?, ?, ?, ?)",
        )?
        .execute(params![
            session,
            seq,
            int_ms(gap.from)?,
            int_ms(gap.to)?,
            gap.reason.as_str(),
        ])?;
    }
    for anchor in &span.anchors {
        db.prepare_cached(
            "insert or ignore into anchor (session, t_ms, seq, utc, error_ms, step) \
             values (?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            session,
            int_ms(anchor.t)?,
            seq,
            anchor.utc.unix_ms(),
            anchor.error_ms,
            anchor.step,
        ])?;
    }
    for (n, mask) in (0i64..).zip(&span.masks) {
        db.prepare_cached(
            "insert into mask (session, seq, n, from_ms, to_ms, x_px, y_px, w_px, h_px, rule, \
             kind) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            session,
            seq,
            n,
            int_ms(mask.from)?,
            int_ms(mask.to)?,
            mask.rect.x,
            mask.rect.y,
            mask.rect.w,
            mask.rect.h,
            mask.rule,
            mask.kind,
        ])?;
    }
    Ok(())
}

pub(super) fn put_end(db: &Connection, end: &EndBody, stored: Stored) -> Result<(), CatalogError> {
    let session = session_key(db, end.session)?;
    let recorded = end.objects.iter().filter(|entry| {
        let kind = parse(&entry.key).map(|(_, kind)| kind);
        matches!(
            kind,
            Some(ObjectKind::Segment { .. } | ObjectKind::Idle { .. })
        )
    });
    let was_until = until(db, session)?;
    let updated = db.execute(
        "update session set end_utc = ?2, until_utc = ?2, end_ms = ?3, end_reason = ?4, \
         end_recovered = ?5, end_objects = ?6, end_sha256 = ?7, end_bytes = ?8 \
         where key = ?1 and end_sha256 is null",
        params![
            session,
            end.end.unix_ms(),
            int_ms(end.duration)?,
            end.reason.as_str(),
            end.recovered,
            int(recorded.count() as u64)?,
            stored.sha256.as_bytes(),
            int(stored.bytes)?,
        ],
    )?;
    if updated == 0 {
        return same_or_conflict(db, session, "end", Some(stored), end.session);
    }
    add_bytes(db, session, stored.bytes)?;
    relink::session_ended(db, session, was_until.min(end.end.unix_ms()))
}

pub(super) fn put_interrupted(
    db: &Connection,
    session: SessionId,
    n: u64,
    at: WallTime,
) -> Result<(), CatalogError> {
    let session = session_key(db, session)?;
    let was_until = until(db, session)?;
    let updated = db.execute(
        "update session set interrupted = ?2, interrupted_utc = ?3, noted_seen_utc = seen_utc, \
         until_utc = coalesce(end_utc, ?3) where key = ?1 and ifnull(interrupted, 0) < ?2",
        params![session, int(n)?, at.unix_ms()],
    )?;
    if updated == 0 {
        return Ok(()); // a later note is known
    }
    relink::session_ended(db, session, was_until.min(until(db, session)?))
}

pub(super) fn renew(
    db: &Connection,
    session: SessionId,
    seen_at: WallTime,
) -> Result<(), CatalogError> {
    let updated = db
        .prepare_cached("update session set seen_utc = ? where id = ?")?
        .execute(params![seen_at.unix_ms(), id_bytes(session)])?;
    if updated == 0 {
        return Err(CatalogError::UnknownSession { session });
    }
    Ok(())
}

/// The session's key.
pub(super) fn session_key(db: &Connection, session: SessionId) -> Result<SessionKey, CatalogError> {
    find_session(db, session)?.ok_or(CatalogError::UnknownSession { session })
}

/// The session's key, if it is known.
pub(super) fn find_session(
    db: &Connection,
    session: SessionId,
) -> Result<Option<SessionKey>, CatalogError> {
    Ok(db
        .prepare_cached("select key from session where id = ?")?
        .query_row([id_bytes(session)], |row| row.get(0))
        .optional()?)
}

fn until(db: &Connection, session: SessionKey) -> Result<i64, CatalogError> {
    Ok(db.query_row(
        "select until_utc from session where key = ?",
        [session],
        |row| row.get(0),
    )?)
}

fn add_bytes(db: &Connection, session: SessionKey, bytes: u64) -> Result<(), CatalogError> {
    db.prepare_cached("update session set bytes = bytes + ? where key = ?")?
        .execute(params![int(bytes)?, session])?;
    Ok(())
}

/// Whether the session's `head` or `end` is the one that is known already.
fn same_or_conflict(
    db: &Connection,
    session: SessionKey,
    which: &str,
    expected: Option<Stored>,
    id: SessionId,
) -> Result<(), CatalogError> {
    let sql = format!("select {which}_sha256, {which}_bytes from session where key = ?");
    let (sha256, bytes): (Vec<u8>, i64) =
        db.query_row(&sql, [session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if Some(stored(&sha256, bytes)?) == expected {
        Ok(())
    } else {
        Err(conflict(&format!("{which} of session {id}")))
    }
}

fn conflict(what: &str) -> CatalogError {
    CatalogError::Conflict {
        what: what.to_owned(),
    }
}

/// What a search for a session looks at.
fn search_words(head: &SessionHead) -> String {
    let context = &head.context;
    let id = head.id.to_string();
    let told = [
        &context.title,
        &context.request,
        &context.run,
        &context.actor,
        &context.on_behalf_of,
    ];
    let mut words: Vec<&str> = vec![&id, &head.source, &head.server_name];
    words.extend(told.into_iter().flatten().map(String::as_str));
    words.extend(
        context
            .labels
            .iter()
            .flat_map(|(name, value)| [name.as_str(), value]),
    );
    words.join("\n").to_lowercase()
}
