//! Reads a segment's parts: the manifest from the file's tail, then what it names by range.
#![warn(clippy::arithmetic_side_effects)]

use std::ops::Range;

use capture::{Size, event::Event};

use super::{
    MAX_EVENTS_BYTES, MAX_MANIFEST_BYTES, ReadError,
    boxes::{Boxes, take, take_u32},
    uuid,
};
use crate::{
    Manifest, Sha256,
    manifest::EventsBox,
    packed::{UnpackError, unpack, unpack_json},
};

/// How much of a file's tail to read first: nearly every manifest fits.
pub const TAIL_BYTES: u64 = 16 << 10;

/// The fields of a `VisualSampleEntry` before its boxes (ISO/IEC 14496-12, 12.1.3).
const VISUAL_SAMPLE_ENTRY_BYTES: usize = 78;
/// `version`, `flags` and `entry_count` before the boxes of `stsd`.
const STSD_FIELDS_BYTES: usize = 8;

/// Reads the manifest from `tail`, the last bytes of a segment or all of it. It agrees with
/// itself; whether the file agrees with it only [`check`](super::check) tells.
///
/// # Errors
/// [`ReadError::Tail`] when `tail` is too short; others when the manifest is damaged, too large,
/// of another format, or contradicts itself.
pub fn read_manifest(tail: &[u8]) -> Result<Manifest, ReadError> {
    let name = "uuid:manifest";
    let payload = manifest_payload(tail)?;
    let manifest: Manifest = unpack_json(payload, MAX_MANIFEST_BYTES)
        .map_err(|source| ReadError::Unpack { name, source })?;
    manifest.validate()?;
    Ok(manifest)
}

/// The packed manifest at the end of `tail`.
fn manifest_payload(tail: &[u8]) -> Result<&[u8], ReadError> {
    let end = u64::try_from(tail.len()).unwrap_or(u64::MAX);
    let bad = |problem| ReadError::Box {
        name: "uuid:manifest".to_owned(),
        offset: end,
        problem,
    };
    let size = tail.last_chunk().copied().map(u32::from_be_bytes);
    let need_bytes = size.map_or(TAIL_BYTES, u64::from);
    if need_bytes > MAX_MANIFEST_BYTES {
        return Err(bad("is too large: this is no segment"));
    }
    let start = end
        .checked_sub(need_bytes)
        .ok_or(ReadError::Tail { need_bytes })?;
    let start = usize::try_from(start).map_err(|_| ReadError::Tail { need_bytes })?;
    let mut boxes = Boxes::new(tail.get(start..).unwrap_or(&[]), 0);
    let payload = boxes.expect(b"uuid").ok().and_then(|found| {
        let body = found.body.strip_prefix(&uuid::MANIFEST)?;
        boxes.end(b"uuid").ok()?;
        body.get(..body.len().checked_sub(uuid::TRAILER_BYTES)?)
    });
    payload.ok_or_else(|| bad("does not end the file: this is no segment"))
}

/// The bytes of a part that a manifest names, cut from the whole file.
///
/// # Errors
/// When the part lies beyond the file's end.
pub fn part(file: &[u8], range: Range<u64>) -> Result<&[u8], ReadError> {
    let Range { start, end } = range;
    usize::try_from(start)
        .ok()
        .zip(usize::try_from(end).ok())
        .and_then(|(start, end)| file.get(start..end))
        .ok_or(ReadError::Range {
            from: start,
            to: end,
        })
}

/// Reads the events from the bytes of their box, in the order in which they were recorded.
///
/// # Errors
/// When the box is not the one the manifest names, is damaged or too large.
pub fn read_events(events_box: &[u8], manifest: &EventsBox) -> Result<Vec<Event>, ReadError> {
    let offset = manifest.offset;
    let name = "uuid:events";
    let bad = |problem| ReadError::Box {
        name: name.to_owned(),
        offset,
        problem,
    };
    let mut boxes = Boxes::new(events_box, offset);
    let payload = boxes.expect(b"uuid")?.body.strip_prefix(&uuid::EVENTS);
    boxes.end(b"uuid")?;
    let payload = payload.ok_or_else(|| bad("has another type"))?;
    if Sha256::of(payload) != manifest.sha256 {
        return Err(bad("is not the one the manifest names"));
    }
    let unpack = |source| ReadError::Unpack { name, source };
    let lines = self::unpack(payload, MAX_EVENTS_BYTES).map_err(unpack)?;
    let events: Vec<Event> = serde_json::Deserializer::from_slice(&lines)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|error| unpack(UnpackError::Json(error)))?;
    if u64::try_from(events.len()) == Ok(manifest.count) {
        Ok(events)
    } else {
        Err(bad("has another number of events than the manifest says"))
    }
}

/// What an init part says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitParts<'a> {
    /// The coded size in pixels.
    pub coded: Size,
    /// The `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15): a decoder's extradata.
    pub avcc: &'a [u8],
}

/// Reads `ftyp moov`.
///
/// # Errors
/// When a box is missing or does not fit.
pub fn read_init(init: &[u8]) -> Result<InitParts<'_>, ReadError> {
    let mut boxes = Boxes::new(init, 0);
    boxes.expect(b"ftyp")?;
    let moov = boxes.expect(b"moov")?;
    boxes.end(b"moov")?;
    let trak = moov.children(0).find(b"trak")?;
    let mdia = trak.children(0).find(b"mdia")?;
    let minf = mdia.children(0).find(b"minf")?;
    let stbl = minf.children(0).find(b"stbl")?;
    let stsd = stbl.children(0).find(b"stsd")?;
    let avc1 = stsd.children(STSD_FIELDS_BYTES).find(b"avc1")?;
    let avcc = avc1.children(VISUAL_SAMPLE_ENTRY_BYTES).find(b"avcC")?;
    let coded = visual_size(avc1.body)
        .ok_or_else(|| ReadError::bad(b"avc1", avc1.offset, "has no picture size"))?;
    Ok(InitParts {
        coded,
        avcc: avcc.body,
    })
}

/// `width` and `height` of a `VisualSampleEntry`.
fn visual_size(mut fields: &[u8]) -> Option<Size> {
    // SampleEntry: reserved, data_reference_index; then pre_defined and reserved.
    take::<24>(&mut fields)?;
    let both = take_u32(&mut fields)?;
    Some(Size::new(both >> 16, both & 0xffff))
}
