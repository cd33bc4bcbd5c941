//! Reading a session's objects and its timeline.

use std::collections::BTreeMap;

use capture::{Anchor, Gap, Rect, SessionId, WallTime};
use rusqlite::{Connection, params};
use segment::{
    key::SessionKeys,
    manifest::{Fragment, Mask, Repeat, Thumbs},
};

use super::{
    sessions,
    tally::SessionKey,
    value::{from_json, gap_reason, int, media, small, stored, uint, unpack_samples, wall},
    write::find_session,
};
use crate::{
    Timeline,
    catalog::{CatalogError, MediaRow, ObjectRow, State, Stored},
    timeline::ObjectSpans,
};

/// The session's objects in order, or only the one with number `seq`.
pub(super) fn objects(
    db: &Connection,
    session: SessionId,
    seq: Option<u64>,
) -> Result<Vec<ObjectRow>, CatalogError> {
    let Some(key) = find_session(db, session)? else {
        return Ok(Vec::new());
    };
    let start: i64 = db
        .prepare_cached("select start_utc from session where key = ?")?
        .query_row([key], |row| row.get(0))?;
    let keys = SessionKeys::new(session, wall(start));
    let (first, last) = match seq {
        Some(seq) => (int(seq)?, int(seq)?),
        None => (0, i64::MAX),
    };
    let mut fragments = fragments(db, key, first, last)?;
    let mut statement = db.prepare_cached(
        "select seq, run, from_ms, to_ms, sha256, bytes, init, events, thumbs from object \
         where session = ? and seq between ? and ? order by seq",
    )?;
    let mut rows = statement.query(params![key, first, last])?;
    let mut objects = Vec::new();
    while let Some(row) = rows.next()? {
        let seq = uint(row.get(0)?)?;
        let sha256: Vec<u8> = row.get(4)?;
        let (init, events): (Option<String>, Option<String>) = (row.get(6)?, row.get(7)?);
        let media_row = match init.zip(events) {
            None => None,
            Some((init, events)) => Some(MediaRow {
                init: from_json(&init, "segment parameters")?,
                events: from_json(&events, "events box")?,
                fragments: fragments.remove(&seq).unwrap_or_default(),
            }),
        };
        let thumbs: Option<String> = row.get(8)?;
        let thumb = match thumbs {
            None => None,
            Some(thumbs) => {
                let thumbs: Thumbs = from_json(&thumbs, "sprite sheet")?;
                let stored = Stored {
                    sha256: thumbs.sha256,
                    bytes: thumbs.bytes,
                };
                Some((keys.thumb(seq), stored))
            }
        };
        objects.push(ObjectRow {
            session,
            seq,
            run: row.get(1)?,
            key: match media_row {
                Some(_) => keys.segment(seq),
                None => keys.idle(seq),
            },
            stored: stored(&sha256, row.get(5)?)?,
            from: media(row.get(2)?)?,
            to: media(row.get(3)?)?,
            media: media_row,
            thumb,
        });
    }
    Ok(objects)
}

fn fragments(
    db: &Connection,
    session: SessionKey,
    first: i64,
    last: i64,
) -> Result<BTreeMap<u64, Vec<Fragment>>, CatalogError> {
    let mut statement = db.prepare_cached(
        "select seq, t_ms, dur_ms, offset, bytes, changed, samples from fragment \
         where session = ? and seq between ? and ? order by seq, n",
    )?;
    let mut rows = statement.query(params![session, first, last])?;
    let mut fragments: BTreeMap<u64, Vec<Fragment>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let samples: Vec<u8> = row.get(6)?;
        fragments
            .entry(uint(row.get(0)?)?)
            .or_default()
            .push(Fragment {
                t: media(row.get(1)?)?,
                dur: uint(row.get(2)?)?,
                offset: uint(row.get(3)?)?,
                len: uint(row.get(4)?)?,
                changed: small(row.get(5)?)?,
                samples: unpack_samples(&samples)?,
            });
    }
    Ok(fragments)
}

