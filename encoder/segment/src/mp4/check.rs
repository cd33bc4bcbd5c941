//! Whether a stored segment is what its manifest says.
#![warn(clippy::arithmetic_side_effects)]

use capture::MediaTime;

use super::{ReadError, init, part, read_events, read_init, read_manifest, run};
use crate::{
    Manifest,
    manifest::{Fragment, Init},
};

/// No sample lasts longer: browsers show a wrong frame near longer ones.
pub const MAX_SAMPLE_MS: u64 = 1000;

/// Checks all of a stored segment: that its boxes tile the file as the manifest says, that every
/// sample has the size, time and duration it says, that each fragment begins with a sync sample,
/// that no sample lasts longer than [`MAX_SAMPLE_MS`], and that the events have the hash it says.
///
/// It does not decode pictures, and a hash of the whole object is the caller's to compare.
///
/// # Errors
/// Names the first box that does not agree.
pub fn check(file: &[u8]) -> Result<Manifest, ReadError> {
    let manifest = read_manifest(file)?;
    check_init(part(file, manifest.init.byte_range())?, &manifest.init)?;
    for fragment in &manifest.fragments {
        check_fragment(part(file, fragment.byte_range())?, fragment)?;
    }
    let events = manifest.events.byte_range();
    read_events(part(file, events.clone())?, &manifest.events)?;
    check_tail(file, events.end)?;
    Ok(manifest)
}

fn check_init(bytes: &[u8], init: &Init) -> Result<(), ReadError> {
    let parts = read_init(bytes)?;
    let codec = init::codec(parts.avcc);
    if parts.coded == init.coded() && codec.as_ref() == Some(&init.codec) {
        Ok(())
    } else {
        Err(ReadError::bad(
            b"avc1",
            init.offset,
            "has another size or codec than the manifest says",
        ))
    }
}

fn check_fragment(bytes: &[u8], fragment: &Fragment) -> Result<(), ReadError> {
    let bad = |problem| ReadError::bad(b"moof", fragment.offset, problem);
    let samples = run::samples_at(bytes, fragment.offset)?;
    if samples.len() != fragment.samples.len() {
        return Err(bad("has another number of samples than the manifest says"));
    }
    let ends = fragment.samples.iter().skip(1).map(|&(dt, _)| dt);
    let told = fragment.samples.iter().zip(ends.chain([fragment.dur]));
    for (sample, (&(dt, size), end)) in samples.iter().zip(told) {
        let dur_ms = end.saturating_sub(dt);
        if sample.t_ticks != fragment.t.plus_ms(dt).ticks()
            || u64::from(sample.duration_ticks) != MediaTime::from_ms(dur_ms).ticks()
        {
            return Err(bad("has other times than the manifest says"));
        }
        if u32::try_from(sample.bytes.len()) != Ok(size) {
            return Err(bad("has other sizes than the manifest says"));
        }
        if dur_ms > MAX_SAMPLE_MS {
            return Err(bad("has a sample longer than a second"));
        }
    }
    if samples.first().is_some_and(|first| first.key) {
        Ok(())
    } else {
        Err(bad("does not begin with a sync sample"))
    }
}

/// The manifest's box must follow the events, and nothing else.
fn check_tail(file: &[u8], events_end: u64) -> Result<(), ReadError> {
    let size = file.last_chunk().copied().map_or(0, u32::from_be_bytes);
    let len = u64::try_from(file.len()).unwrap_or(u64::MAX);
    if events_end.checked_add(u64::from(size)) == Some(len) {
        Ok(())
    } else {
        Err(ReadError::Box {
            name: "uuid:manifest".to_owned(),
            offset: events_end,
            problem: "does not follow the events",
        })
    }
}
