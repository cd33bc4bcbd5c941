//! Reading sessions.

use std::collections::BTreeMap;

use capture::{SessionId, WallTime, session::SessionHead};
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params, params_from_iter};

use super::{
    events::{like, outcomes},
    tally::SessionKey,
    value::{damaged, from_json, id_bytes, id_of, int, stored, trace_of, uint, wall},
};
use crate::catalog::{
    CatalogError, Cursor, LEASE_MS, MAX_PAGE_SESSIONS, SETTLE_MS, SessionPage, SessionQuery,
    SessionSummary, Silent, Sort, State, Stored,
};

/// Sessions in a page when the caller names no limit.
const PAGE_SESSIONS: usize = 50;
/// Traces that a summary names.
const MAX_TRACES: usize = 100;
/// Values that a facet names: the most frequent ones.
const MAX_FACET_VALUES: usize = 50;

/// How a session stands, given the time before which a lease has run out. An agent that was
/// heard of again after the server gave it up records on.
fn state_sql(lease_utc: i64) -> String {
    format!(
        "case when s.end_utc is not null then 'ended' \
         when max(ifnull(s.seen_utc, 0), s.start_utc) > {lease_utc} then 'live' \
         when s.interrupted is not null then 'interrupted' else 'lost' end"
    )
}

/// Sessions that were noted a moment ago count as seen at their start.
fn lease(now: WallTime) -> i64 {
    now.unix_ms().saturating_sub(LEASE_MS)
}

