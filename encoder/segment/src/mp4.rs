//! How a segment lies in its file: `ftyp moov (moof mdat)* uuid(events) uuid(manifest)`.
//!
//! Boxes are those of ISO/IEC 14496-12, the sample entry that of ISO/IEC 14496-15. One video
//! track at 90 000 ticks a second, so a millisecond is 90 ticks exactly. The last four bytes of a
//! file are the whole size of the manifest's box: one range read of the tail finds it.

mod boxes;
mod check;
mod clip;
mod error;
pub(crate) mod fragment;
pub(crate) mod init;
mod read;
mod run;
pub mod uuid;

pub use check::{MAX_SAMPLE_MS, check};
pub use clip::{ClipHead, Coded, clip_fragment};
pub use error::ReadError;
pub use read::{InitParts, TAIL_BYTES, part, read_events, read_init, read_manifest};
pub use run::{CodedSample, PlaceError, fragment_samples, place};

/// The most a manifest's JSON may take. A busy segment's takes some 20 KB; masks that move with
/// every frame add 100 KB each.
pub const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// The most a segment's events may take, one JSON object a line: 40 minutes of a pointer that
/// never rests. A segment lasts about one.
pub const MAX_EVENTS_BYTES: u64 = 32 << 20;

/// Why a box cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The encoder's parameters are not an `AVCDecoderConfigurationRecord` with 4-byte lengths.
    #[error("decoder configuration record does not parse")]
    Avcc(#[source] mp4_atom::Error),
    /// Samples must carry 4-byte lengths.
    #[error("decoder configuration record asks for {length_size}-byte lengths instead of 4")]
    LengthSize {
        /// What the record asks for.
        length_size: u8,
    },
    /// The coded size does not fit the sample entry.
    #[error("coded size {size} exceeds 65535 pixels")]
    Size {
        /// The coded size.
        size: capture::Size,
    },
    /// A length or duration does not fit its field.
    #[error("{field} of {value} does not fit its field")]
    Field {
        /// The field, as the specification names it.
        field: &'static str,
        /// What should go there.
        value: u64,
    },
    /// A box does not encode.
    #[error("box does not encode")]
    Box(#[from] mp4_atom::Error),
}

/// `value` as the 32 bits of `field`.
pub(crate) fn field(field: &'static str, value: impl TryInto<u64>) -> Result<u32, WriteError> {
    let value = value.try_into().unwrap_or(u64::MAX);
    u32::try_from(value).map_err(|_| WriteError::Field { field, value })
}
