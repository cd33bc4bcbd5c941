//! Reading event rows.

use std::collections::BTreeMap;

use capture::{
    MediaTime, SessionId,
    trace::{SpanId, TraceId},
};
use rusqlite::{Connection, OptionalExtension as _, ToSql, params_from_iter};

use super::{
    relink::id_of_key,
    tally::SessionKey,
    value::{damaged, from_json, id_of, int_ms, media, small, span_of, trace_of, uint, wall},
    write::find_session,
};
use crate::{
    catalog::{CatalogError, Cursor, EventPage, EventQuery, LinkedRow, MAX_PAGE_ROWS, TraceLink},
    row::{EventRow, Kind, Outcome},
};

/// Rows in a page when the caller names no limit.
const PAGE_ROWS: usize = 1000;

/// The columns that [`Raw::read`] takes, of a table named `e`.
pub(super) const COLUMNS: &str = "e.id, e.utc, e.session, e.t_ms, e.named, e.trace, e.span, \
     e.run, e.actor, e.source, e.kind, e.outcome, e.request, e.text, e.on_behalf_of, \
     e.decided_by, e.artifact, e.attributes";

/// A row as the table has it.
pub(super) struct Raw {
    id: String,
    utc: i64,
    pub(super) session: Option<SessionKey>,
    pub(super) t_ms: Option<i64>,
    named: Option<Vec<u8>>,
    trace: Option<Vec<u8>>,
    span: Option<Vec<u8>>,
    run: Option<String>,
    actor: Option<String>,
    source: Option<String>,
    kind: String,
    outcome: String,
    request: Option<String>,
    text: String,
    on_behalf_of: Option<String>,
    decided_by: Option<String>,
    artifact: Option<String>,
    attributes: Option<String>,
}

impl Raw {
    pub(super) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            utc: row.get(1)?,
            session: row.get(2)?,
            t_ms: row.get(3)?,
            named: row.get(4)?,
            trace: row.get(5)?,
            span: row.get(6)?,
            run: row.get(7)?,
            actor: row.get(8)?,
            source: row.get(9)?,
            kind: row.get(10)?,
            outcome: row.get(11)?,
            request: row.get(12)?,
            text: row.get(13)?,
            on_behalf_of: row.get(14)?,
            decided_by: row.get(15)?,
            artifact: row.get(16)?,
            attributes: row.get(17)?,
        })
    }

    pub(super) fn into_row(self) -> Result<EventRow, CatalogError> {
        Ok(EventRow {
            id: self.id,
            time: wall(self.utc),
            session: self.named.as_deref().map(id_of).transpose()?,
            run: self.run,
            trace_id: self.trace.as_deref().map(trace_of).transpose()?,
            span_id: self.span.as_deref().map(span_of).transpose()?,
            source: self.source,
            kind: Kind::from_word(&self.kind).ok_or_else(|| damaged("row kind"))?,
            request: self.request,
            outcome: Outcome::from_word(&self.outcome).ok_or_else(|| damaged("row outcome"))?,
            text: self.text,
            actor: self.actor,
            on_behalf_of: self.on_behalf_of,
            decided_by: self.decided_by,
            artifact: self
                .artifact
                .map(|text| from_json(&text, "artifact"))
                .transpose()?,
            attributes: self
                .attributes
                .map(|text| from_json(&text, "attributes"))
                .transpose()?
                .unwrap_or_default(),
        })
    }
}

fn linked(db: &Connection, raw: Raw) -> Result<LinkedRow, CatalogError> {
    let session = raw.session.map(|key| id_of_key(db, key)).transpose()?;
    let t = raw.t_ms.filter(|&t_ms| t_ms >= 0).map(media).transpose()?;
    let row = raw.into_row()?;
    Ok(LinkedRow { row, session, t })
}

fn list(
    db: &Connection,
    rules: &str,
    values: &[Box<dyn ToSql>],
) -> Result<Vec<LinkedRow>, CatalogError> {
    let sql = format!("select {COLUMNS} from event e where {rules}");
    let mut statement = db.prepare_cached(&sql)?;
    let values = params_from_iter(values.iter());
    let rows = statement.query_map(values, Raw::read)?;
    rows.map(|raw| linked(db, raw?)).collect()
}

