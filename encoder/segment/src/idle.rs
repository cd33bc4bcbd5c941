//! The bytes of an idle record: zstd JSON, one object in the store.

use crate::{IdleRecord, manifest::FORMAT, packed};

/// The most a record's JSON may take: ten minutes of events at a mouse's full rate, ten times.
pub const MAX_IDLE_BYTES: u64 = 64 << 20;

/// Why an idle record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IdleError {
    /// The bytes do not unpack.
    #[error("idle record does not unpack")]
    Unpack(#[from] packed::UnpackError),
    /// The content is not an idle record.
    #[error("idle record does not parse")]
    Json(#[from] serde_json::Error),
    /// A version this reader does not know.
    #[error("idle record has format {format} instead of {FORMAT}")]
    Format {
        /// The format it names.
        format: u32,
    },
}

/// Reads an idle record's stored bytes.
///
/// # Errors
/// When they are damaged, too large, or of another format.
pub fn read(bytes: &[u8]) -> Result<IdleRecord, IdleError> {
    let json = packed::unpack(bytes, MAX_IDLE_BYTES)?;
    let record: IdleRecord = serde_json::from_slice(&json)?;
    if record.format == FORMAT {
        Ok(record)
    } else {
        let format = record.format;
        Err(IdleError::Format { format })
    }
}
