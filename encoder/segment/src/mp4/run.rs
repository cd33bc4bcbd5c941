//! Reads a fragment's samples, and places a repetition of them at another time.
#![warn(clippy::arithmetic_side_effects)]

use capture::MediaTime;

use super::{
    ReadError, WriteError,
    boxes::{BoxRef, Boxes, take, take_u32},
    fragment,
};

/// `default-sample-flags-present` and `default-base-is-moof`.
const TFHD_FLAGS: u32 = 0x02_0020;
/// Offset, first sample's flags, and each sample's duration and size.
const TRUN_FLAGS: u32 = 0x00_0305;

/// One sample of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodedSample<'a> {
    /// When it begins, in ticks of 1/90 ms since session start.
    pub t_ticks: u64,
    /// How long it lasts, in ticks.
    pub duration_ticks: u32,
    /// Whether it is a sync sample.
    pub key: bool,
    /// The access unit in AVC format (4-byte lengths).
    pub bytes: &'a [u8],
}

/// The samples of a fragment, given as the bytes of its `moof` and `mdat`.
///
/// # Errors
/// When the bytes are not one fragment as this format writes it.
pub fn fragment_samples(fragment: &[u8]) -> Result<Vec<CodedSample<'_>>, ReadError> {
    samples_at(fragment, 0)
}

/// The samples of the fragment that lies at `offset` in its file.
pub(super) fn samples_at(fragment: &[u8], offset: u64) -> Result<Vec<CodedSample<'_>>, ReadError> {
    let mut boxes = Boxes::new(fragment, offset);
    let moof = boxes.expect(b"moof")?;
    let mdat = boxes.expect(b"mdat")?;
    boxes.end(b"mdat")?;

    let mut children = moof.children(0);
    children.expect(b"mfhd")?;
    let traf = children.expect(b"traf")?;
    children.end(b"moof")?;
    let mut children = traf.children(0);
    let tfhd = children.expect(b"tfhd")?;
    let tfdt = children.expect(b"tfdt")?;
    let trun = children.expect(b"trun")?;
    children.end(b"traf")?;

    check_tfhd(tfhd.body)
        .ok_or_else(|| ReadError::bad(b"tfhd", tfhd.offset, "has other fields"))?;
    let t_ticks = decode_time(tfdt.body)
        .ok_or_else(|| ReadError::bad(b"tfdt", tfdt.offset, "has other fields"))?;
    let head = run_head(trun.body)
        .ok_or_else(|| ReadError::bad(b"trun", trun.offset, "has other fields"))?;
    if usize::try_from(head.data_offset).ok() != moof.len().checked_add(8) {
        return Err(ReadError::bad(b"trun", trun.offset, "points elsewhere"));
    }
    samples(head, t_ticks, mdat)
        .ok_or_else(|| ReadError::bad(b"trun", trun.offset, "does not describe its mdat"))
}

fn check_tfhd(mut fields: &[u8]) -> Option<()> {
    let as_written = take_u32(&mut fields)? == TFHD_FLAGS
        && take_u32(&mut fields)? == fragment::TRACK
        && take_u32(&mut fields)? == fragment::NON_SYNC;
    (as_written && fields.is_empty()).then_some(())
}

fn decode_time(mut fields: &[u8]) -> Option<u64> {
    let version_1 = take_u32(&mut fields)? == 1 << 24;
    let base_media_decode_time = u64::from_be_bytes(*take(&mut fields)?);
    (version_1 && fields.is_empty()).then_some(base_media_decode_time)
}

/// The fields of `trun`, its samples still packed.
struct RunHead<'a> {
    data_offset: u32,
    first_sample_flags: u32,
    /// `sample_duration` and `sample_size`, again and again.
    entries: &'a [[u8; 8]],
}

fn run_head(mut fields: &[u8]) -> Option<RunHead<'_>> {
    let flags = take_u32(&mut fields)? & 0x00ff_ffff;
    let sample_count = take_u32(&mut fields)?;
    let data_offset = take_u32(&mut fields)?;
    let first_sample_flags = take_u32(&mut fields)?;
    let (entries, rest) = fields.as_chunks();
    let whole = flags == TRUN_FLAGS
        && rest.is_empty()
        && !entries.is_empty()
        && usize::try_from(sample_count) == Ok(entries.len());
    whole.then_some(RunHead {
        data_offset,
        first_sample_flags,
        entries,
    })
}

/// The samples of `mdat`, which must take up all of it.
fn samples<'a>(
    head: RunHead<'_>,
    mut t_ticks: u64,
    mdat: BoxRef<'a>,
) -> Option<Vec<CodedSample<'a>>> {
    let mut media = mdat.body;
    let mut samples = Vec::with_capacity(head.entries.len());
    for mut entry in head.entries.iter().map(<[u8; 8]>::as_slice) {
        let duration_ticks = take_u32(&mut entry)?;
        let size = usize::try_from(take_u32(&mut entry)?).ok()?;
        let (bytes, rest) = media.split_at_checked(size)?;
        samples.push(CodedSample {
            t_ticks,
            duration_ticks,
            key: samples.is_empty() && head.first_sample_flags == fragment::SYNC,
            bytes,
        });
        media = rest;
        t_ticks = t_ticks.checked_add(u64::from(duration_ticks))?;
    }
    media.is_empty().then_some(samples)
}

/// Why a repetition cannot be placed.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The bytes are not a fragment.
    #[error("repeated fragment cannot be read")]
    Read(#[from] ReadError),
    /// There is nothing between the two times.
    #[error("repetition from {at} to {to} is empty")]
    Empty {
        /// Where it was to begin.
        at: MediaTime,
        /// Where it was to end.
        to: MediaTime,
    },
    /// The placed fragment cannot be written.
    #[error("repetition cannot be written")]
    Write(#[from] WriteError),
}

/// The same samples at another time: `tfdt` is that of `at`, only samples that begin before `to`
/// are kept, and the last is cut to end there at the latest. A tail beyond `to` would overwrite
/// the next fragment in a browser for good.
///
/// # Errors
/// When the bytes are not a fragment or `to` is not after `at`.
pub fn place(fragment: &[u8], at: MediaTime, to: MediaTime) -> Result<Vec<u8>, PlaceError> {
    let samples = fragment_samples(fragment)?;
    let mut room = to.ticks().saturating_sub(at.ticks());
    let mut placed = Vec::with_capacity(samples.len());
    for sample in samples {
        if room == 0 {
            break;
        }
        let duration = u32::try_from(room).map_or(sample.duration_ticks, |room| {
            sample.duration_ticks.min(room)
        });
        room = room.saturating_sub(u64::from(duration));
        placed.push((duration, sample.bytes));
    }
    if placed.is_empty() {
        return Err(PlaceError::Empty { at, to });
    }
    let mut out = Vec::with_capacity(fragment.len());
    fragment::write(&mut out, at, &placed)?;
    Ok(out)
}
