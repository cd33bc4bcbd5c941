//! Writes a draft as the bytes of an object.

use capture::{MediaTime, event::Event};

use super::{AssembleError, Assembled, Assembly, draft::Draft};
use crate::{
    IdleRecord, Manifest, Sha256,
    idle::MAX_IDLE_BYTES,
    manifest::{EventsBox, FORMAT, Fragment, Init, Thumbs},
    mp4::{self, MAX_EVENTS_BYTES, MAX_MANIFEST_BYTES, WriteError},
    packed,
    record::SampleRef,
};

/// Room for boxes and the manifest around the samples, so that a file is allocated once.
const AROUND_SAMPLES_BYTES: usize = 64 << 10;

/// Writes an object without media.
pub(super) fn idle(draft: Draft<'_>, assembly: Assembly<'_>) -> Result<Assembled, AssembleError> {
    let record = IdleRecord {
        format: FORMAT,
        span: draft.span(assembly.prev),
        events: draft.events,
    };
    let bytes = pack("idle record", &serde_json::to_vec(&record)?, MAX_IDLE_BYTES)?;
    Ok(Assembled::Idle { bytes, record })
}

/// Writes `ftyp moov (moof mdat)* uuid(events) uuid(manifest)`.
pub(super) fn segment(
    draft: Draft<'_>,
    assembly: Assembly<'_>,
) -> Result<Assembled, AssembleError> {
    let media: usize = draft.samples().map(|(sample, _)| sample.bytes.len()).sum();
    let mut out = Vec::with_capacity(media.saturating_add(AROUND_SAMPLES_BYTES));
    let manifest = Manifest {
        format: FORMAT,
        init: init(&mut out, &draft)?,
        fragments: fragments(&mut out, &draft)?,
        events: events(&mut out, &draft.events)?,
        thumbs: thumbs(&draft, assembly.sheet),
        hold_back_ms: 0,
        span: draft.span(assembly.prev),
    };
    let json = serde_json::to_vec(&manifest)?;
    mp4::uuid::write_manifest(&mut out, &pack("manifest", &json, MAX_MANIFEST_BYTES)?)?;
    Ok(Assembled::Segment {
        bytes: out,
        manifest,
    })
}

fn init(out: &mut Vec<u8>, draft: &Draft<'_>) -> Result<Init, AssembleError> {
    let t = draft.from();
    let init = draft.init.as_ref().ok_or(AssembleError::NoInit { t })?;
    let codec = mp4::init::write(out, init)?;
    Ok(Init {
        offset: 0,
        len: bytes(out),
        codec,
        width: init.coded.w,
        height: init.coded.h,
        crop: init.crop,
    })
}

/// Writes the fragments: each begins at a key sample.
fn fragments(out: &mut Vec<u8>, draft: &Draft<'_>) -> Result<Vec<Fragment>, AssembleError> {
    let samples: Vec<_> = draft.samples().collect();
    let mut fragments = Vec::new();
    for gop in samples.chunk_by(|_, (next, _)| !next.key) {
        if let (Some((first, _)), Some((_, end))) = (gop.first(), gop.last()) {
            fragments.push(fragment(out, first.t, *end, gop)?);
        }
    }
    Ok(fragments)
}

fn fragment(
    out: &mut Vec<u8>,
    t: MediaTime,
    end: MediaTime,
    gop: &[(SampleRef<'_>, MediaTime)],
) -> Result<Fragment, AssembleError> {
    let offset = out.len();
    let run: Vec<(u32, &[u8])> = gop
        .iter()
        .map(|(sample, to)| Ok((duration(sample.t, *to)?, sample.bytes)))
        .collect::<Result<_, WriteError>>()?;
    mp4::fragment::write(out, t, &run)?;
    let samples = gop
        .iter()
        .map(|(sample, _)| {
            let size = mp4::field("sample_size", sample.bytes.len())?;
            Ok((sample.t.ms_since(t), size))
        })
        .collect::<Result<_, WriteError>>()?;
    let changed = gop.iter().filter(|(s, _)| s.changed_permille > 0).count();
    Ok(Fragment {
        t,
        dur: end.ms_since(t),
        offset: u64::try_from(offset).unwrap_or(u64::MAX),
        len: bytes(out).saturating_sub(u64::try_from(offset).unwrap_or(u64::MAX)),
        changed: mp4::field("changed", changed)?,
        samples,
    })
}

/// A sample's duration in ticks.
fn duration(from: MediaTime, to: MediaTime) -> Result<u32, WriteError> {
    let ticks = to.ms_since(from).saturating_mul(MediaTime::TICKS_PER_MS);
    mp4::field("sample_duration", ticks)
}

fn events(out: &mut Vec<u8>, events: &[Event]) -> Result<EventsBox, AssembleError> {
    let mut lines = Vec::new();
    for event in events {
        serde_json::to_writer(&mut lines, event)?;
        lines.push(b'\n');
    }
    let payload = pack("events", &lines, MAX_EVENTS_BYTES)?;
    let offset = bytes(out);
    mp4::uuid::write_events(out, &payload)?;
    Ok(EventsBox {
        offset,
        len: bytes(out).saturating_sub(offset),
        count: u64::try_from(events.len()).unwrap_or(u64::MAX),
        sha256: Sha256::of(&payload),
    })
}

fn thumbs(draft: &Draft<'_>, sheet: Option<&[u8]>) -> Option<Thumbs> {
    let (thumbs, sheet) = draft.thumbs.as_ref().zip(sheet)?;
    Some(Thumbs {
        sha256: Sha256::of(sheet),
        bytes: u64::try_from(sheet.len()).ok()?,
        tile: thumbs.tile,
        columns: thumbs.columns,
        times: thumbs.times.clone(),
    })
}

/// Packs `content` unless a reader would refuse it for its size.
fn pack(what: &'static str, content: &[u8], max_bytes: u64) -> Result<Vec<u8>, AssembleError> {
    let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
    if bytes <= max_bytes {
        Ok(packed::pack(content)?)
    } else {
        Err(AssembleError::TooLarge {
            what,
            bytes,
            max_bytes,
        })
    }
}

/// How many bytes are written so far.
fn bytes(out: &[u8]) -> u64 {
    u64::try_from(out.len()).unwrap_or(u64::MAX)
}
