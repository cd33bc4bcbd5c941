//! The bytes of an idle record: zstd JSON, an object of its own in the store.

use crate::{
    IdleRecord,
    manifest::InvalidManifest,
    packed::{UnpackError, unpack_json},
};

/// The most a record's JSON may take: 40 minutes of a pointer that never rests. A record covers
/// ten.
pub const MAX_IDLE_BYTES: u64 = 32 << 20;

/// Why an idle record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IdleError {
    /// The bytes do not unpack to an idle record.
    #[error("idle record does not unpack")]
    Unpack(#[from] UnpackError),
    /// Its parts contradict each other.
    #[error("idle record contradicts itself")]
    Invalid(#[from] InvalidManifest),
}

/// Reads an idle record's stored bytes.
///
/// # Errors
/// When they are damaged, too large, of another format, or contradict themselves.
pub fn read(bytes: &[u8]) -> Result<IdleRecord, IdleError> {
    let record: IdleRecord = unpack_json(bytes, MAX_IDLE_BYTES)?;
    record.span.validate()?;
    Ok(record)
}