pub(super) fn timeline(
    db: &Connection,
    session: SessionId,
    now: WallTime,
) -> Result<Option<Timeline>, CatalogError> {
    let Some(summary) = sessions::summary(db, session, now)? else {
        return Ok(None);
    };
    let Some(key) = find_session(db, session)? else {
        return Ok(None);
    };
    let end = summary
        .end_reason
        .is_some()
        .then(|| capture::MediaTime::from_ms(summary.duration_ms));
    let live = summary.state == State::Live;
    let timeline = Timeline::new(summary.start, end, live, spans(db, key)?);
    let timeline = timeline.map_err(|source| CatalogError::Timeline { session, source })?;
    Ok(Some(timeline))
}

/// Everything the timeline needs, in `seq` order.
fn spans(db: &Connection, session: SessionKey) -> Result<Vec<ObjectSpans>, CatalogError> {
    let mut spans: BTreeMap<u64, ObjectSpans> = BTreeMap::new();
    let mut fragments = fragments(db, session, 0, i64::MAX)?;
    each(
        db,
        "select seq, to_ms, init, thumbs, activity from object where session = ? order by seq",
        session,
        |row| {
            let seq = uint(row.get(0)?)?;
            let (init, thumbs): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
            let activity: String = row.get(4)?;
            let object = ObjectSpans {
                seq,
                to: media(row.get(1)?)?,
                init: init
                    .map(|init| from_json(&init, "segment parameters"))
                    .transpose()?,
                thumbs: thumbs
                    .map(|thumbs| from_json(&thumbs, "sprite sheet"))
                    .transpose()?,
                activity: from_json(&activity, "activity")?,
                fragments: fragments.remove(&seq).unwrap_or_default(),
                ..ObjectSpans::default()
            };
            spans.insert(seq, object);
            Ok(())
        },
    )?;
    each(
        db,
        "select seq, from_ms, to_ms, of_seq, of_fragment from repeat where session = ? \
         order by seq, from_ms",
        session,
        |row| {
            object(&mut spans, row.get(0)?)?.repeats.push(Repeat {
                seq: uint(row.get(3)?)?,
                fragment: small(row.get(4)?)?,
                from: media(row.get(1)?)?,
                to: media(row.get(2)?)?,
            });
            Ok(())
        },
    )?;
    each(
        db,
        "select seq, from_ms, to_ms, reason from gap where session = ? order by seq, from_ms",
        session,
        |row| {
            let reason: String = row.get(3)?;
            object(&mut spans, row.get(0)?)?.gaps.push(Gap {
                from: media(row.get(1)?)?,
                to: media(row.get(2)?)?,
                reason: gap_reason(&reason)?,
            });
            Ok(())
        },
    )?;
    each(
        db,
        "select seq, t_ms, utc, error_ms, step from anchor where session = ? order by t_ms",
        session,
        |row| {
            object(&mut spans, row.get(0)?)?.anchors.push(Anchor {
                t: media(row.get(1)?)?,
                utc: wall(row.get(2)?),
                error_ms: row.get(3)?,
                step: row.get(4)?,
            });
            Ok(())
        },
    )?;
    each(
        db,
        "select seq, from_ms, to_ms, x_px, y_px, w_px, h_px, rule, kind from mask \
         where session = ? order by seq, n",
        session,
        |row| {
            object(&mut spans, row.get(0)?)?.masks.push(Mask {
                rect: Rect::new(row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?),
                from: media(row.get(1)?)?,
                to: media(row.get(2)?)?,
                rule: row.get(7)?,
                kind: row.get(8)?,
            });
            Ok(())
        },
    )?;
    Ok(spans.into_values().collect())
}

fn object(
    spans: &mut BTreeMap<u64, ObjectSpans>,
    seq: i64,
) -> Result<&mut ObjectSpans, CatalogError> {
    Ok(spans.entry(uint(seq)?).or_default())
}

/// Calls `take` with each row of a session.
fn each(
    db: &Connection,
    sql: &str,
    session: SessionKey,
    mut take: impl FnMut(&rusqlite::Row<'_>) -> Result<(), CatalogError>,
) -> Result<(), CatalogError> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}
