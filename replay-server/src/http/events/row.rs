//! One event as an array of cells, whichever source it comes from.

use capture::{ClockMap, MediaTime};
use index::catalog::LinkedRow;
use serde_json::{Value, json};

use crate::recorded::{self, Found};

/// What the cells of a row hold, in order.
pub(super) const COLUMNS: [&str; 13] = [
    "id",
    "t",
    "utc",
    "kind",
    "outcome",
    "text",
    "source",
    "actor",
    "decided_by",
    "trace_id",
    "span_id",
    "origin",
    "data",
];

/// An event and when it was; no time is before the session.
pub(super) struct Row {
    pub(super) t: Option<MediaTime>,
    pub(super) cells: [Value; COLUMNS.len()],
}

impl Row {
    /// A row that another system told.
    pub(super) fn told(linked: LinkedRow) -> Self {
        let LinkedRow { row, t, .. } = linked;
        let rest = json!({
            "session": row.session,
            "run": row.run,
            "request": row.request,
            "on_behalf_of": row.on_behalf_of,
            "artifact": row.artifact,
            "attributes": row.attributes,
        });
        let cells = [
            row.id.into(),
            json!(t),
            json!(row.time),
            row.kind.as_str().into(),
            row.outcome.as_str().into(),
            row.text.into(),
            json!(row.source),
            json!(row.actor),
            json!(row.decided_by),
            json!(row.trace_id),
            json!(row.span_id),
            Value::Null,
            without_nulls(rest),
        ];
        Self { t, cells }
    }

    /// An event that was recorded.
    pub(super) fn recorded(found: Found, clock: &ClockMap) -> Self {
        let Found { id, event } = found;
        let text = recorded::words(&event);
        let cells = [
            id.into(),
            json!(event.t),
            json!(clock.utc_at(event.t)),
            event.kind.into(),
            Value::Null,
            json!(text),
            "recorder".into(),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            json!(event.origin),
            event.data.into(),
        ];
        Self {
            t: Some(event.t),
            cells,
        }
    }
}

/// What is said, without what is not.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let said = |value: &Value| {
                !value.is_null() && value.as_object().is_none_or(|object| !object.is_empty())
            };
            fields
                .into_iter()
                .filter(|(_, value)| said(value))
                .collect()
        }
        other => other,
    }
}