pub(super) fn store_ids(db: &Connection) -> Result<Vec<String>, CatalogError> {
    let mut statement = db.prepare_cached("select id from store order by id")?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

pub(super) fn store_of(
    db: &Connection,
    session: SessionId,
) -> Result<Option<String>, CatalogError> {
    let found = db
        .prepare_cached("select store from session where id = ?")?
        .query_row([id_bytes(session)], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

pub(super) fn head(
    db: &Connection,
    session: SessionId,
) -> Result<Option<SessionHead>, CatalogError> {
    let head: Option<String> = db
        .prepare_cached("select head from session where id = ?")?
        .query_row([id_bytes(session)], |row| row.get(0))
        .optional()?;
    head.map(|head| from_json(&head, "session head"))
        .transpose()
}

pub(super) fn end(db: &Connection, session: SessionId) -> Result<Option<Stored>, CatalogError> {
    let found: Option<(Vec<u8>, i64)> = db
        .prepare_cached(
            "select end_sha256, end_bytes from session where id = ? and end_sha256 is not null",
        )?
        .query_row([id_bytes(session)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    found
        .map(|(sha256, bytes)| stored(&sha256, bytes))
        .transpose()
}

pub(super) fn silent(
    db: &Connection,
    now: WallTime,
    limit: usize,
) -> Result<Vec<Silent>, CatalogError> {
    let mut statement = db.prepare_cached(
        "select id, start_utc, seen_utc, interrupted from session where end_utc is null \
         and (interrupted is null or ifnull(seen_utc, 0) > ifnull(noted_seen_utc, 0)) \
         and max(ifnull(seen_utc, 0), start_utc) <= ?1 order by start_utc limit ?2",
    )?;
    let mut rows = statement.query(params![lease(now), int(limit as u64)?])?;
    let mut silent = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, noted): (Vec<u8>, Option<i64>) = (row.get(0)?, row.get(3)?);
        silent.push(Silent {
            id: id_of(&id)?,
            start: wall(row.get(1)?),
            seen_at: row.get::<_, Option<i64>>(2)?.map(wall),
            noted: noted.map(uint).transpose()?,
        });
    }
    Ok(silent)
}

pub(super) fn summary(
    db: &Connection,
    session: SessionId,
    now: WallTime,
) -> Result<Option<SessionSummary>, CatalogError> {
    let key = super::write::find_session(db, session)?;
    key.map(|key| summary_of(db, key, now)).transpose()
}

fn summary_of(
    db: &Connection,
    key: SessionKey,
    now: WallTime,
) -> Result<SessionSummary, CatalogError> {
    let state = state_sql(lease(now));
    let sql = format!(
        "select s.id, s.head, s.to_ms, s.bytes, s.end_utc, s.end_ms, s.end_reason, \
         s.interrupted_utc, {state}, \
         s.end_objects = (select count(*) from object o where o.session = s.key) \
         from session s where s.key = ?"
    );
    struct Found {
        id: Vec<u8>,
        head: String,
        to_ms: i64,
        bytes: i64,
        end_utc: Option<i64>,
        end_ms: Option<i64>,
        end_reason: Option<String>,
        interrupted_utc: Option<i64>,
        state: String,
        complete: Option<bool>,
    }
    let read = |row: &Row<'_>| {
        Ok(Found {
            id: row.get(0)?,
            head: row.get(1)?,
            to_ms: row.get(2)?,
            bytes: row.get(3)?,
            end_utc: row.get(4)?,
            end_ms: row.get(5)?,
            end_reason: row.get(6)?,
            interrupted_utc: row.get(7)?,
            state: row.get(8)?,
            complete: row.get(9)?,
        })
    };
    let found = db.prepare_cached(&sql)?.query_row([key], read)?;
    let head: SessionHead = from_json(&found.head, "session head")?;
    let state = [State::Live, State::Ended, State::Lost, State::Interrupted]
        .into_iter()
        .find(|state| state.as_str() == found.state)
        .ok_or_else(|| damaged("session state"))?;
    let end = match state {
        State::Interrupted => found.interrupted_utc,
        _ => found.end_utc,
    };
    let late_rows_had_time = end.is_some_and(|end| now.unix_ms() >= end.saturating_add(SETTLE_MS));
    let context = head.context;
    Ok(SessionSummary {
        id: id_of(&found.id)?,
        run: context.run,
        title: context.title,
        request: context.request,
        actor: context.actor,
        actor_kind: context.actor_kind,
        on_behalf_of: context.on_behalf_of,
        os: context.os,
        protocol: head.protocol,
        source: head.source,
        labels: context.labels,
        start: head.start,
        end: end.map(wall),
        state,
        end_reason: found.end_reason,
        duration_ms: uint(found.end_ms.unwrap_or(found.to_ms))?,
        bytes: uint(found.bytes)?,
        size: [head.size.w, head.size.h],
        gaps: gaps(db, key)?,
        masks: masks(db, key)?,
        outcomes: outcomes(db, key)?,
        trace_ids: trace_ids(db, key)?,
        policy: head.policy,
        holds: Vec::new(),
        delete_at: None,
        integrity: "unsigned",
        settled: found.complete == Some(true) && late_rows_had_time,
    })
}

/// Stretches without picture; one that runs on into the next object counts once.
fn gaps(db: &Connection, session: SessionKey) -> Result<u64, CatalogError> {
    let count = db
        .prepare_cached(
            "select count(*) from (select from_ms, reason, lag(to_ms) over one as was_to, \
             lag(reason) over one as was_reason from gap where session = ? \
             window one as (order by seq, from_ms)) \
             where was_to is not from_ms or was_reason is not reason",
        )?
        .query_row([session], |row| row.get(0))?;
    uint(count)
}

fn masks(db: &Connection, session: SessionKey) -> Result<u64, CatalogError> {
    let count = db
        .prepare_cached(
            "select count(*) from (select distinct x_px, y_px, w_px, h_px, rule from mask \
             where session = ?)",
        )?
        .query_row([session], |row| row.get(0))?;
    uint(count)
}

fn trace_ids(
    db: &Connection,
    session: SessionKey,
) -> Result<Vec<capture::trace::TraceId>, CatalogError> {
    let sql =
        format!("select trace from trace_link where session = ? order by trace limit {MAX_TRACES}");
    let mut statement = db.prepare_cached(&sql)?;
    let traces = statement.query_map([session], |row| row.get::<_, Vec<u8>>(0))?;
    traces.map(|trace| trace_of(&trace?)).collect()
}

pub(super) fn page(
    db: &Connection,
    query: &SessionQuery,
    now: WallTime,
) -> Result<SessionPage, CatalogError> {
    let matching = Filter::new(query, now);
    let facets = facets(db, &matching, now)?;
    let (value, order) = match query.sort {
        Sort::Newest => ("s.start_utc", "desc"),
        Sort::Oldest => ("s.start_utc", "asc"),
        Sort::Longest => ("ifnull(s.end_ms, s.to_ms)", "desc"),
        Sort::Largest => ("s.bytes", "desc"),
    };
    let Filter {
        mut rules,
        mut values,
    } = matching;
    if let Some(cursor) = &query.cursor {
        let (at, id) = cursor.0.split_once('.').ok_or(CatalogError::Cursor)?;
        let at: i64 = at.parse().map_err(|_| CatalogError::Cursor)?;
        let id: SessionId = id.parse().map_err(|_| CatalogError::Cursor)?;
        let past = if order == "asc" { '>' } else { '<' };
        rules.push_str(&format!(" and ({value}, s.id) {past} (?, ?)"));
        values.push(Box::new(at));
        values.push(Box::new(id_bytes(id)));
    }
    let limit = match query.limit {
        0 => PAGE_SESSIONS,
        limit => limit.min(MAX_PAGE_SESSIONS),
    };
    let sql = format!(
        "select s.key, {value} from session s where {rules} \
         order by {value} {order}, s.id {order} limit {}",
        limit + 1
    );
    let mut statement = db.prepare_cached(&sql)?;
    let found = statement.query_map(params_from_iter(values.iter()), |row| {
        Ok((row.get::<_, SessionKey>(0)?, row.get::<_, i64>(1)?))
    })?;
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    let more = found.len() > limit;
    found.truncate(limit);
    let mut sessions = Vec::with_capacity(found.len());
    for (key, _) in &found {
        sessions.push(summary_of(db, *key, now)?);
    }
    let last = found.last().zip(sessions.last()).filter(|_| more);
    let next = last.map(|((_, at), session)| Cursor(format!("{at}.{}", session.id)));
    Ok(SessionPage {
        sessions,
        facets,
        next,
    })
}

/// What sessions `s` must be like.
struct Filter {
    rules: String,
    values: Vec<Box<dyn ToSql>>,
}

impl Filter {
    fn new(query: &SessionQuery, now: WallTime) -> Self {
        let mut filter = Self {
            rules: "true".to_owned(),
            values: Vec::new(),
        };
        for word in query.q.iter().flat_map(|q| q.split_whitespace()) {
            filter.and(r"s.words like ? escape '\'", like(&word.to_lowercase()));
        }
        for (rule, value) in [
            ("s.actor = ?", &query.actor),
            ("s.os = ?", &query.os),
            ("s.protocol = ?", &query.protocol),
            ("s.run = ?", &query.run),
        ] {
            if let Some(value) = value {
                filter.and(rule, value.clone());
            }
        }
        if let Some(outcome) = query.outcome {
            let rule = "exists (select 1 from outcome o where o.session = s.key \
                        and o.outcome = ? and o.rows > 0)";
            filter.and(rule, outcome.as_str());
        }
        for (name, value) in &query.labels {
            let rule = "exists (select 1 from label l where l.session = s.key \
                        and l.name = ? and l.value = ?)";
            filter.and(rule, name.clone());
            filter.values.push(Box::new(value.clone()));
        }
        if let Some(from) = query.from {
            let rule = "coalesce(s.end_utc, s.interrupted_utc, s.start_utc + s.to_ms) >= ?";
            filter.and(rule, from.unix_ms());
        }
        if let Some(to) = query.to {
            filter.and("s.start_utc < ?", to.unix_ms());
        }
        if let Some(live) = query.live {
            let state = state_sql(lease(now));
            filter.and(&format!("({state} = 'live') = ?"), live);
        }
        filter
    }

    fn and(&mut self, rule: &str, value: impl ToSql + 'static) {
        self.rules.push_str(" and ");
        self.rules.push_str(rule);
        self.values.push(Box::new(value));
    }
}

/// How the matching sessions spread over each facet's values.
fn facets(
    db: &Connection,
    filter: &Filter,
    now: WallTime,
) -> Result<BTreeMap<String, BTreeMap<String, u64>>, CatalogError> {
    let state = state_sql(lease(now));
    let rules = &filter.rules;
    let of_session = |value: &str| {
        format!("select {value} as v, count(*) as n from session s where {rules} group by 1")
    };
    let of_rows = format!(
        "select o.outcome as v, count(*) as n from outcome o join session s on s.key = o.session \
         where o.rows > 0 and {rules} group by 1"
    );
    let mut facets = BTreeMap::new();
    for (name, counts) in [
        ("actor", of_session("s.actor")),
        ("os", of_session("s.os")),
        ("protocol", of_session("s.protocol")),
        ("state", of_session(&state)),
        ("outcome", of_rows),
    ] {
        let sql = format!(
            "select v, n from ({counts}) where v is not null order by n desc, v \
             limit {MAX_FACET_VALUES}"
        );
        let mut statement = db.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(filter.values.iter()))?;
        let facet: &mut BTreeMap<String, u64> = facets.entry(name.to_owned()).or_default();
        while let Some(row) = rows.next()? {
            facet.insert(row.get(0)?, uint(row.get(1)?)?);
        }
    }
    Ok(facets)
}
