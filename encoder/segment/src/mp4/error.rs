//! Why a stored segment cannot be read.

use crate::{manifest::InvalidManifest, packed::UnpackError};

/// Why a stored segment, or a part of one, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The manifest's box is longer than the tail at hand: read again from further back.
    #[error("manifest takes the last {need_bytes} bytes of the file")]
    Tail {
        /// How many of the file's last bytes are needed.
        need_bytes: u64,
    },
    /// A box is not what the format asks for.
    #[error("box {name} at byte {offset} {problem}")]
    Box {
        /// The box's type; `uuid:events` and `uuid:manifest` for our own.
        name: String,
        /// Where it begins, from the start of what was read.
        offset: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The manifest or the events do not unpack.
    #[error("box {name} does not unpack")]
    Unpack {
        /// The box: `uuid:events` or `uuid:manifest`.
        name: &'static str,
        /// What is wrong with the content.
        #[source]
        source: UnpackError,
    },
    /// The manifest contradicts itself.
    #[error("manifest contradicts itself")]
    Manifest(#[from] InvalidManifest),
    /// A part that the manifest names lies beyond the file's end.
    #[error("bytes {from}..{to} lie beyond the file's end")]
    Range {
        /// The part's first byte.
        from: u64,
        /// The first byte after it.
        to: u64,
    },
}

impl ReadError {
    pub(super) fn bad(kind: &[u8; 4], offset: u64, problem: &'static str) -> Self {
        Self::Box {
            name: kind.escape_ascii().to_string(),
            offset,
            problem,
        }
    }
}
