//! Does each object hold what was recorded? Its digest, its own format, and the sheet or head
//! that belongs to it.

use std::collections::BTreeMap;

use capture::session::SessionHead;
use segment::{
    IdleRecord, Sha256,
    end::ObjectEntry,
    idle,
    key::{ObjectKind, parse},
    mp4,
};
use store::StoreError;

use super::{Check, FaultKind, Known, Link, UNKNOWN};
use crate::scan::with_causes;

impl Check<'_> {
    /// Reads every expected object. Gives the numbered ones that could be read.
    pub(super) async fn objects(
        &mut self,
        expected: &[ObjectEntry],
        known: Known,
    ) -> Result<Vec<Link>, StoreError> {
        let mut chain = Vec::new();
        let mut sheets = BTreeMap::new();
        let mut head = None;
        for entry in expected {
            let bytes = match self.store.get(&entry.key).await {
                Ok(bytes) => bytes,
                Err(StoreError::NotFound { .. }) => {
                    self.fault(&entry.key, FaultKind::Missing, "it is not in the store");
                    continue;
                }
                Err(StoreError::Key { .. }) => continue, // told by `listing`
                Err(error @ StoreError::TooLarge { .. }) => {
                    self.fault(&entry.key, FaultKind::Changed, error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.read += 1;
            let sha256 = Sha256::of(&bytes);
            if entry.sha256 != UNKNOWN.into() && sha256 != entry.sha256 {
                self.differs(entry, sha256, bytes.len() as u64, expected);
                continue;
            }
            match parse(&entry.key).map(|(_, kind)| kind) {
                Some(ObjectKind::Head) => head = Some((sha256, bytes)),
                Some(ObjectKind::Thumb { seq }) => {
                    sheets.insert(seq, (entry.key.clone(), sha256));
                }
                Some(ObjectKind::Segment { seq }) => match mp4::check(&bytes) {
                    Ok(manifest) => chain.push(Link {
                        key: entry.key.clone(),
                        seq,
                        sha256,
                        span: manifest.span,
                        thumbs: manifest.thumbs,
                    }),
                    Err(error) => self.fault(&entry.key, FaultKind::Changed, with_causes(&error)),
                },
                Some(ObjectKind::Idle { seq }) => match idle::read(&bytes) {
                    Ok(IdleRecord { span, .. }) => chain.push(Link {
                        key: entry.key.clone(),
                        seq,
                        sha256,
                        span,
                        thumbs: None,
                    }),
                    Err(error) => self.fault(&entry.key, FaultKind::Changed, with_causes(&error)),
                },
                _ => {}
            }
        }
        chain.sort_by_key(|link| link.seq);
        self.head(head, known, chain.first());
        self.sheets(&chain, sheets);
        Ok(chain)
    }

    /// Says in which way an object's bytes are not the expected ones.
    fn differs(
        &mut self,
        entry: &ObjectEntry,
        found: Sha256,
        found_bytes: u64,
        expected: &[ObjectEntry],
    ) {
        let other = expected.iter().find(|other| other.sha256 == found);
        let (kind, detail) = match other {
            Some(other) => (
                FaultKind::Swapped,
                format!("it holds the bytes of {}", other.key),
            ),
            None if found_bytes < entry.bytes => {
                let detail = format!("{found_bytes} of {} bytes are left", entry.bytes);
                (FaultKind::Truncated, detail)
            }
            None => (FaultKind::Changed, format!("its SHA-256 is {found}")),
        };
        self.fault(&entry.key, kind, detail);
    }

    fn head(&mut self, head: Option<(Sha256, bytes::Bytes)>, known: Known, first: Option<&Link>) {
        let Some((sha256, bytes)) = head else { return };
        let key = self.keys.head();
        let parsed = serde_json::from_slice::<SessionHead>(&bytes);
        match parsed {
            Err(error) => self.fault(&key, FaultKind::Changed, error.to_string()),
            Ok(head) if head.id != self.session => {
                self.fault(&key, FaultKind::Swapped, "it is another session's");
            }
            Ok(_) => {}
        }
        let known_other = known.head.is_some_and(|known| known.sha256 != sha256);
        let chained = first
            .filter(|first| first.seq == 0)
            .map(|first| first.span.prev);
        if known_other || chained.is_some_and(|prev| prev != sha256) {
            self.fault(&key, FaultKind::Changed, format!("its SHA-256 is {sha256}"));
        }
    }

    /// Holds each sprite sheet against the manifest that names it.
    fn sheets(&mut self, chain: &[Link], mut sheets: BTreeMap<u64, (String, Sha256)>) {
        for link in chain {
            let found = sheets.remove(&link.seq);
            match (&link.thumbs, found) {
                (None, None) => {}
                (Some(thumbs), Some((key, sha256))) if thumbs.sha256 != sha256 => {
                    let detail = "it is not the sheet that its segment names";
                    self.fault(&key, FaultKind::Changed, detail);
                }
                (Some(_), Some(_)) => {}
                (Some(_), None) => {
                    // One that is listed and could not be read has its fault already.
                    let key = self.keys.thumb(link.seq);
                    if !self.faults.iter().any(|fault| fault.object == key) {
                        self.fault(&key, FaultKind::Missing, "its segment names it");
                    }
                }
                (None, Some((key, _))) => {
                    self.fault(&key, FaultKind::Swapped, "its segment names no sheet");
                }
            }
        }
    }
}
