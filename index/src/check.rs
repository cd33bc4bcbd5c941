//! Does the catalogue say what the store holds? The lines of two catalogues' tables, compared: one
//! in use, and one just made from the store.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// Differences named one by one for each table and kind; more are only counted.
pub const MAX_NAMED: usize = 20;

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something is stored that has no row.
    Missing,
    /// A row has nothing in the store.
    Extra,
    /// A row says otherwise than what is stored: another digest, size, time or link.
    Differs,
}

/// Rows of one table that are wrong in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The table.
    pub table: String,
    /// What is wrong.
    pub kind: Kind,
    /// How many rows.
    pub count: usize,
    /// The first [`MAX_NAMED`] of them by their keys.
    pub rows: Vec<String>,
}

/// A table's lines by its name, as [`dump`](crate::Catalog::dump) gives them.
pub type Tables = BTreeMap<String, Vec<String>>;

/// How `kept` differs from `made`.
#[must_use]
pub fn compare(made: &Tables, kept: &Tables) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (table, made) in made {
        let kept = kept.get(table).map_or(&[][..], Vec::as_slice);
        let only = |of: &[String], not: &[String]| -> BTreeSet<String> {
            let lines = of.iter().filter(|line| not.binary_search(line).is_err());
            lines.map(|line| key(table, line)).collect()
        };
        let (missing, extra) = (only(made, kept), only(kept, made));
        for (kind, rows) in [
            (
                Kind::Missing,
                missing.difference(&extra).collect::<Vec<_>>(),
            ),
            (Kind::Extra, extra.difference(&missing).collect()),
            (Kind::Differs, missing.intersection(&extra).collect()),
        ] {
            if !rows.is_empty() {
                differences.push(Difference {
                    table: table.clone(),
                    kind,
                    count: rows.len(),
                    rows: rows.into_iter().take(MAX_NAMED).cloned().collect(),
                });
            }
        }
    }
    differences
}

/// The fields of `line` that name its row in `table`: the first few.
fn key(table: &str, line: &str) -> String {
    let fields = match table {
        "store" | "session" | "log" | "event" => 1,
        "fragment" | "repeat" | "gap" | "mask" => 3,
        _ => 2,
    };
    let end = line.match_indices(' ').nth(fields - 1);
    line[..end.map_or(line.len(), |(at, _)| at)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_missing_extra_or_differ() {
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        let object = |lines| Tables::from([("object".to_owned(), lines)]);
        let made = object(lines(&["id=a seq=0 sha256=1", "id=a seq=1 sha256=2"]));
        let kept = object(lines(&["id=a seq=1 sha256=3", "id=b seq=0 sha256=4"]));
        let found = compare(&made, &kept);
        let found: Vec<_> = found.iter().map(|d| (d.kind, d.rows[0].as_str())).collect();
        assert_eq!(
            found,
            [
                (Kind::Missing, "id=a seq=0"),
                (Kind::Extra, "id=b seq=0"),
                (Kind::Differs, "id=a seq=1"),
            ]
        );
        assert_eq!(compare(&made, &made), []);
    }
}
