//! Where a page of events ended.

use capture::MediaTime;
use index::catalog::MAX_PAGE_ROWS;

use super::row::Row;
use crate::http::{ApiError, params::MAX_TIME_MS};

/// Where a page ended: after `given` of the rows at `t`. No `t` is before any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) t: Option<MediaTime>,
    pub(super) given: usize,
}

impl Cursor {
    /// Reads what a page gave as `next`.
    pub(super) fn parse(text: &str) -> Result<Self, ApiError> {
        let parts = text.split_once('.');
        let parsed = parts.and_then(|(t, given)| {
            let t = match t {
                "" => None,
                t => Some(t.parse().ok().filter(|&ms| ms <= MAX_TIME_MS)?),
            };
            let given = given.parse().ok()?;
            Some(Self {
                t: t.map(MediaTime::from_ms),
                given,
            })
        });
        // More rows at one millisecond than a page holds are beyond any source.
        parsed
            .filter(|cursor| cursor.given <= MAX_PAGE_ROWS)
            .ok_or_else(|| ApiError::parameter("cursor", "is not one this server gave"))
    }

    /// Where `page`, which began here and ends at `t`, ended.
    pub(super) fn after(self, page: &[Row], t: Option<MediaTime>) -> Self {
        let same = page.iter().rev().take_while(|row| row.t == t).count();
        let before = if self.t == t { self.given } else { 0 };
        Self {
            t,
            given: before + same,
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.t {
            Some(t) => write!(f, "{}.{}", t.ms(), self.given),
            None => write!(f, ".{}", self.given),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(t: u64) -> Row {
        Row {
            t: Some(MediaTime::from_ms(t)),
            cells: Default::default(),
        }
    }

    fn cursor(t: u64, given: usize) -> Cursor {
        Cursor {
            t: Some(MediaTime::from_ms(t)),
            given,
        }
    }

    #[test]
    fn a_page_that_ends_among_equal_times_goes_on_after_them() {
        let page = [row(4), row(5), row(5)];
        let first = Cursor::default().after(&page, page[2].t);
        assert_eq!(first, cursor(5, 2));
        let page = [row(5), row(5)];
        assert_eq!(first.after(&page, page[1].t), cursor(5, 4));
        let page = [row(5), row(9)];
        assert_eq!(first.after(&page, page[1].t), cursor(9, 1));
    }

    #[test]
    fn cursors_read_back_and_foreign_ones_are_refused() {
        for cursor in [Cursor::default(), cursor(0, 1), cursor(77, 20_000)] {
            assert_eq!(Cursor::parse(&cursor.to_string()).ok(), Some(cursor));
        }
        for text in ["", "5", "x.1", "5.-1", "5.20001", "1.2.3"] {
            assert!(Cursor::parse(text).is_err(), "{text}");
        }
    }
}
