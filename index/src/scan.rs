//! What does the store hold of one session? Everything a catalogue, or an agent that takes the
//! session up again, needs to know — read from the store alone.

use capture::{SessionId, WallTime, session::SessionHead};
use segment::{
    IdleRecord, Manifest, Sha256,
    end::{EndBody, EndRecord, ObjectEntry},
    idle,
    key::{ObjectKind, SessionKeys, parse},
    mp4,
};
use store::{Listed, Store, StoreError};

use crate::{
    catalog::{CommittedObject, ObjectBody, Stored},
    commit::Interrupted,
    locate::Listing,
};

/// A session as the store has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Where its objects lie.
    pub keys: SessionKeys,
    /// The head.
    pub head: SessionHead,
    /// Digest and size of the head.
    pub head_stored: Stored,
    /// Segments and idle records in `seq` order, each with its sprite sheet.
    pub objects: Vec<CommittedObject>,
    /// The end record, once it ended.
    pub end: Option<(EndBody, Stored)>,
    /// The server's notes that the recorder was silent: number and time.
    pub interrupted: Vec<(u64, WallTime)>,
    /// Log objects.
    pub logs: Vec<Listed>,
    /// Objects that cannot be read, and why.
    pub unreadable: Vec<Unreadable>,
}

impl Scan {
    /// Every recorder object in leaf order, as an end record lists them.
    #[must_use]
    pub fn entries(&self) -> Vec<ObjectEntry> {
        let head = ObjectEntry {
            key: self.keys.head(),
            sha256: self.head_stored.sha256,
            bytes: self.head_stored.bytes,
            from: capture::MediaTime::ZERO,
            to: capture::MediaTime::ZERO,
        };
        let objects = self.objects.iter();
        let objects = objects.flat_map(|o| o.thumb.iter().chain([&o.entry]).cloned());
        std::iter::once(head).chain(objects).collect()
    }
}

/// An object that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The object.
    pub key: String,
    /// Why not.
    pub problem: String,
}

