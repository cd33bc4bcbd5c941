//! Is a recording what its recorder stored? Hashes, order, chain and content of every object,
//! against the end record (recording.md, "Integrity"). Signatures come on top of this.

mod content;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use capture::{MediaTime, SessionId};
use segment::{
    Sha256,
    end::{EndBody, ObjectEntry},
    key::{ObjectKind, SessionKeys, parse},
    manifest::{Span, Thumbs},
};
use serde::Serialize;
use store::{Store, StoreError};

use crate::{catalog::Stored, locate::Listing, scan::read_end};

/// What is known of a session from elsewhere: its catalogue row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// An agent records it right now.
    pub live: bool,
    /// The head, as it was committed.
    pub head: Option<Stored>,
    /// The end record, as it was committed.
    pub end: Option<Stored>,
}

/// What verification found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The session.
    pub session: SessionId,
    /// Whether it has its end record; `false` is a fault unless the session is live.
    pub complete: bool,
    /// How many objects were read and compared.
    pub objects: u64,
    /// Everything that is wrong; nothing when the session is as recorded.
    pub faults: Vec<Fault>,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The object's key.
    pub object: String,
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What was found.
    pub detail: String,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Its bytes are not those that were recorded.
    Changed,
    /// It is not there.
    Missing,
    /// It holds another object's bytes, or stands in another's place.
    Swapped,
    /// It is there twice.
    Repeated,
    /// Its end is cut off.
    Truncated,
    /// It is there, but the end record does not list it.
    Unlisted,
    /// There is no end record, and no recorder that could still write it.
    NoEnd,
}

/// Verifies the session whose objects lie at `keys`.
///
/// # Errors
/// When the store fails; everything that is wrong with the objects is in the report.
pub async fn verify(
    store: &dyn Store,
    session: SessionId,
    keys: &SessionKeys,
    known: Known,
) -> Result<Report, StoreError> {
    let listed = Listing::new(keys.prefix()).all(store).await?;
    let mut check = Check {
        store,
        session,
        keys,
        there: listed
            .into_iter()
            .map(|object| (object.key, object.bytes))
            .collect(),
        read: 0,
        faults: Vec::new(),
    };
    let end = check.end(known).await?;
    let complete = end.is_some();
    let expected = match &end {
        Some(end) => end.objects.clone(),
        None => check.unlisted_expectation(known),
    };
    check.listing(&expected, end.is_some());
    let chain = check.objects(&expected, known).await?;
    check.order(&chain, end.as_ref());
    check
        .faults
        .sort_by(|a, b| (&a.object, a.kind).cmp(&(&b.object, b.kind)));
    check
        .faults
        .dedup_by(|a, b| (&a.object, a.kind) == (&b.object, b.kind));
    Ok(Report {
        session,
        complete,
        objects: check.read,
        faults: check.faults,
    })
}

struct Check<'a> {
    store: &'a dyn Store,
    session: SessionId,
    keys: &'a SessionKeys,
    /// Every object of the session and its size.
    there: BTreeMap<String, u64>,
    read: u64,
    faults: Vec<Fault>,
}

/// A numbered object that could be read, in the order of its key.
struct Link {
    key: String,
    seq: u64,
    sha256: Sha256,
    span: Span,
    thumbs: Option<Thumbs>,
}

/// Stands where nothing is known of an object's bytes.
const UNKNOWN: [u8; 32] = [0; 32];

impl Check<'_> {
    fn fault(&mut self, object: &str, kind: FaultKind, detail: impl Into<String>) {
        self.faults.push(Fault {
            object: object.to_owned(),
            kind,
            detail: detail.into(),
        });
    }

    /// The end record, if there is a sound one.
    async fn end(&mut self, known: Known) -> Result<Option<EndBody>, StoreError> {
        let key = self.keys.end();
        if !self.there.contains_key(&key) {
            match known.end {
                Some(_) => self.fault(&key, FaultKind::Missing, "it was committed and is gone"),
                None if known.live => {}
                None => self.fault(&key, FaultKind::NoEnd, "the session did not end properly"),
            }
            return Ok(None);
        }
        self.read += 1;
        let (body, stored) = match read_end(self.store, &key).await? {
            Ok(end) => end,
            Err(problem) => {
                self.fault(&key, FaultKind::Changed, problem);
                return Ok(None);
            }
        };
        if known.end.is_some_and(|known| known != stored) {
            self.fault(
                &key,
                FaultKind::Changed,
                "it is not the one that was committed",
            );
        }
        if body.session != self.session {
            self.fault(&key, FaultKind::Swapped, "it is another session's");
        }
        Ok(Some(body))
    }

    /// Without an end record nothing says what should be there but the objects themselves.
    fn unlisted_expectation(&self, known: Known) -> Vec<ObjectEntry> {
        let head = known.head.map_or(UNKNOWN.into(), |head| head.sha256);
        let entry = |key: &str, bytes, sha256| ObjectEntry {
            key: key.to_owned(),
            sha256,
            bytes,
            from: MediaTime::ZERO,
            to: MediaTime::ZERO,
        };
        let head_key = self.keys.head();
        let mut expected = vec![entry(&head_key, 0, head)];
        for (key, &bytes) in self.there.iter().filter(|(key, _)| is_recorders(key)) {
            if *key != head_key {
                expected.push(entry(key, bytes, UNKNOWN.into()));
            }
        }
        expected
    }

    /// Compares what is listed with what is there, as far as names go.
    fn listing(&mut self, expected: &[ObjectEntry], ended: bool) {
        let (mut keys, mut digests) = (BTreeSet::new(), BTreeMap::new());
        for entry in expected {
            if !keys.insert(entry.key.clone()) {
                self.fault(
                    &entry.key,
                    FaultKind::Repeated,
                    "the end record lists it twice",
                );
            }
            if !is_recorders(&entry.key) || !entry.key.starts_with(&self.keys.prefix()) {
                self.fault(
                    &entry.key,
                    FaultKind::Swapped,
                    "it is no object of this session",
                );
            }
            if is_numbered(&entry.key)
                && ended
                && let Some(first) = digests.insert(entry.sha256, entry.key.clone())
            {
                let detail = format!("the end record gives it the bytes of {first}");
                self.fault(&entry.key, FaultKind::Repeated, detail);
            }
        }
        let extra: Vec<String> = self
            .there
            .keys()
            .filter(|key| is_recorders(key) && !keys.contains(*key))
            .cloned()
            .collect();
        for key in extra {
            self.fault(&key, FaultKind::Unlisted, "the end record does not list it");
        }
    }
}

/// Whether the recorder writes such objects: those that the end record lists.
fn is_recorders(key: &str) -> bool {
    let kind = parse(key).map(|(_, kind)| kind);
    matches!(kind, Some(ObjectKind::Head | ObjectKind::Thumb { .. })) || is_numbered(key)
}

fn is_numbered(key: &str) -> bool {
    let kind = parse(key).map(|(_, kind)| kind);
    matches!(
        kind,
        Some(ObjectKind::Segment { .. } | ObjectKind::Idle { .. })
    )
}
