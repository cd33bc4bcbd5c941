//! How one record lies in a spool file (`FORMAT.md`, "Spool records").

use capture::{MediaTime, event::Event};
use serde::{Serialize, de::DeserializeOwned};

use super::{Record, Sample};

/// The longest body of a record. A fragment ends at 4 MiB, so no honest sample comes near.
pub const MAX_BODY_BYTES: usize = 16 << 20;

/// Fields of an event that its `data` must not name again: the line could not be read back.
const EVENT_FIELDS: [&str; 3] = ["t", "kind", "origin"];

/// The record kinds as the file holds them.
mod kind {
    pub(super) const OPEN: u8 = 1;
    pub(super) const INIT: u8 = 2;
    pub(super) const SAMPLE: u8 = 3;
    pub(super) const EVENT: u8 = 4;
    pub(super) const ANCHOR: u8 = 5;
    pub(super) const MASK: u8 = 6;
    pub(super) const UNMASK: u8 = 7;
    pub(super) const GAP: u8 = 8;
    pub(super) const TICK: u8 = 9;
    pub(super) const REPEAT: u8 = 10;
    pub(super) const THUMBS: u8 = 11;
    pub(super) const CLOSE: u8 = 12;
}

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// It exceeds [`MAX_BODY_BYTES`].
    #[error("record body of {bytes} bytes exceeds {MAX_BODY_BYTES}")]
    TooLarge {
        /// The body's length.
        bytes: usize,
    },
    /// An event's data names a field that every event has.
    #[error("event data names the field {field:?}")]
    ReservedField {
        /// The field.
        field: &'static str,
    },
    /// The body has no JSON form.
    #[error("record body has no json form")]
    Json(#[from] serde_json::Error),
}

impl Record {
    /// Appends the record to `out`, which is left as it was on error.
    ///
    /// # Errors
    /// When the body is too large, or an event's data would hide its own fields.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Open(open) => append_json(out, kind::OPEN, open),
            Self::Init(init) => append_json(out, kind::INIT, init),
            Self::Sample(sample) => append(
                out,
                kind::SAMPLE,
                &[
                    &sample.t.ms().to_be_bytes(),
                    &[u8::from(sample.key)],
                    &sample.changed_permille.to_be_bytes(),
                    &sample.bytes,
                ],
            ),
            Self::Event(event) => append_event(out, event),
            Self::Anchor(anchor) => append_json(out, kind::ANCHOR, anchor),
            Self::Mask(mask) => append_json(out, kind::MASK, mask),
            Self::Unmask(mask) => append_json(out, kind::UNMASK, mask),
            Self::Gap(gap) => append_json(out, kind::GAP, gap),
            Self::Tick(t) => append(out, kind::TICK, &[&t.ms().to_be_bytes()]),
            Self::Repeat(repeat) => append_json(out, kind::REPEAT, repeat),
            Self::Thumbs(thumbs) => append_json(out, kind::THUMBS, thumbs),
            Self::Close(close) => append_json(out, kind::CLOSE, close),
        }
    }
}

fn append_event(out: &mut Vec<u8>, event: &Event) -> Result<(), EncodeError> {
    let named = |field: &&str| event.data.contains_key(*field);
    if let Some(field) = EVENT_FIELDS.into_iter().find(named) {
        return Err(EncodeError::ReservedField { field });
    }
    append_json(out, kind::EVENT, event)
}

fn append_json(out: &mut Vec<u8>, kind: u8, body: &impl Serialize) -> Result<(), EncodeError> {
    append(out, kind, &[&serde_json::to_vec(body)?])
}

/// Appends `len u32, crc32c u32, kind u8, body`, where the body is `parts` joined.
fn append(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) -> Result<(), EncodeError> {
    let bytes = parts.iter().map(|part| part.len()).sum();
    let len = u32::try_from(bytes)
        .ok()
        .filter(|_| bytes <= MAX_BODY_BYTES)
        .ok_or(EncodeError::TooLarge { bytes })?;
    let checksum = parts.iter().fold(crc32c::crc32c(&[kind]), |sum, part| {
        crc32c::crc32c_append(sum, part)
    });
    out.reserve(bytes.saturating_add(9));
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&checksum.to_be_bytes());
    out.push(kind);
    parts.iter().for_each(|part| out.extend_from_slice(part));
    Ok(())
}

/// A [`Sample`] that borrows its access unit from the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRef<'a> {
    /// When its pixels were received.
    pub t: MediaTime,
    /// Whether it is an IDR picture.
    pub key: bool,
    /// The share of the screen that changed, in thousandths.
    pub changed_permille: u16,
    /// The access unit.
    pub bytes: &'a [u8],
}

impl From<SampleRef<'_>> for Sample {
    fn from(sample: SampleRef<'_>) -> Self {
        Self {
            t: sample.t,
            key: sample.key,
            changed_permille: sample.changed_permille,
            bytes: sample.bytes.to_vec(),
        }
    }
}

/// A record as the file holds it: samples, which are nearly all of its bytes, are not copied.
pub(crate) enum Entry<'a> {
    Sample(SampleRef<'a>),
    Other(Record),
}

impl<'a> Entry<'a> {
    /// The record of `kind` with this body; `None` when there is no such kind or body.
    pub(super) fn decode(kind: u8, body: &'a [u8]) -> Option<Self> {
        let record = match kind {
            kind::SAMPLE => return sample(body).map(Self::Sample),
            kind::OPEN => Record::Open(json(body)?),
            kind::INIT => Record::Init(json(body)?),
            kind::EVENT => Record::Event(json(body)?),
            kind::ANCHOR => Record::Anchor(json(body)?),
            kind::MASK => Record::Mask(json(body)?),
            kind::UNMASK => Record::Unmask(json(body)?),
            kind::GAP => Record::Gap(json(body)?),
            kind::TICK => Record::Tick(MediaTime::from_ms(u64::from_be_bytes(
                body.try_into().ok()?,
            ))),
            kind::REPEAT => Record::Repeat(json(body)?),
            kind::THUMBS => Record::Thumbs(json(body)?),
            kind::CLOSE => Record::Close(json(body)?),
            _ => return None,
        };
        Some(Self::Other(record))
    }
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

fn sample(body: &[u8]) -> Option<SampleRef<'_>> {
    let (t, body) = body.split_first_chunk::<8>()?;
    let (&[flags], body) = body.split_first_chunk::<1>()?;
    let (changed, bytes) = body.split_first_chunk::<2>()?;
    Some(SampleRef {
        t: MediaTime::from_ms(u64::from_be_bytes(*t)),
        key: match flags {
            0 => false,
            1 => true,
            _ => return None,
        },
        changed_permille: u16::from_be_bytes(*changed),
        bytes,
    })
}
