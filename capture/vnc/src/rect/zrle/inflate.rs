//! The zlib stream of a connection (RFC 1950), inflated in bounded steps.
//!
//! `miniz_oxide` directly: a build that unifies features would otherwise turn `flate2` into C.

use miniz_oxide::inflate::{
    TINFLStatus,
    core::{DecompressorOxide, decompress_with_limit, inflate_flags},
};

use crate::error::Error;

/// Bytes of past output kept for matches: a power of two, at least deflate's 32 KiB.
const WINDOW_BYTES: usize = 64 * 1024;

pub(super) struct Inflate {
    state: Box<DecompressorOxide>,
    window: Box<[u8]>,
    /// Where in the window the next output goes.
    at: usize,
}

/// What one step did.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) consumed: usize,
    pub(super) produced: usize,
}

impl Inflate {
    pub(super) fn new() -> Self {
        Self {
            state: Box::default(),
            window: vec![0; WINDOW_BYTES].into_boxed_slice(),
            at: 0,
        }
    }

    /// Inflates some of `compressed` and appends at most `room` bytes to `output`. A step that
    /// neither consumes nor produces needs more of either.
    ///
    /// # Errors
    /// When the stream is corrupt or has ended before `compressed`.
    pub(super) fn step(
        &mut self,
        compressed: &[u8],
        output: &mut Vec<u8>,
        room: usize,
    ) -> Result<Step, Error> {
        // The stream never ends, so its checksum never comes.
        let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
            | inflate_flags::TINFL_FLAG_HAS_MORE_INPUT
            | inflate_flags::TINFL_FLAG_IGNORE_ADLER32;
        let (status, consumed, produced) = decompress_with_limit(
            &mut self.state,
            compressed,
            &mut self.window,
            self.at,
            room,
            flags,
        );
        let ended = status == TINFLStatus::Done && consumed < compressed.len();
        let failed = !matches!(
            status,
            TINFLStatus::Done | TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput
        );
        if ended || failed {
            return Err(Error::Zlib);
        }
        let end = self.at.saturating_add(produced);
        output.extend_from_slice(self.window.get(self.at..end).ok_or(Error::Zlib)?);
        self.at = end % WINDOW_BYTES;
        Ok(Step { consumed, produced })
    }
}
