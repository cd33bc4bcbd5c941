//! A session's objects as the catalogue takes and gives them.

use capture::{MediaTime, SessionId};
use segment::{
    IdleRecord, Manifest, Sha256,
    end::ObjectEntry,
    manifest::{EventsBox, Init, Span},
};

/// Digest and size of an object's stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// SHA-256 of the bytes.
    pub sha256: Sha256,
    /// How many there are.
    pub bytes: u64,
}

impl Stored {
    /// Digest and size of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            sha256: Sha256::of(bytes),
            bytes: bytes.len() as u64,
        }
    }
}

/// An object that is in the store, read back and equal.
#[derive(Clone, Debug, PartialEq)]
pub struct CommittedObject {
    /// The object itself.
    pub entry: ObjectEntry,
    /// Its sprite sheet.
    pub thumb: Option<ObjectEntry>,
    /// What it says about itself.
    pub body: ObjectBody,
}

/// What an object says about itself.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectBody {
    /// It is a segment.
    Segment(Box<Manifest>),
    /// It is an idle record.
    Idle(Box<IdleRecord>),
}

impl ObjectBody {
    /// Where it lies and what stands beside the picture.
    #[must_use]
    pub fn span(&self) -> &Span {
        match self {
            Self::Segment(manifest) => &manifest.span,
            Self::Idle(record) => &record.span,
        }
    }
}

/// One object of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRow {
    /// The session.
    pub session: SessionId,
    /// Its number.
    pub seq: u64,
    /// Which run of the recorder wrote it.
    pub run: u32,
    /// Its key in the store.
    pub key: String,
    /// Digest and size.
    pub stored: Stored,
    /// Where it begins.
    pub from: MediaTime,
    /// Where it ends.
    pub to: MediaTime,
    /// What a segment has and an idle record has not.
    pub media: Option<MediaRow>,
    /// Key, digest and size of its sprite sheet.
    pub thumb: Option<(String, Stored)>,
}

/// Where a segment's parts lie in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaRow {
    /// `ftyp` and `moov`.
    pub init: Init,
    /// The events box.
    pub events: EventsBox,
    /// Each fragment's first byte and length, in order.
    pub fragments: Vec<segment::manifest::Fragment>,
}