pub(super) fn page(
    db: &Connection,
    session: SessionId,
    query: &EventQuery,
) -> Result<EventPage, CatalogError> {
    let empty = EventPage {
        rows: Vec::new(),
        next: None,
    };
    let Some(key) = find_session(db, session)? else {
        return Ok(empty);
    };
    let mut rules = "e.session = ?".to_owned();
    let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(key)];
    let mut rule = |text: &str, value: Box<dyn ToSql>| {
        rules.push_str(" and ");
        rules.push_str(text);
        values.push(value);
    };
    if let Some(from) = query.from.filter(|&from| from > MediaTime::ZERO) {
        rule("e.t_ms >= ?", Box::new(int_ms(from)?));
    }
    if let Some(to) = query.to {
        rule("e.t_ms < ?", Box::new(int_ms(to)?));
    }
    if let Some(q) = &query.q {
        rule(r"e.text like ? escape '\'", Box::new(like(q)));
    }
    if !query.kinds.is_empty() {
        let kinds: Vec<_> = query.kinds.iter().map(|kind| kind.as_str()).collect();
        let kinds = serde_json::json!(kinds).to_string();
        rule(
            "e.kind in (select value from json_each(?))",
            Box::new(kinds),
        );
    }
    if let Some(cursor) = &query.cursor {
        let (t_ms, id) = cursor.0.split_once('.').ok_or(CatalogError::Cursor)?;
        let t_ms: i64 = t_ms.parse().map_err(|_| CatalogError::Cursor)?;
        rule("(e.t_ms, e.id) > (?", Box::new(t_ms));
        rules.push_str(", ?)");
        values.push(Box::new(id.to_owned()));
    }
    let limit = match query.limit {
        0 => PAGE_ROWS,
        limit => limit.min(MAX_PAGE_ROWS),
    };
    // One more than asked tells whether there is a next page.
    rules.push_str(&format!(" order by e.t_ms, e.id limit {}", limit + 1));
    let mut rows = list(db, &rules, &values)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|last| {
        let t_ms = last.t.map_or("-1".to_owned(), |t| t.ms().to_string());
        Cursor(format!("{t_ms}.{}", last.row.id))
    });
    Ok(EventPage { rows, next })
}

/// A pattern that finds `text` anywhere.
pub(super) fn like(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

pub(super) fn density(
    db: &Connection,
    session: SessionId,
    duration: MediaTime,
    n: u32,
) -> Result<BTreeMap<String, Vec<u32>>, CatalogError> {
    let mut lanes: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let (Some(key), duration, true) = (find_session(db, session)?, int_ms(duration)?, n > 0) else {
        return Ok(lanes);
    };
    let mut statement = db.prepare_cached(
        "select outcome, t_ms * ?3 / ?2, count(*) from event \
         where session = ?1 and 0 <= t_ms and t_ms < ?2 group by 1, 2",
    )?;
    let mut rows = statement.query(rusqlite::params![key, duration, n])?;
    while let Some(row) = rows.next()? {
        let (outcome, bucket, count): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let lane = lanes.entry(outcome).or_insert_with(|| vec![0; n as usize]);
        if let Some(slot) = usize::try_from(bucket).ok().and_then(|b| lane.get_mut(b)) {
            *slot = small(count)?;
        }
    }
    Ok(lanes)
}

pub(super) fn event(db: &Connection, id: &str) -> Result<Option<LinkedRow>, CatalogError> {
    let sql = format!("select {COLUMNS} from event e where e.id = ?");
    let raw = db
        .prepare_cached(&sql)?
        .query_row([id], Raw::read)
        .optional()?;
    raw.map(|raw| linked(db, raw)).transpose()
}

pub(super) fn by_trace(
    db: &Connection,
    trace: TraceId,
    span: Option<SpanId>,
) -> Result<Vec<LinkedRow>, CatalogError> {
    let mut rules = "e.trace = ?".to_owned();
    let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(trace.as_bytes().to_vec())];
    if let Some(span) = span {
        rules.push_str(" and e.span = ?");
        values.push(Box::new(span.as_bytes().to_vec()));
    }
    rules.push_str(&format!(" order by e.utc, e.id limit {MAX_PAGE_ROWS}"));
    list(db, &rules, &values)
}

pub(super) fn trace_links(db: &Connection, trace: TraceId) -> Result<Vec<TraceLink>, CatalogError> {
    let mut statement = db.prepare_cached(
        "select s.id, l.by_head = 1 or l.by_name > 0, l.first_ms, l.last_ms, l.rows \
         from trace_link l join session s on s.key = l.session where l.trace = ? \
         order by s.start_utc, s.id",
    )?;
    let mut rows = statement.query([trace.as_bytes()])?;
    let mut links = Vec::new();
    while let Some(row) = rows.next()? {
        let id: Vec<u8> = row.get(0)?;
        let (first, last): (Option<i64>, Option<i64>) = (row.get(2)?, row.get(3)?);
        let moments = first
            .zip(last)
            .map(|(first, last)| Ok::<_, CatalogError>((media(first)?, media(last)?)));
        links.push(TraceLink {
            trace,
            session: id_of(&id)?,
            told: row.get(1)?,
            moments: moments.transpose()?,
            rows: uint(row.get(4)?)?,
        });
    }
    Ok(links)
}

/// The session's outcomes with their counts.
pub(super) fn outcomes(
    db: &Connection,
    session: SessionKey,
) -> Result<BTreeMap<String, u64>, CatalogError> {
    let mut statement =
        db.prepare_cached("select outcome, rows from outcome where session = ? and rows > 0")?;
    let mut rows = statement.query([session])?;
    let mut outcomes = BTreeMap::new();
    while let Some(row) = rows.next()? {
        outcomes.insert(row.get(0)?, uint(row.get(1)?)?);
    }
    Ok(outcomes)
}
