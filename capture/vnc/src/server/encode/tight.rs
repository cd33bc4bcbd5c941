//! Tight rectangles (rfbproto, "Tight Encoding"): of one colour, of few, or of pixels as they are.

use super::{
    deflate::Deflate,
    palette::{Palette, runs},
};
use crate::layout::{Layout, Pixel};

/// The widest rectangle that may be written.
pub(super) const MAX_WIDTH_PX: u32 = 2048;

/// Shorter data is not compressed.
const COMPRESSED_BYTES: usize = 12;

/// The control byte of a rectangle of one colour.
const FILL: u8 = 0x80;

/// The control byte of indices of a palette, in the second stream, and the filter that follows.
const PALETTE: [u8; 2] = [0x50, 1];

/// The control byte of pixels as they are, in the first stream.
const COPY: u8 = 0;

/// The streams of one connection: pixels and indices pack better by themselves.
pub(super) struct Encoder {
    pixels: Deflate,
    indices: Deflate,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self {
            pixels: Deflate::new(),
            indices: Deflate::new(),
        }
    }

    /// Appends the body of a rectangle in rows of `w` pixels.
    pub(super) fn append(
        &mut self,
        layout: &Layout,
        pixels: &[Pixel],
        w: usize,
        out: &mut Vec<u8>,
    ) {
        let mut palette = Palette::default();
        for (colour, _) in runs(pixels) {
            palette.add(colour);
        }
        match palette.colours.as_slice() {
            [_] if palette.is_whole => {
                out.push(FILL);
                layout.write(&palette.colours, out);
            }
            [_, others @ ..] if palette.is_whole => {
                out.extend(PALETTE);
                out.push(u8::try_from(others.len()).unwrap_or(u8::MAX));
                layout.write(&palette.colours, out);
                let in_byte = if others.len() == 1 { 8 } else { 1 };
                let mut indices = Vec::new();
                for row in pixels.chunks(w.max(1)) {
                    palette.pack(row, in_byte, &mut indices);
                }
                compressed(&mut self.indices, &indices, out);
            }
            _ => {
                out.push(COPY);
                let mut copied = Vec::new();
                layout.write(pixels, &mut copied);
                compressed(&mut self.pixels, &copied, out);
            }
        }
    }
}

fn compressed(stream: &mut Deflate, plain: &[u8], out: &mut Vec<u8>) {
    if plain.len() < COMPRESSED_BYTES {
        out.extend_from_slice(plain);
        return;
    }
    let mut packed = Vec::new();
    stream.append(plain, &mut packed);
    compact_length(packed.len(), out);
    out.extend(packed);
}

/// Seven bits, seven more, then eight; the high bit of the first two says that more follow.
fn compact_length(len: usize, out: &mut Vec<u8>) {
    // A slice of the screen is far shorter than the four million that can be said.
    let [first, second, third] =
        [len & 0x7f, len >> 7 & 0x7f, len >> 14].map(|part| u8::try_from(part).unwrap_or(u8::MAX));
    match len {
        ..0x80 => out.push(first),
        0x80..0x4000 => out.extend([first | 0x80, second]),
        _ => out.extend([first | 0x80, second | 0x80, third]),
    }
}
