//! The two boxes of our own, each a `uuid` box (ISO/IEC 14496-12, 11.1).

use super::{WriteError, field};

/// The type of the events box: `7b1f0e52-5c1e-4a53-9b0e-706c61796501`.
pub const EVENTS: [u8; 16] = *b"\x7b\x1f\x0e\x52\x5c\x1e\x4a\x53\x9b\x0eplaye\x01";
/// The type of the manifest box: `7b1f0e52-5c1e-4a53-9b0e-706c61796502`.
pub const MANIFEST: [u8; 16] = *b"\x7b\x1f\x0e\x52\x5c\x1e\x4a\x53\x9b\x0eplaye\x02";
/// `size`, `type` and `usertype` before such a box's payload.
pub(crate) const HEADER_BYTES: usize = 24;
/// The manifest box ends with its own whole size.
pub(crate) const TRAILER_BYTES: usize = 4;

/// Appends the events box.
pub(crate) fn write_events(out: &mut Vec<u8>, payload: &[u8]) -> Result<(), WriteError> {
    let size = field("uuid size", payload.len().saturating_add(HEADER_BYTES))?;
    write(out, size, EVENTS, payload);
    Ok(())
}

/// Appends the manifest box, its size repeated at its end.
pub(crate) fn write_manifest(out: &mut Vec<u8>, payload: &[u8]) -> Result<(), WriteError> {
    let around = HEADER_BYTES + TRAILER_BYTES;
    let size = field("uuid size", payload.len().saturating_add(around))?;
    write(out, size, MANIFEST, payload);
    out.extend_from_slice(&size.to_be_bytes());
    Ok(())
}

fn write(out: &mut Vec<u8>, size: u32, usertype: [u8; 16], payload: &[u8]) {
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(b"uuid");
    out.extend_from_slice(&usertype);
    out.extend_from_slice(payload);
}