/// Why a session cannot be scanned.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// Its head is missing or cannot be read: nothing else can be placed.
    #[error("object {key} cannot be read: {problem}")]
    Head {
        /// The head's key.
        key: String,
        /// Why not.
        problem: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Scans the session whose objects lie at `keys`.
///
/// # Errors
/// When the store fails or the head cannot be read. Other objects that cannot be read are told in
/// [`Scan::unreadable`].
pub async fn scan(store: &dyn Store, keys: &SessionKeys) -> Result<Scan, ScanError> {
    let listed = Listing::new(keys.prefix()).all(store).await?;
    let (head, head_stored) = read_head(store, keys).await?;
    let mut scan = Scan {
        keys: keys.clone(),
        head,
        head_stored,
        objects: Vec::new(),
        end: None,
        interrupted: Vec::new(),
        logs: Vec::new(),
        unreadable: Vec::new(),
    };
    let mut numbered = Vec::new();
    for object in listed {
        match parse(&object.key) {
            Some((_, ObjectKind::Segment { seq } | ObjectKind::Idle { seq })) => {
                numbered.push((seq, object));
            }
            Some((_, ObjectKind::Log { .. })) => scan.logs.push(object),
            Some((_, ObjectKind::End)) => match read_end(store, &object.key).await? {
                Ok(end) => scan.end = Some(end),
                Err(problem) => scan.unreadable.push(unreadable(object.key, problem)),
            },
            Some((_, ObjectKind::Interrupted { n })) => {
                match read_interrupted(store, &object.key).await? {
                    Ok(note) => scan.interrupted.push((n, note.at)),
                    Err(problem) => scan.unreadable.push(unreadable(object.key, problem)),
                }
            }
            // A sheet belongs to its segment, which names it.
            _ => {}
        }
    }
    numbered.sort_by_key(|(seq, _)| *seq);
    read_numbered(store, &mut scan, numbered).await?;
    Ok(scan)
}

fn unreadable(key: String, problem: String) -> Unreadable {
    Unreadable { key, problem }
}

async fn read_head(
    store: &dyn Store,
    keys: &SessionKeys,
) -> Result<(SessionHead, Stored), ScanError> {
    let key = keys.head();
    let fail = |problem: String| ScanError::Head {
        key: key.clone(),
        problem,
    };
    let bytes = match store.get(&key).await {
        Err(StoreError::NotFound { .. }) => return Err(fail("missing".into())),
        bytes => bytes?,
    };
    let head: SessionHead =
        serde_json::from_slice(&bytes).map_err(|error| fail(error.to_string()))?;
    if head.format != SessionHead::FORMAT {
        return Err(fail(format!("format {} is not known", head.format)));
    }
    if SessionKeys::new(head.id, head.start) != *keys {
        return Err(fail("it is the head of another session".into()));
    }
    Ok((head, Stored::of(&bytes)))
}

/// The inner error says what is wrong with the record.
pub(crate) async fn read_end(
    store: &dyn Store,
    key: &str,
) -> Result<Result<(EndBody, Stored), String>, StoreError> {
    let bytes = store.get(key).await?;
    let parsed = serde_json::from_slice::<EndRecord>(&bytes)
        .and_then(|record| serde_json::from_str::<EndBody>(&record.body));
    Ok(match parsed {
        Err(error) => Err(error.to_string()),
        Ok(body) if body.format != 1 => Err(format!("format {} is not known", body.format)),
        Ok(body) => Ok((body, Stored::of(&bytes))),
    })
}

async fn read_interrupted(
    store: &dyn Store,
    key: &str,
) -> Result<Result<Interrupted, String>, StoreError> {
    let bytes = store.get(key).await?;
    Ok(serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
}

/// Reads segments by their tails and idle records whole. Digests come from the end record, else
/// from the object that follows; only a last object is read for its digest.
async fn read_numbered(
    store: &dyn Store,
    scan: &mut Scan,
    numbered: Vec<(u64, Listed)>,
) -> Result<(), StoreError> {
    let mut read = Vec::new();
    for (seq, object) in numbered {
        match read_body(store, &object).await? {
            Ok((body, sha256)) if body.span().seq == seq && body.span().session == scan.head.id => {
                read.push((object, body, sha256));
            }
            Ok(_) => scan
                .unreadable
                .push(unreadable(object.key, "it is another object".into())),
            Err(problem) => scan.unreadable.push(unreadable(object.key, problem)),
        }
    }
    let followers: Vec<_> = read
        .iter()
        .skip(1)
        .map(|(_, body, _)| Some((body.span().seq, body.span().prev)))
        .chain([None])
        .collect();
    for ((object, body, sha256), follower) in read.into_iter().zip(followers) {
        let span = body.span();
        let told = scan.end.as_ref().and_then(|(end, _)| {
            let entry = end.objects.iter().find(|entry| entry.key == object.key)?;
            Some(entry.sha256)
        });
        let chained = follower
            .filter(|&(seq, _)| Some(seq) == span.seq.checked_add(1))
            .map(|(_, prev)| prev);
        let sha256 = match sha256.or(told).or(chained) {
            Some(sha256) => sha256,
            None => Sha256::of(&store.get(&object.key).await?),
        };
        let thumbs = match &body {
            ObjectBody::Segment(manifest) => manifest.thumbs.as_ref(),
            ObjectBody::Idle(_) => None,
        };
        let thumb = thumbs.map(|thumbs| ObjectEntry {
            key: scan.keys.thumb(span.seq),
            sha256: thumbs.sha256,
            bytes: thumbs.bytes,
            from: span.from,
            to: span.to,
        });
        scan.objects.push(CommittedObject {
            entry: ObjectEntry {
                sha256,
                bytes: object.bytes,
                from: span.from,
                to: span.to,
                key: object.key,
            },
            thumb,
            body,
        });
    }
    Ok(())
}

/// What a segment or idle record that lies in the store says about itself; the inner error says
/// why it cannot be read.
///
/// # Errors
/// When the store fails.
pub async fn read_object(
    store: &dyn Store,
    entry: &ObjectEntry,
) -> Result<Result<ObjectBody, String>, StoreError> {
    let listed = Listed {
        key: entry.key.clone(),
        bytes: entry.bytes,
    };
    Ok(read_body(store, &listed).await?.map(|(body, _)| body))
}

/// The object's own account, and its digest where it was read whole.
type Body = (ObjectBody, Option<Sha256>);

async fn read_body(store: &dyn Store, object: &Listed) -> Result<Result<Body, String>, StoreError> {
    if object.key.ends_with(".mp4") {
        let manifest = read_manifest(store, object).await?;
        return Ok(manifest.map(|manifest| (ObjectBody::Segment(Box::new(manifest)), None)));
    }
    let bytes = store.get(&object.key).await?;
    let record: Result<IdleRecord, _> = idle::read(&bytes);
    Ok(match record {
        Ok(record) => Ok((ObjectBody::Idle(Box::new(record)), Some(Sha256::of(&bytes)))),
        Err(error) => Err(with_causes(&error)),
    })
}

/// The manifest of a segment, by one range read of its tail, or two when it is long.
async fn read_manifest(
    store: &dyn Store,
    object: &Listed,
) -> Result<Result<Manifest, String>, StoreError> {
    let mut tail_bytes = mp4::TAIL_BYTES;
    loop {
        let start = object.bytes.saturating_sub(tail_bytes);
        let tail = store.get_range(&object.key, start..object.bytes).await?;
        match mp4::read_manifest(&tail) {
            Ok(manifest) => return Ok(Ok(manifest)),
            // A box longer than the file would ask for ever more.
            Err(mp4::ReadError::Tail { need_bytes })
                if tail_bytes < need_bytes && need_bytes <= object.bytes =>
            {
                tail_bytes = need_bytes;
            }
            Err(error) => return Ok(Err(with_causes(&error))),
        }
    }
}

/// An error and what caused it, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The session in `store`, scanned; `None` when it is not there.
///
/// # Errors
/// As [`scan`].
pub async fn find(store: &dyn Store, session: SessionId) -> Result<Option<Scan>, ScanError> {
    match crate::locate::find(store, session).await? {
        None => Ok(None),
        Some(keys) => Ok(Some(scan(store, &keys).await?)),
    }
}
