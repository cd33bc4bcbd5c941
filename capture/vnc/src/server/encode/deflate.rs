//! A zlib stream (RFC 1950) that lasts as long as the connection.

use miniz_oxide::{
    DataFormat, MZFlush,
    deflate::{core::CompressorOxide, stream::deflate},
};

/// Fast: screens of text and flat colour pack well at any level, and someone waits.
const LEVEL: u8 = 2;

/// Output grows in steps of this.
const STEP_BYTES: usize = 64 * 1024;

pub(super) struct Deflate(Box<CompressorOxide>);

impl Deflate {
    pub(super) fn new() -> Self {
        let mut compressor = Box::<CompressorOxide>::default();
        compressor.set_format_and_level(DataFormat::Zlib, LEVEL);
        Self(compressor)
    }

    /// Appends `plain` so that all of it can be inflated from what there is.
    pub(super) fn append(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        let mut rest = plain;
        loop {
            let from = out.len();
            out.resize(from + STEP_BYTES, 0);
            let room = out.get_mut(from..).unwrap_or_default();
            let step = deflate(&mut self.0, rest, room, MZFlush::Sync);
            out.truncate(from + step.bytes_written);
            rest = rest.get(step.bytes_consumed..).unwrap_or_default();
            if rest.is_empty() && step.bytes_written < STEP_BYTES {
                return;
            }
        }
    }
}
