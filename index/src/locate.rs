//! Where in the store is a session? Its keys hold its day, which its id nearly gives.

use capture::{SessionId, WallTime};
use segment::key::SessionKeys;

use store::{Listed, MAX_LIST, Store, StoreError};

/// An id is made shortly before or after the session's start, perhaps across midnight.
const DAYS_MS: [i64; 3] = [0, 86_400_000, -86_400_000];

/// The keys of `session`, if the store has anything of it: it may have lost the head.
///
/// # Errors
/// When the store cannot be asked.
pub async fn find(
    store: &dyn Store,
    session: SessionId,
) -> Result<Option<SessionKeys>, StoreError> {
    for shift_ms in DAYS_MS {
        let day = WallTime::from_unix_ms(created_ms(session)).plus_ms(shift_ms);
        let keys = SessionKeys::new(session, day);
        if !store.list(&keys.prefix(), None, 1).await?.is_empty() {
            return Ok(Some(keys));
        }
    }
    Ok(None)
}

/// When a version 7 UUID was made: its first 48 bits are UTC milliseconds (RFC 9562, 5.7).
fn created_ms(session: SessionId) -> i64 {
    let digits: String = session.to_string().chars().filter(|&c| c != '-').collect();
    digits
        .get(..12)
        .and_then(|digits| i64::from_str_radix(digits, 16).ok())
        .unwrap_or(0)
}

/// The keys of the session that `key` belongs to.
#[must_use]
pub fn keys_of(key: &str) -> Option<(SessionId, SessionKeys)> {
    let (session, _) = segment::key::parse(key)?;
    let day = key.get("v1/".len().."v1/yyyy/mm/dd".len())?;
    let start = format!("{}T00:00:00Z", day.replace('/', "-"))
        .parse()
        .ok()?;
    Some((session, SessionKeys::new(session, start)))
}

/// All objects whose key begins with `prefix`, page by page, in the order of their keys.
#[derive(Debug)]
pub struct Listing {
    prefix: String,
    after: Option<String>,
    ended: bool,
}

impl Listing {
    /// A listing from the first object below `prefix` on.
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            after: None,
            ended: false,
        }
    }

    /// The next page; empty at the end.
    ///
    /// # Errors
    /// When the store cannot be asked; the page may be asked for again.
    pub async fn next(&mut self, store: &dyn Store) -> Result<Vec<Listed>, StoreError> {
        if self.ended {
            return Ok(Vec::new());
        }
        let after = self.after.as_deref();
        let page = store.list(&self.prefix, after, MAX_LIST).await?;
        self.ended = page.len() < MAX_LIST;
        if let Some(last) = page.last() {
            self.after = Some(last.key.clone());
        }
        Ok(page)
    }

    /// Everything there is.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub async fn all(mut self, store: &dyn Store) -> Result<Vec<Listed>, StoreError> {
        let mut all = Vec::new();
        while !self.ended {
            all.extend(self.next(store).await?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_the_keys_of_its_session() {
        let start = WallTime::from_unix_ms(1_800_000_000_000);
        let id = SessionId::new(1_800_000_000_000, [3; 10]);
        let keys = SessionKeys::new(id, start);
        assert_eq!(created_ms(id), start.unix_ms());
        assert_eq!(keys_of(&keys.segment(4)), Some((id, keys)));
        assert_eq!(keys_of("v1/owner.json"), None);
    }
}
