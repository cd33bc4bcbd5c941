//! Every table as text, so that two catalogues of one store can be compared.
//!
//! Integer keys differ between catalogues, so lines name sessions and log objects by their own
//! names. Leases are left out. Rows come in the order of those names, which the tables' own indexes
//! give: nothing is sorted, and nothing is held.

use rusqlite::{Connection, Row, types::ValueRef};

use super::value::hex;
use crate::catalog::{
    CatalogError,
    line::{Line, Sender},
};

/// A table, how many of its first columns name a row, and its rows in their order.
struct Table {
    name: &'static str,
    named_by: usize,
    sql: &'static str,
}

const fn table(name: &'static str, named_by: usize, sql: &'static str) -> Table {
    Table {
        name,
        named_by,
        sql,
    }
}

/// `cross join` has the sessions walked in the order of their ids, and each one's rows in theirs.
const TABLES: [Table; 13] = [
    table("store", 1, "select id from store order by id"),
    table(
        "session",
        1,
        "select id, head, head_sha256, head_bytes, start_utc, run, actor, os, protocol, words, \
         to_ms, bytes, until_utc, end_utc, end_ms, end_reason, end_recovered, end_objects, \
         end_sha256, end_bytes, interrupted, interrupted_utc from session order by id",
    ),
    table(
        "label",
        2,
        "select s.id, t.* from session s cross join label t on s.key = t.session \
         order by s.id, t.name",
    ),
    table(
        "object",
        2,
        "select s.id, t.* from session s cross join object t on s.key = t.session \
         order by s.id, t.seq",
    ),
    table(
        "fragment",
        3,
        "select s.id, t.* from session s cross join fragment t on s.key = t.session \
         order by s.id, t.seq, t.n",
    ),
    table(
        "repeat",
        3,
        "select s.id, t.* from session s cross join repeat t on s.key = t.session \
         order by s.id, t.seq, t.from_ms",
    ),
    table(
        "gap",
        3,
        "select s.id, t.* from session s cross join gap t on s.key = t.session \
         order by s.id, t.seq, t.from_ms",
    ),
    table(
        "anchor",
        2,
        "select s.id, t.* from session s cross join anchor t on s.key = t.session \
         order by s.id, t.t_ms",
    ),
    table(
        "mask",
        3,
        "select s.id, t.* from session s cross join mask t on s.key = t.session \
         order by s.id, t.seq, t.n",
    ),
    table(
        "log",
        1,
        "select name, sha256, bytes from log order by name",
    ),
    table(
        "event",
        1,
        "select e.id, l.name, e.utc, s.id as session_id, e.t_ms, e.named, e.trace, e.span, \
         e.run, e.actor, e.source, e.kind, e.outcome, e.request, e.text, e.on_behalf_of, \
         e.decided_by, e.artifact, e.attributes from event e cross join log l on l.key = e.log \
         left join session s on s.key = e.session order by e.id",
    ),
    table(
        "outcome",
        2,
        "select s.id, t.* from session s cross join outcome t on s.key = t.session \
         order by s.id, t.outcome",
    ),
    table(
        "trace_link",
        2,
        "select s.id, t.* from session s cross join trace_link t on s.key = t.session \
         order by s.id, t.trace",
    ),
];

/// Gives every line to `tell`, until nobody listens any more.
pub(super) fn lines(db: &Connection, mut tell: Sender) -> Result<(), CatalogError> {
    for (number, table) in (0..).zip(&TABLES) {
        let mut statement = db.prepare(table.sql)?;
        let columns: Vec<String> = statement
            .column_names()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (key, name_bytes, text) = line(table, &columns, row)?;
            let line = Line {
                table: table.name,
                key: (number, key),
                name_bytes,
                text,
            };
            if !tell.send(line) {
                return Ok(());
            }
        }
    }
    tell.finish();
    Ok(())
}

/// A row's key, how much of its text that takes, and its text.
fn line(
    table: &Table,
    columns: &[String],
    row: &Row<'_>,
) -> Result<(Vec<u8>, usize, String), CatalogError> {
    let (mut key, mut name_bytes, mut line) = (Vec::new(), 0, String::new());
    let told = columns.iter().enumerate();
    let told = told.filter(|(_, column)| *column != "session");
    for (n, (i, column)) in told.enumerate() {
        let value = row.get_ref(i)?;
        if n > 0 {
            line.push(' ');
        }
        line.push_str(column);
        line.push('=');
        line.push_str(&text(value));
        if n < table.named_by {
            put_in_order(value, &mut key);
            name_bytes = line.len();
        }
    }
    Ok((key, name_bytes, line))
}

/// Bytes in the order in which SQLite has such values: blobs in a key are of one length.
fn put_in_order(value: ValueRef<'_>, key: &mut Vec<u8>) {
    match value {
        // The sign turned over, so that what is negative comes first.
        ValueRef::Integer(n) => key.extend((n ^ i64::MIN).to_be_bytes()),
        ValueRef::Text(text) => {
            key.extend(text);
            key.push(0);
        }
        ValueRef::Blob(bytes) => key.extend(bytes),
        // INVARIANT: no key holds either.
        ValueRef::Null | ValueRef::Real(_) => {}
    }
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
