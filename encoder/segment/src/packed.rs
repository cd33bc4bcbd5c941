//! How the format packs JSON: one zstd frame with a checksum, unpacked within a bound.

use std::io::Read;

/// Fast, and within a few percent of what higher levels reach on manifests and events.
const LEVEL: i32 = 3;

/// A frame that needs a larger window (as a power of two) is refused before memory is taken.
const MAX_WINDOW_LOG: u32 = 26;

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
}

/// Packs `bytes`; the same bytes always give the same frame.
pub(crate) fn pack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(bytes)
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
    fn every_flipped_bit_is_noticed() {
        let content = b"the quick brown fox jumps over the lazy dog";
        let packed = pack(content).unwrap();
        for bit in 0..packed.len() * 8 {
            let mut flipped = packed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let same = unpack(&flipped, 1000).is_ok_and(|bytes| bytes == content);
            let refused = unpack(&flipped, 1000).is_err();
            assert!(same || refused, "bit {bit}");
        }
    }
}
