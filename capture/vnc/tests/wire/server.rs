//! What servers say, written out byte by byte (RFC 6143).

use capture::{Rect, Size, pixels::PixelFormat};
use miniz_oxide::{
    DataFormat, MZFlush,
    deflate::{core::CompressorOxide, stream::deflate},
};

pub(crate) const RAW: i32 = 0;
pub(crate) const COPY_RECT: i32 = 1;
pub(crate) const HEXTILE: i32 = 5;
pub(crate) const TIGHT: i32 = 7;
pub(crate) const ZRLE: i32 = 16;
pub(crate) const DESKTOP_SIZE: i32 = -223;
pub(crate) const LAST_RECT: i32 = -224;
pub(crate) const POINTER_POSITION: i32 = -232;
pub(crate) const CURSOR: i32 = -239;
pub(crate) const X_CURSOR: i32 = -240;
pub(crate) const DESKTOP_NAME: i32 = -307;
pub(crate) const CURSOR_WITH_ALPHA: i32 = -314;
pub(crate) const EXTENDED_DESKTOP_SIZE: i32 = -308;
pub(crate) const VMWARE_CURSOR_POSITION: i32 = 0x574d_5666;

/// The bytes of several parts.
pub(crate) fn all(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A whole 3.8 handshake without security, up to the name of a desktop of `size`.
pub(crate) fn opening(size: Size) -> Vec<u8> {
    all(&[
        b"RFB 003.008\n",
        &[1, 1],
        &[0; 4],
        &server_init(size, "desk"),
    ])
}

pub(crate) fn server_init(size: Size, name: &str) -> Vec<u8> {
    all(&[
        &server_init_head(size, u32::try_from(name.len()).unwrap()),
        name.as_bytes(),
    ])
}

pub(crate) fn server_init_head(size: Size, name_len: u32) -> Vec<u8> {
    // An impossible format: none of it may matter to a client that sets its own.
    let pixel_format = [7, 8, 0, 1, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0, 0];
    all(&[
        &short(size.w),
        &short(size.h),
        &pixel_format,
        &name_len.to_be_bytes(),
    ])
}

/// As [`opening`], of a server whose own pixels are of `format`.
pub(crate) fn opening_as(size: Size, format: PixelFormat) -> Vec<u8> {
    let mut opening = opening(size);
    let format_at = opening.len() - "desk".len() - 4 - 16;
    opening[format_at..format_at + 16].copy_from_slice(&format.to_bytes());
    opening
}

fn short(value: u32) -> [u8; 2] {
    u16::try_from(value).unwrap().to_be_bytes()
}

pub(crate) fn update(rects: &[Vec<u8>]) -> Vec<u8> {
    let count = u16::try_from(rects.len()).unwrap().to_be_bytes();
    all(&[&[0, 0], &count, &rects.concat()])
}

pub(crate) fn rect(rect: Rect, encoding: i32, body: &[u8]) -> Vec<u8> {
    all(&[
        &short(rect.x),
        &short(rect.y),
        &short(rect.w),
        &short(rect.h),
        &encoding.to_be_bytes(),
        body,
    ])
}

/// A raw rectangle of one colour; the spare byte holds rubbish.
pub(crate) fn raw(area: Rect, [b, g, r]: [u8; 3]) -> Vec<u8> {
    let pixels = usize::try_from(area.area_px()).unwrap();
    rect(area, RAW, &[b, g, r, 0xa5].repeat(pixels))
}

pub(crate) fn desktop_size(size: Size) -> Vec<u8> {
    rect(size.rect(), DESKTOP_SIZE, &[])
}

pub(crate) fn extended_desktop_size(size: Size) -> Vec<u8> {
    let screen = all(&[&[0; 8], &short(size.w), &short(size.h), &[0; 4]]);
    rect(
        size.rect(),
        EXTENDED_DESKTOP_SIZE,
        &all(&[&[1, 0, 0, 0], &screen]),
    )
}

pub(crate) fn cut_text(len: i32, text: &[u8]) -> Vec<u8> {
    all(&[&[3, 0, 0, 0], &len.to_be_bytes(), text])
}

/// The server's end of the zlib stream that all ZRLE rectangles share.
pub(crate) struct Zlib(Box<CompressorOxide>);

impl Zlib {
    pub(crate) fn new() -> Self {
        let mut compressor = Box::<CompressorOxide>::default();
        compressor.set_format_and_level(DataFormat::Zlib, 6);
        Self(compressor)
    }

    pub(crate) fn compress(&mut self, mut data: &[u8]) -> Vec<u8> {
        let mut compressed = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let step = deflate(&mut self.0, data, &mut piece, MZFlush::Sync);
            compressed.extend(&piece[..step.bytes_written]);
            data = &data[step.bytes_consumed..];
            if data.is_empty() && step.bytes_written < piece.len() {
                return compressed;
            }
        }
    }

    /// A ZRLE rectangle of these tiles.
    pub(crate) fn zrle(&mut self, area: Rect, tiles: &[u8]) -> Vec<u8> {
        zrle_of(area, &self.compress(tiles))
    }
}

/// A ZRLE rectangle with this compressed data.
pub(crate) fn zrle_of(area: Rect, compressed: &[u8]) -> Vec<u8> {
    let len = u32::try_from(compressed.len()).unwrap().to_be_bytes();
    rect(area, ZRLE, &all(&[&len, compressed]))
}

/// A Tight rectangle: its control byte, what the filter says first, and filtered pixels, which
/// are compressed unless they are too few.
pub(crate) fn tight(zlib: &mut Zlib, area: Rect, head: &[u8], filtered: &[u8]) -> Vec<u8> {
    let body = if filtered.len() < 12 {
        filtered.to_vec()
    } else {
        let compressed = zlib.compress(filtered);
        all(&[&compact_length(compressed.len()), &compressed])
    };
    rect(area, TIGHT, &all(&[head, &body]))
}

pub(crate) fn compact_length(len: usize) -> Vec<u8> {
    let byte = |value: usize| u8::try_from(value & 0xff).unwrap();
    match len {
        0..0x80 => vec![byte(len)],
        0x80..0x4000 => vec![byte(len) | 0x80, byte(len >> 7)],
        _ => vec![byte(len) | 0x80, byte(len >> 7) | 0x80, byte(len >> 14)],
    }
}

/// How many tiles a rectangle has.
pub(crate) fn tiles(area: Rect) -> usize {
    usize::try_from(area.w.div_ceil(64) * area.h.div_ceil(64)).unwrap()
}
