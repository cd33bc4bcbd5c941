//! What happened in a session? Rows that other systems told and events that were recorded, in
//! one order.

mod cursor;
mod row;

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use capture::{MediaTime, SessionId};
use index::{
    catalog::{EventQuery, LinkedRow, MAX_PAGE_ROWS},
    row::Kind,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{ApiError, params, params::Params};
use crate::{
    archive::Archive,
    recorded::{self, Reading, Wanted},
};
use cursor::Cursor;
use row::{COLUMNS, Row};

/// Rows when the client does not say.
const DEFAULT_LIMIT: usize = 1000;
/// Kinds that the API knows and that nothing fills yet.
const LATER_KINDS: &[&str] = &["span", "note", "view"];

/// Which events to list.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// From here, in ms since session start.
    #[serde(default, deserialize_with = "params::time")]
    #[param(value_type = Option<u64>)]
    from: Option<MediaTime>,
    /// Up to and without here, in ms since session start.
    #[serde(default, deserialize_with = "params::time")]
    #[param(value_type = Option<u64>)]
    to: Option<MediaTime>,
    /// Kinds, with commas between; all unless given.
    kinds: Option<String>,
    /// A text they contain, whatever its case.
    q: Option<String>,
    /// How many: 1000 unless given, at most 20000.
    limit: Option<usize>,
    /// What the page before gave as `next`.
    cursor: Option<String>,
}

/// Events in time order: named columns, then an array a row.
#[derive(Serialize, ToSchema)]
pub(super) struct EventsAnswer {
    #[schema(value_type = Vec<String>)]
    columns: [&'static str; COLUMNS.len()],
    #[schema(value_type = Vec<Vec<Object>>)]
    rows: Vec<[Value; COLUMNS.len()]>,
    /// Asks for the next page; null at the end.
    next: Option<String>,
}

/// What happened in a session.
#[utoipa::path(
    get, path = "/api/v1/sessions/{session}/events", tag = "events",
    params(("session" = String, Path), Asked),
    responses((status = 200, body = EventsAnswer), (status = 400), (status = 404)),
)]
pub(super) async fn events(
    State(archive): State<Arc<Archive>>,
    Path(session): Path<String>,
    Params(asked): Params<Asked>,
) -> Result<Json<EventsAnswer>, ApiError> {
    let kinds = Kinds::parse(asked.kinds.as_deref())?;
    let limit = asked.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_PAGE_ROWS).contains(&limit) {
        let problem = format!("must be 1 to {MAX_PAGE_ROWS}");
        return Err(ApiError::parameter("limit", problem));
    }
    let cursor = asked.cursor.as_deref().map(Cursor::parse).transpose()?;
    let cursor = cursor.unwrap_or_default();
    let (summary, timeline) = params::timeline(&archive, &session).await?;

    // Each source gives its first `enough` events, or stops before and says where: so up to there
    // the first `enough` of both are complete.
    let enough = cursor.given.saturating_add(limit).saturating_add(1);
    let from = cursor.t.or(asked.from);
    let query = EventQuery {
        from,
        to: asked.to,
        kinds: kinds.told,
        q: asked.q.clone(),
        limit: enough.min(MAX_PAGE_ROWS),
        cursor: None,
    };
    let told = told(&archive, summary.id, query, enough).await?;
    let wanted = Wanted {
        from: from.unwrap_or(MediaTime::ZERO),
        to: asked.to.unwrap_or(MediaTime::from_ms(u64::MAX)),
        kinds: kinds.recorded,
        text: asked.q,
        enough,
    };
    let Reading { found, stopped } = recorded::read(&archive, summary.id, &wanted).await?;

    let told = told.into_iter().map(Row::told);
    let told = told.filter(|row| row.t < stopped.or(Some(MediaTime::from_ms(u64::MAX))));
    let recorded = found.into_iter();
    let recorded = recorded.map(|found| Row::recorded(found, &timeline.clock));
    let mut all: Vec<Row> = told.chain(recorded).collect();
    // Stable: at one time, rows come in their own order, before recorded events in theirs.
    all.sort_by_key(|row| row.t);
    let more = stopped.is_some() || all.len() > cursor.given.saturating_add(limit);
    let page: Vec<Row> = all.into_iter().skip(cursor.given).take(limit).collect();
    let next = page
        .last()
        .filter(|_| more)
        .map(|last| cursor.after(&page, last.t));
    Ok(Json(EventsAnswer {
        columns: COLUMNS,
        rows: page.into_iter().map(|row| row.cells).collect(),
        next: next.map(|next| next.to_string()),
    }))
}

/// The kinds that each source is asked for.
struct Kinds {
    told: Vec<Kind>,
    recorded: Vec<&'static str>,
}

impl Kinds {
    fn parse(words: Option<&str>) -> Result<Self, ApiError> {
        let mut kinds = Self {
            told: Vec::new(),
            recorded: Vec::new(),
        };
        let Some(words) = words.filter(|words| !words.is_empty()) else {
            kinds.told.extend(Kind::ALL);
            kinds.recorded.extend(recorded::KINDS);
            return Ok(kinds);
        };
        for word in words.split(',') {
            let told = Kind::from_word(word);
            let recorded = recorded::KINDS.iter().find(|kind| **kind == word);
            if told.is_none() && recorded.is_none() && !LATER_KINDS.contains(&word) {
                let problem = format!("{word:.32?} is no kind of event");
                return Err(ApiError::parameter("kinds", problem));
            }
            kinds.told.extend(told);
            kinds.recorded.extend(recorded);
        }
        Ok(kinds)
    }
}

/// The first `enough` rows that match `query`.
async fn told(
    archive: &Archive,
    session: SessionId,
    mut query: EventQuery,
    enough: usize,
) -> Result<Vec<LinkedRow>, ApiError> {
    let mut rows = Vec::new();
    // The catalogue takes an empty list of kinds for all of them.
    if query.kinds.is_empty() {
        return Ok(rows);
    }
    loop {
        let page = archive.catalog.events(session, &query).await?;
        rows.extend(page.rows);
        match page.next {
            Some(next) if rows.len() < enough => query.cursor = Some(next),
            _ => return Ok(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_go_to_the_source_that_has_them() {
        let kinds = Kinds::parse(Some("log,size,mark")).ok().unwrap();
        assert_eq!(kinds.told, [Kind::Log, Kind::Mark]);
        assert_eq!(kinds.recorded, ["size", "mark"]);
        assert!(Kinds::parse(Some("log,keys")).is_err());
    }
}
