//! Makes one object of one spool file: a segment when it holds samples, else an idle record.
//!
//! Pure and deterministic: the same file gives the same bytes, so a commit can be tried again.

mod draft;
mod object;

use capture::MediaTime;

use crate::{IdleRecord, Manifest, Sha256, mp4::WriteError};
pub(crate) use draft::Draft;

/// What stands beside the spool file.
#[derive(Clone, Copy, Debug)]
pub struct Assembly<'a> {
    /// SHA-256 of the object before: of `session.json` for the first.
    pub prev: Sha256,
    /// The bytes of the sprite sheet, if there is one. It belongs to the object only if the spool
    /// file says that it is complete: then the manifest has `thumbs`.
    pub sheet: Option<&'a [u8]>,
}

/// What a spool file became.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made a minute")]
pub enum Assembled {
    /// A segment.
    Segment {
        /// The file.
        bytes: Vec<u8>,
        /// Its manifest.
        manifest: Manifest,
    },
    /// An object without media.
    Idle {
        /// The stored bytes.
        bytes: Vec<u8>,
        /// What they hold.
        record: IdleRecord,
    },
    /// Nothing was recorded, not even time: there is no object.
    Empty,
}

/// Why no object can be made of a spool file.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// The first record is not an `Open`.
    #[error("spool file does not begin with its head")]
    NoHead,
    /// A version this crate does not write.
    #[error("spool file has format {format}")]
    Format {
        /// The format it names.
        format: u32,
    },
    /// A record that may come once came twice.
    #[error("spool file has a second {kind} record")]
    Twice {
        /// The record.
        kind: &'static str,
    },
    /// Samples came without parameters.
    #[error("sample at {t} comes before any parameters")]
    NoInit {
        /// When the sample is.
        t: MediaTime,
    },
    /// The first sample, or the first after a gap, depends on pictures that are not there.
    #[error("sample at {t} is no key picture and has none before it")]
    NoKey {
        /// When the sample is.
        t: MediaTime,
    },
    /// A segment cannot have a hole: the recorder must cut before it.
    #[error("sample at {t} follows a gap or repeat that follows samples")]
    Hole {
        /// When the sample is.
        t: MediaTime,
    },
    /// Time did not move on.
    #[error("time {t} does not come after {after}")]
    Order {
        /// The time that is too early.
        t: MediaTime,
        /// What came before.
        after: MediaTime,
    },
    /// Readers would refuse the object.
    #[error("{what} of {bytes} bytes exceeds {max_bytes}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size before packing.
        bytes: u64,
        /// The most a reader takes.
        max_bytes: u64,
    },
    /// A box cannot be written.
    #[error("segment cannot be written")]
    Write(#[from] WriteError),
    /// A value has no JSON form.
    #[error("manifest has no json form")]
    Json(#[from] serde_json::Error),
    /// The compressor failed.
    #[error("compressor failed")]
    Pack(#[from] std::io::Error),
}

/// Makes the object of the spool file `wal`.
///
/// A torn or damaged tail is dropped. A file without `Close` (its recorder died) ends at its last
/// proof: the last tick, or 1 ms after the last sample, whichever is later.
///
/// # Errors
/// When the records contradict each other or an object would be too large to read.
pub fn assemble(wal: &[u8], assembly: Assembly<'_>) -> Result<Assembled, AssembleError> {
    let Some(draft) = Draft::read(wal)? else {
        return Ok(Assembled::Empty);
    };
    if draft.has_samples() {
        object::segment(draft, assembly)
    } else if draft.from() < draft.to() {
        object::idle(draft, assembly)
    } else {
        Ok(Assembled::Empty)
    }
}

#[cfg(test)]
mod tests;
