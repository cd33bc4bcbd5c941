//! Does the catalogue say what the store holds? The lines of two catalogues, compared as they come:
//! of one in use, and of one just made from the store.

use std::{cmp::Ordering, collections::BTreeMap};

use serde::Serialize;

use crate::catalog::{
    Catalog, CatalogError,
    line::{self, Line, Lines},
};

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

/// How the catalogue `kept` differs from `made`. Of either some lines at a time are held.
///
/// # Errors
/// When either cannot be asked.
pub async fn compare(
    made: &dyn Catalog,
    kept: &dyn Catalog,
) -> Result<Vec<Difference>, CatalogError> {
    let (tell_made, lines_made) = line::channel();
    let (tell_kept, lines_kept) = line::channel();
    let (told_made, told_kept, differences) = tokio::join!(
        made.lines(tell_made),
        kept.lines(tell_kept),
        merge(lines_made, lines_kept),
    );
    told_made.and(told_kept)?;
    Ok(differences)
}

async fn merge(mut made: Lines, mut kept: Lines) -> Vec<Difference> {
    let mut found = Found::default();
    let (mut stored, mut known) = (made.next().await, kept.next().await);
    loop {
        let order = match (&stored, &known) {
            (None, None) => return found.0.into_values().collect(),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(stored), Some(known)) => stored.key.cmp(&known.key),
        };
        match order {
            Ordering::Less => found.add(Kind::Missing, stored.as_ref()),
            Ordering::Greater => found.add(Kind::Extra, known.as_ref()),
            Ordering::Equal if stored != known => found.add(Kind::Differs, stored.as_ref()),
            Ordering::Equal => {}
        }
        if order.is_le() {
            stored = made.next().await;
        }
        if order.is_ge() {
            known = kept.next().await;
        }
    }
}

/// Differences by the number of their table and by kind.
#[derive(Default)]
struct Found(BTreeMap<(u32, Kind), Difference>);

impl Found {
    fn add(&mut self, kind: Kind, line: Option<&Line>) {
        let Some(line) = line else { return };
        let difference = self.0.entry((line.key.0, kind));
        let difference = difference.or_insert_with(|| Difference {
            table: line.table.to_owned(),
            kind,
            count: 0,
            rows: Vec::new(),
        });
        difference.count += 1;
        if difference.rows.len() < MAX_NAMED {
            difference.rows.push(line.name().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a table of objects: session, number and digest.
    fn lines(rows: &'static [(u8, u8, &str)]) -> Lines {
        let (mut tell, lines) = line::channel();
        std::thread::spawn(move || {
            for (id, seq, sha256) in rows {
                let name = format!("id={id} seq={seq}");
                tell.send(Line {
                    table: "object",
                    key: (0, vec![*id, *seq]),
                    name_bytes: name.len(),
                    text: format!("{name} sha256={sha256}"),
                });
            }
            tell.finish();
        });
        lines
    }

    #[tokio::test]
    async fn rows_are_missing_extra_or_differ() {
        const MADE: &[(u8, u8, &str)] = &[(1, 0, "1"), (1, 1, "2"), (1, 9, "5")];
        const KEPT: &[(u8, u8, &str)] = &[(1, 1, "3"), (1, 9, "5"), (2, 0, "4")];
        let found = merge(lines(MADE), lines(KEPT)).await;
        let found: Vec<_> = found.iter().map(|d| (d.kind, d.rows[0].as_str())).collect();
        assert_eq!(
            found,
            [
                (Kind::Missing, "id=1 seq=0"),
                (Kind::Extra, "id=2 seq=0"),
                (Kind::Differs, "id=1 seq=1"),
            ]
        );
        assert_eq!(merge(lines(MADE), lines(MADE)).await, []);
    }
}
