//! The zlib streams of a connection (RFC 1950), inflated in bounded steps.
//!
//! `miniz_oxide` directly: a build that unifies features would otherwise turn `flate2` into C.

use capture::{Rect, framebuffer::BYTES_PER_PX};
use miniz_oxide::inflate::{
    TINFLStatus,
    core::{DecompressorOxide, decompress_with_limit, inflate_flags},
};

use crate::{error::Error, input::Input, limits};

/// Bytes of past output kept for matches: a power of two, at least deflate's 32 KiB.
const WINDOW_BYTES: usize = 64 * 1024;

/// What is inflated ahead of what is being painted: several tiles or rows, so that the work of
/// each step pays, and always more than the longest of them.
pub(super) const INFLATED_BYTES: usize = 64 * 1024;

/// A stream that lasts as long as the connection, and what of it is not yet painted.
pub(super) struct Inflate {
    state: Box<DecompressorOxide>,
    window: Box<[u8]>,
    /// Where in the window the next output goes.
    at: usize,
    /// Inflated and not yet painted. INVARIANT: at most `INFLATED_BYTES`.
    inflated: Vec<u8>,
}

/// What one step did.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    consumed: usize,
    produced: usize,
}

impl Inflate {
    pub(super) fn new() -> Self {
        Self {
            state: Box::default(),
            window: vec![0; WINDOW_BYTES].into_boxed_slice(),
            at: 0,
            inflated: Vec::new(),
        }
    }

    /// Inflates what has arrived of the next `left` bytes and hands it to `paint`, again and again
    /// from the first byte not used: `paint` says how many it has. True once all is inflated.
    ///
    /// # Errors
    /// When the stream is corrupt, or more is inflated than `paint` uses.
    pub(super) fn run(
        &mut self,
        left: &mut usize,
        input: &mut Input<'_>,
        mut paint: impl FnMut(&[u8]) -> Result<usize, Error>,
    ) -> Result<bool, Error> {
        loop {
            let compressed = input.available(*left);
            let step = self.step(compressed)?;
            input.consume(step.consumed);
            *left = left.saturating_sub(step.consumed);
            let used = paint(&self.inflated)?;
            self.inflated.drain(..used.min(self.inflated.len()));
            if step.consumed > 0 || step.produced > 0 {
                continue;
            }
            // Room without output and input without use: what is left has nowhere to go.
            if self.inflated.len() >= INFLATED_BYTES {
                return Err(Error::PixelsExceeded);
            }
            return Ok(*left == 0);
        }
    }

    /// Inflates some of `compressed`. A step that neither consumes nor produces needs more input
    /// or room.
    fn step(&mut self, compressed: &[u8]) -> Result<Step, Error> {
        // The stream never ends, so its checksum never comes.
        let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
            | inflate_flags::TINFL_FLAG_HAS_MORE_INPUT
            | inflate_flags::TINFL_FLAG_IGNORE_ADLER32;
        let room = INFLATED_BYTES.saturating_sub(self.inflated.len());
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
        let output = self.window.get(self.at..end).ok_or(Error::Zlib)?;
        self.inflated.extend_from_slice(output);
        self.at = end % WINDOW_BYTES;
        Ok(Step { consumed, produced })
    }
}

/// Takes the length of the compressed data of `rect`.
///
/// # Errors
/// When it is longer than any encoder needs for so many pixels.
pub(super) fn check_len(rect: Rect, len_bytes: u32) -> Result<usize, Error> {
    let raw_bytes = rect.area_px() * BYTES_PER_PX as u64;
    let limit_bytes =
        (2 * raw_bytes + limits::COMPRESSED_SLACK_BYTES).min(limits::COMPRESSED_BYTES);
    if u64::from(len_bytes) > limit_bytes {
        return Err(Error::CompressedTooLong {
            len_bytes,
            limit_bytes,
        });
    }
    Ok(len_bytes as usize)
}
