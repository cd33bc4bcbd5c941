//! Reads what was recorded beside the picture: the events in segments and idle records.

mod words;

use capture::{
    MediaTime, SessionId,
    event::{Event, LATE_MS},
};
use index::{
    CatalogError,
    catalog::{MediaRow, ObjectRow},
};
use segment::{idle, mp4::read_events};
use store::StoreError;

pub use words::words;

use crate::{archive::Archive, media::PictureError};

/// What was found is enough when it takes this much: a single clipboard may hold 1 MiB. With what
/// one more object holds this bounds an answer, however many rows it may have.
const ENOUGH_BYTES: usize = 16 << 20;

/// Every kind of event that is recorded beside the picture.
pub const KINDS: &[&str] = &[
    "key",
    "text_run",
    "pointer",
    "wheel",
    "clipboard",
    "cursor",
    "size",
    "title",
    "health",
    "mark",
    "action",
];

/// Which events to read.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// From here on.
    pub from: MediaTime,
    /// Before here.
    pub to: MediaTime,
    /// Of these kinds.
    pub kinds: Vec<&'static str>,
    /// Containing this text, whatever its case.
    pub text: Option<String>,
    /// How many at least, when there are as many and they are not too large together.
    pub enough: usize,
}

impl Wanted {
    fn covers(&self, event: &Event) -> bool {
        self.from <= event.t
            && event.t < self.to
            && self.kinds.contains(&event.kind.as_str())
            && self.text.as_deref().is_none_or(|it| words::say(event, it))
    }
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its place in the recording: `{seq}.{position}`.
    pub id: String,
    /// The event.
    pub event: Event,
}

/// Why events could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The catalogue cannot be asked.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The store did not give the bytes.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A segment's events are damaged.
    #[error("the events of object {key} cannot be read")]
    Segment {
        /// The object.
        key: String,
        /// Why not.
        source: segment::mp4::ReadError,
    },
    /// An idle record is damaged.
    #[error("object {key} cannot be read")]
    Idle {
        /// The object.
        key: String,
        /// Why not.
        source: idle::IdleError,
    },
    /// The process is shutting down.
    #[error(transparent)]
    Cancelled(#[from] PictureError),
}

/// What was found of the events that are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The events, in time order; equal times in the order of recording.
    pub found: Vec<Found>,
    /// From here on nothing was read, because enough was found before.
    pub stopped: Option<MediaTime>,
}

/// The events of `session` that are `wanted`.
///
/// # Errors
/// When the catalogue or store cannot be asked, or an object is damaged.
pub async fn read(
    archive: &Archive,
    session: SessionId,
    wanted: &Wanted,
) -> Result<Reading, RecordedError> {
    let mut found: Vec<Found> = Vec::new();
    let mut stopped = None;
    let objects = if wanted.kinds.is_empty() {
        Vec::new()
    } else {
        archive.catalog.objects(session).await?
    };
    for object in objects {
        // INVARIANT: neither this object nor a later one holds an event before `reach`.
        let reach = MediaTime::from_ms(object.from.ms().saturating_sub(LATE_MS));
        if wanted.to <= reach {
            break;
        }
        // An event at the very end of an object has its end as its time.
        if object.to < wanted.from {
            continue;
        }
        if is_enough(&found, reach, wanted) {
            found.retain(|found| found.event.t < reach);
            stopped = Some(reach);
            break;
        }
        let events = in_object(archive, &object).await?;
        let numbered = events.into_iter().enumerate();
        let covered = numbered.filter(|(_, event)| wanted.covers(event));
        found.extend(covered.map(|(n, event)| Found {
            id: format!("{}.{n}", object.seq),
            event,
        }));
    }
    found.sort_by_key(|found| found.event.t);
    Ok(Reading { found, stopped })
}

/// Whether what was found before `reach` is enough. Rows at `wanted.from` do not count by size:
/// a page that goes on there was given them before, and must come further than that.
fn is_enough(found: &[Found], reach: MediaTime, wanted: &Wanted) -> bool {
    let settled = || found.iter().filter(|found| found.event.t < reach);
    let later = || settled().filter(|found| wanted.from < found.event.t);
    let bytes = || later().map(|found| words::size_bytes(&found.event));
    settled().count() >= wanted.enough || bytes().sum::<usize>() >= ENOUGH_BYTES
}

/// When each act of input of `session` was: a key or a button that goes down, a path, a turn of
/// the wheel, a clipboard. What is let go and what sums keys up is no act of its own.
///
/// # Errors
/// As [`read`].
pub async fn acts(
    archive: &Archive,
    session: SessionId,
    mut act: impl FnMut(MediaTime),
) -> Result<(), RecordedError> {
    for object in archive.catalog.objects(session).await? {
        let events = in_object(archive, &object).await?;
        let acts = events.iter().filter(|event| is_act(event));
        acts.for_each(|event| act(event.t));
    }
    Ok(())
}

fn is_act(event: &Event) -> bool {
    let says = |name: &str| event.data.get(name);
    match event.kind.as_str() {
        "key" => says("down").is_none_or(|down| down != false),
        "pointer" => says("action").is_none_or(|action| action != "up"),
        "wheel" | "clipboard" => true,
        _ => false,
    }
}

async fn in_object(archive: &Archive, object: &ObjectRow) -> Result<Vec<Event>, RecordedError> {
    match &object.media {
        Some(media) if media.events.count == 0 => Ok(Vec::new()),
        Some(media) => in_segment(archive, object, media).await,
        None => in_idle(archive, object).await,
    }
}

async fn in_segment(
    archive: &Archive,
    object: &ObjectRow,
    media: &MediaRow,
) -> Result<Vec<Event>, RecordedError> {
    let events = media.events.clone();
    let bytes = archive.media.part(&object.key, events.byte_range()).await?;
    let read = archive.media.work(move || read_events(&bytes, &events));
    read.await?.map_err(|source| RecordedError::Segment {
        key: object.key.clone(),
        source,
    })
}

async fn in_idle(archive: &Archive, object: &ObjectRow) -> Result<Vec<Event>, RecordedError> {
    let bytes = archive
        .media
        .part(&object.key, 0..object.stored.bytes)
        .await?;
    let record = archive.media.work(move || idle::read(&bytes)).await?;
    let record = record.map_err(|source| RecordedError::Idle {
        key: object.key.clone(),
        source,
    })?;
    Ok(record.events)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_act_counts_once() {
        let counts = |event: serde_json::Value| {
            let mut event = event;
            event["t"] = 1.into();
            event["origin"] = "wire".into();
            is_act(&serde_json::from_value(event).unwrap())
        };
        assert!(counts(json!({"kind": "key", "name": "a", "down": true})));
        assert!(!counts(json!({"kind": "key", "name": "a", "down": false})));
        assert!(!counts(
            json!({"kind": "text_run", "text": "a", "keys": 1, "to": 1})
        ));
        assert!(counts(json!({"kind": "pointer", "action": "path"})));
        assert!(!counts(json!({"kind": "pointer", "action": "up"})));
        assert!(!counts(json!({"kind": "mark", "name": "step"})));
    }
}
