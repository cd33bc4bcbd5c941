//! How rectangles of the picture are written for a client (RFC 6143 section 7.7).

mod deflate;
mod palette;
mod pointer;
mod tight;
mod tile;

use capture::{Framebuffer, Rect, Size, cursor::CursorShape, pixels::PixelFormat};

use self::deflate::Deflate;
pub(super) use self::pointer::Pointer;
use crate::{
    encoding,
    layout::{Layout, Layouts, Pixel},
};

/// The widest rectangle that every encoding can write.
pub(super) const MAX_WIDTH_PX: u32 = tight::MAX_WIDTH_PX;

/// The side of a ZRLE tile.
const TILE_PX: u32 = 64;

/// The encodings in which pixels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Raw,
    Tight,
    Zrle,
}

impl Method {
    pub(super) const fn of(number: i32) -> Option<Self> {
        match number {
            encoding::RAW => Some(Self::Raw),
            encoding::TIGHT => Some(Self::Tight),
            encoding::ZRLE => Some(Self::Zrle),
            _ => None,
        }
    }

    const fn number(self) -> i32 {
        match self {
            Self::Raw => encoding::RAW,
            Self::Tight => encoding::TIGHT,
            Self::Zrle => encoding::ZRLE,
        }
    }
}

/// What a client is shown: the framebuffer, and over it the pointer unless the client draws it.
pub(super) struct Source<'a> {
    pub(super) framebuffer: &'a Framebuffer,
    pub(super) pointer: Option<&'a Pointer>,
}

impl Source<'_> {
    /// The pixels of `rect`, row by row. What lies outside the framebuffer is black: a client
    /// that knows only an earlier size is shown as much as fits.
    fn pixels(&self, rect: Rect, pixels: &mut Vec<Pixel>) {
        pixels.clear();
        let shown = rect.intersection(self.framebuffer.size().rect());
        for y in rect.y..rect.bottom() {
            let from = pixels.len();
            let (row, _) = self.framebuffer.row(shown.x, y, shown.w).as_chunks();
            pixels.extend_from_slice(row);
            pixels.resize(from + rect.w as usize, Pixel::default());
            if let Some(pointer) = self.pointer {
                let row = pixels.get_mut(from..).unwrap_or_default();
                pointer.blend_row(rect.x, y, row.as_flattened_mut());
            }
        }
    }
}

/// The encoder of one connection.
pub(super) struct Encoder {
    format: PixelFormat,
    layouts: Layouts,
    method: Method,
    /// The stream that all ZRLE rectangles share.
    zrle: Deflate,
    tight: tight::Encoder,
    /// The rectangle being written.
    pixels: Vec<Pixel>,
    tile: Vec<Pixel>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        let format = PixelFormat::BGRX;
        Self {
            format,
            layouts: Layouts::of_true_colour(format),
            method: Method::Raw,
            zrle: Deflate::new(),
            tight: tight::Encoder::new(),
            pixels: Vec::new(),
            tile: Vec::new(),
        }
    }

    /// The next update is written in this way.
    pub(super) fn begin(&mut self, format: PixelFormat, method: Method) {
        if format != self.format {
            self.format = format;
            self.layouts = Layouts::of_true_colour(format);
        }
        self.method = method;
    }

    /// How pixels by themselves are written.
    pub(super) const fn layout(&self) -> &Layout {
        &self.layouts.pixel
    }

    /// Appends `rect` as `source` shows it.
    pub(super) fn rect(&mut self, rect: Rect, source: &Source<'_>, out: &mut Vec<u8>) {
        source.pixels(rect, &mut self.pixels);
        head(rect, self.method.number(), out);
        match self.method {
            Method::Raw => self.layouts.pixel.write(&self.pixels, out),
            Method::Tight => {
                let (layout, w) = (&self.layouts.tight, rect.w as usize);
                self.tight.append(layout, &self.pixels, w, out);
            }
            Method::Zrle => self.zrle(rect, out),
        }
    }

    fn zrle(&mut self, rect: Rect, out: &mut Vec<u8>) {
        let layout = &self.layouts.compact;
        let mut tiles = Vec::new();
        for top in (0..rect.h).step_by(TILE_PX as usize) {
            for left in (0..rect.w).step_by(TILE_PX as usize) {
                let w = TILE_PX.min(rect.w - left) as usize;
                let h = TILE_PX.min(rect.h - top) as usize;
                let rows = self.pixels.chunks_exact(rect.w as usize);
                self.tile.clear();
                for row in rows.skip(top as usize).take(h) {
                    let part = row.get(left as usize..left as usize + w);
                    self.tile.extend_from_slice(part.unwrap_or_default());
                }
                tile::encode(layout, &self.tile, w, &mut tiles);
            }
        }
        let length_at = out.len();
        out.extend([0; 4]);
        self.zrle.append(&tiles, out);
        let len = out.len() - length_at - 4;
        let len = u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes();
        if let Some(length) = out.get_mut(length_at..length_at + 4) {
            length.copy_from_slice(&len);
        }
    }
}

/// A rectangle's head.
fn head(rect: Rect, encoding: i32, out: &mut Vec<u8>) {
    for field in [rect.x, rect.y, rect.w, rect.h] {
        // A screen's sides are bounded far below this.
        out.extend(u16::try_from(field).unwrap_or(u16::MAX).to_be_bytes());
    }
    out.extend(encoding.to_be_bytes());
}

/// Why a size is told.
#[derive(Clone, Copy)]
pub(super) enum Occasion {
    /// It is new.
    Changed,
    /// The client asked for another and does not get it.
    Refused,
}

/// The screen's size, in the encoding that the client knows; one screen in the extended one.
pub(super) fn size_rect(number: i32, size: Size, occasion: Occasion, out: &mut Vec<u8>) {
    // Who asked, and that it is prohibited.
    let [x, y] = match occasion {
        Occasion::Changed => [0, 0],
        Occasion::Refused => [1, 1],
    };
    head(
        Rect {
            x,
            y,
            ..size.rect()
        },
        number,
        out,
    );
    if number == encoding::EXTENDED_DESKTOP_SIZE {
        out.extend([1, 0, 0, 0]);
        // Its number, place, size and flags.
        out.extend([0; 8]);
        for side in [size.w, size.h] {
            out.extend(u16::try_from(side).unwrap_or(u16::MAX).to_be_bytes());
        }
        out.extend([0; 4]);
    }
}

/// The pointer's shape: pixels, then a bit for each that is to be seen.
pub(super) fn cursor_rect(shape: &CursorShape, layout: &Layout, out: &mut Vec<u8>) {
    let (Size { w, h }, hot_spot) = (shape.size(), shape.hot_spot());
    let [x, y] = [hot_spot.x, hot_spot.y].map(|at| u32::try_from(at).unwrap_or(0));
    head(Rect { x, y, w, h }, encoding::CURSOR, out);
    let (pixels, _) = shape.bgra().as_chunks();
    layout.write(pixels, out);
    for row in pixels.chunks(w.max(1) as usize) {
        for pixels in row.chunks(8) {
            let bits = { pixels.iter() }.fold(0_u8, |bits, [.., alpha]| bits << 1 | alpha >> 7);
            out.push(bits << (8 - pixels.len()));
        }
    }
}
