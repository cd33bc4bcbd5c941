//! Is a recording what its recorder stored? Hashes, order, chain and content of every object,
//! against the end record (recording.md, "Integrity"). Signatures come on top of this.

use std::collections::{BTreeMap, BTreeSet};

use capture::{MediaTime, SessionId};
use segment::{
    IdleRecord, Sha256,
    end::{EndBody, ObjectEntry},
    idle,
    key::{ObjectKind, SessionKeys, parse},
    manifest::{Span, Thumbs},
    mp4,
};
use serde::Serialize;

use crate::{
    catalog::Stored,
    locate::Listing,
    scan::{read_end, with_causes},
    store::{Store, StoreError},
};

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

    /// Reads every expected object. Gives the numbered ones that could be read.
    async fn objects(
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
        let parsed = serde_json::from_slice::<capture::session::SessionHead>(&bytes);
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

    /// Numbers without holes, spans that tile the session, and each naming the one before.
    fn order(&mut self, chain: &[Link], end: Option<&EndBody>) {
        for link in chain {
            if link.span.session != self.session || link.span.seq != link.seq {
                let detail = format!("it is object {} of {}", link.span.seq, link.span.session);
                self.fault(&link.key, FaultKind::Swapped, detail);
            }
        }
        let mut next = 0;
        for link in chain {
            if link.seq < next {
                self.fault(&link.key, FaultKind::Repeated, "its number is taken");
            }
            for seq in next..link.seq.min(next + 1000) {
                let key = self.keys.segment(seq);
                let idle = self.keys.idle(seq);
                if !self
                    .faults
                    .iter()
                    .any(|f| f.object == key || f.object == idle)
                {
                    self.fault(&key, FaultKind::Missing, "its number is left out");
                }
            }
            next = next.max(link.seq.saturating_add(1));
        }
        for pair in chain.windows(2) {
            let [before, after] = pair else { continue };
            if after.seq != before.seq.saturating_add(1) {
                continue; // told above
            }
            if after.span.prev != before.sha256 {
                let detail = format!("the object after it names {}", after.span.prev);
                self.fault(&before.key, FaultKind::Changed, detail);
            }
            if after.span.from != before.span.to {
                let (from, to) = (after.span.from, before.span.to);
                let detail = format!("it begins at {from}, and the one before it ends at {to}");
                self.fault(&after.key, FaultKind::Changed, detail);
            }
        }
        if chain
            .first()
            .is_some_and(|link| link.seq == 0 && link.span.from != MediaTime::ZERO)
        {
            self.fault(
                &chain[0].key,
                FaultKind::Changed,
                "the first does not begin at 0",
            );
        }
        if let (Some(end), Some(last)) = (end, chain.last()) {
            self.end_agrees(end, last, chain);
        }
    }

    /// Holds what the end record says against the objects.
    fn end_agrees(&mut self, end: &EndBody, last: &Link, chain: &[Link]) {
        let key = self.keys.end();
        let last_is_there = end
            .objects
            .iter()
            .rev()
            .find(|entry| is_numbered(&entry.key))
            .is_some_and(|entry| entry.key == last.key);
        if last_is_there && end.duration != last.span.to {
            let detail = format!(
                "it says {}, and the last object ends at {}",
                end.duration, last.span.to
            );
            self.fault(&key, FaultKind::Changed, detail);
        }
        for link in chain {
            let entry = end.objects.iter().find(|entry| entry.key == link.key);
            let agrees =
                |entry: &ObjectEntry| (entry.from, entry.to) == (link.span.from, link.span.to);
            if entry.is_some_and(|entry| !agrees(entry)) {
                let detail = format!("it gives {} another place", link.key);
                self.fault(&key, FaultKind::Changed, detail);
            }
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
