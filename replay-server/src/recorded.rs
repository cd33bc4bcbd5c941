//! Reads what was recorded beside the picture: the events in segments and idle records.

use capture::{MediaTime, SessionId, event::Event};
use index::{
    CatalogError, StoreError,
    catalog::{MediaRow, ObjectRow},
};
use segment::{idle, mp4::read_events};

use crate::{archive::Archive, media::PictureError};

/// Kinds of events that are input.
pub const INPUT_KINDS: &[&str] = &["key", "text_run", "pointer", "wheel", "clipboard"];
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
    /// How many at least, when there are as many; reading stops at the end of that object.
    pub enough: usize,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            from: MediaTime::ZERO,
            to: MediaTime::from_ms(u64::MAX),
            kinds: KINDS.to_vec(),
            text: None,
            enough: usize::MAX,
        }
    }
}

impl Wanted {
    fn covers(&self, event: &Event) -> bool {
        let in_time = self.from <= event.t && event.t < self.to;
        let has_text = |text: &str| {
            let data = serde_json::to_string(&event.data).unwrap_or_default();
            data.to_lowercase().contains(&text.to_lowercase())
        };
        in_time
            && self.kinds.contains(&event.kind.as_str())
            && self.text.as_deref().is_none_or(has_text)
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

/// The events of `session` that are `wanted`, in time order.
///
/// # Errors
/// When the catalogue or store cannot be asked, or an object is damaged.
pub async fn read(
    archive: &Archive,
    session: SessionId,
    wanted: &Wanted,
) -> Result<Vec<Found>, RecordedError> {
    let mut found = Vec::new();
    if wanted.kinds.is_empty() {
        return Ok(found);
    }
    for object in archive.catalog.objects(session).await? {
        if wanted.to <= object.from || found.len() >= wanted.enough {
            break;
        }
        // An event at the very end of an object has its end as its time.
        if object.to < wanted.from {
            continue;
        }
        let events = match &object.media {
            Some(media) if media.events.count == 0 => continue,
            Some(media) => in_segment(archive, &object, media).await?,
            None => in_idle(archive, &object).await?,
        };
        let numbered = events.into_iter().enumerate();
        let covered = numbered.filter(|(_, event)| wanted.covers(event));
        found.extend(covered.map(|(n, event)| Found {
            id: format!("{}.{n}", object.seq),
            event,
        }));
    }
    found.sort_by_key(|found| found.event.t);
    Ok(found)
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
