//! Every table as text, so that two catalogues of one store can be compared.
//!
//! Integer keys differ between catalogues, so lines name sessions and log objects by their own
//! names. Leases are left out.

use std::collections::BTreeMap;

use rusqlite::{Connection, types::ValueRef};

use super::value::hex;
use crate::catalog::CatalogError;

/// Each table's name, and its lines as a query.
const TABLES: [(&str, &str); 13] = [
    ("store", "select id from store"),
    (
        "session",
        "select id, head, head_sha256, head_bytes, start_utc, run, actor, os, protocol, words, \
         to_ms, bytes, until_utc, end_utc, end_ms, end_reason, end_recovered, end_objects, \
         end_sha256, end_bytes, interrupted, interrupted_utc from session",
    ),
    (
        "label",
        "select s.id, t.* from label t join session s on s.key = t.session",
    ),
    (
        "object",
        "select s.id, t.* from object t join session s on s.key = t.session",
    ),
    (
        "fragment",
        "select s.id, t.* from fragment t join session s on s.key = t.session",
    ),
    (
        "repeat",
        "select s.id, t.* from repeat t join session s on s.key = t.session",
    ),
    (
        "gap",
        "select s.id, t.* from gap t join session s on s.key = t.session",
    ),
    (
        "anchor",
        "select s.id, t.* from anchor t join session s on s.key = t.session",
    ),
    (
        "mask",
        "select s.id, t.* from mask t join session s on s.key = t.session",
    ),
    ("log", "select name, sha256, bytes from log"),
    (
        "event",
        "select e.id, l.name, e.utc, s.id as session_id, e.t_ms, e.named, e.trace, e.span, \
         e.run, e.actor, e.source, e.kind, e.outcome, e.request, e.text, e.on_behalf_of, \
         e.decided_by, e.artifact, e.attributes from event e join log l on l.key = e.log \
         left join session s on s.key = e.session",
    ),
    (
        "outcome",
        "select s.id, t.* from outcome t join session s on s.key = t.session",
    ),
    (
        "trace_link",
        "select s.id, t.* from trace_link t join session s on s.key = t.session",
    ),
];

pub(super) fn dump(db: &Connection) -> Result<BTreeMap<String, Vec<String>>, CatalogError> {
    let mut dump = BTreeMap::new();
    for (table, sql) in TABLES {
        let mut statement = db.prepare(sql)?;
        let columns: Vec<String> = statement
            .column_names()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let mut rows = statement.query([])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            let mut fields = Vec::new();
            for (i, column) in columns.iter().enumerate() {
                if column != "session" {
                    fields.push(format!("{column}={}", text(row.get_ref(i)?)));
                }
            }
            lines.push(fields.join(" "));
        }
        lines.sort_unstable();
        dump.insert(table.to_owned(), lines);
    }
    Ok(dump)
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(x) => x.to_string(),
        ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => hex(bytes),
    }
}
