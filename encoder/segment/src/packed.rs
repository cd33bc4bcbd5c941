//! How the format packs JSON: one zstd frame with a checksum, unpacked within a bound.

use std::io::Read;

use serde::{Deserialize, de::DeserializeOwned};

use crate::manifest::FORMAT;

/// Fast, and within a few percent of what higher levels reach on manifests and events.
const LEVEL: i32 = 3;

/// A frame that needs a larger window (as a power of two) is refused before memory is taken. Four
/// times what [`LEVEL`] uses.
const MAX_WINDOW_LOG: u32 = 23;

/// Why packed bytes cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// Not a whole zstd frame, or its checksum does not agree.
    #[error("not a whole zstd frame")]
    Zstd(#[source] std::io::Error),
    /// The content is larger than the reader takes.
    #[error("content exceeds {max_bytes} bytes")]
    TooLarge {
        /// The most the reader takes.
        max_bytes: u64,
    },
    /// A version this reader does not know.
    #[error("format {format} is not {FORMAT}")]
    Format {
        /// The format it names.
        format: u32,
    },
    /// The content is not what it should be.
    #[error("content does not parse")]
    Json(#[from] serde_json::Error),
}

/// Packs `content`; the same content always gives the same frame.
pub(crate) fn pack(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(content)
}

/// Unpacks a frame whose content is at most `max_bytes` long.
pub(crate) fn unpack(packed: &[u8], max_bytes: u64) -> Result<Vec<u8>, UnpackError> {
    let mut decoder = zstd::stream::read::Decoder::new(packed).map_err(UnpackError::Zstd)?;
    decoder
        .window_log_max(MAX_WINDOW_LOG)
        .map_err(UnpackError::Zstd)?;
    let mut content = Vec::new();
    let read = decoder
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(UnpackError::Zstd)?;
    if u64::try_from(read).is_ok_and(|read| read <= max_bytes) {
        Ok(content)
    } else {
        Err(UnpackError::TooLarge { max_bytes })
    }
}

/// Unpacks a JSON object whose `format` this crate reads.
pub(crate) fn unpack_json<T: DeserializeOwned>(
    packed: &[u8],
    max_bytes: u64,
) -> Result<T, UnpackError> {
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let json = unpack(packed, max_bytes)?;
    // Before anything else is understood: another version may mean other things by its fields.
    let Versioned { format } = serde_json::from_slice(&json)?;
    if format == FORMAT {
        Ok(serde_json::from_slice(&json)?)
    } else {
        Err(UnpackError::Format { format })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_beyond_the_bound_is_refused() {
        let packed = pack(&[0; 1000]).unwrap();
        assert_eq!(unpack(&packed, 1000).unwrap(), [0; 1000]);
        let error = unpack(&packed, 999).unwrap_err();
        assert!(matches!(error, UnpackError::TooLarge { max_bytes: 999 }));
    }

    #[test]
    fn content_larger_than_the_window_unpacks() {
        let random = |n: u32| {
            n.wrapping_mul(0x9e37_79b9)
                .rotate_left(n % 31)
                .to_be_bytes()
        };
        let content: Vec<u8> = (0..3 << 20).flat_map(random).collect();
        assert!(content.len() > 1 << MAX_WINDOW_LOG);
        assert!(unpack(&pack(&content).unwrap(), 1 << 24).unwrap() == content);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let content = b"the quick brown fox jumps over the lazy dog";
        let packed = pack(content).unwrap();
        for bit in 0..packed.len() * 8 {
            let mut flipped = packed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = unpack(&flipped, 1000) {
                assert_eq!(read, content, "bit {bit}");
            }
        }
    }

    #[test]
    fn another_format_is_named_before_its_fields_are_read() {
        let packed = pack(br#"{"format":2,"strange":true}"#).unwrap();
        let error = unpack_json::<crate::Manifest>(&packed, 1000).unwrap_err();
        assert!(matches!(error, UnpackError::Format { format: 2 }));
    }
}
