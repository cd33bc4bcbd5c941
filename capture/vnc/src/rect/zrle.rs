//! ZRLE rectangles (RFC 6143 section 7.7.6): tiles in one zlib stream that lasts as long as the
//! connection. Inflated and painted as bytes arrive, so neither form is ever held whole.

mod tile;

use capture::Rect;

use super::inflate::{INFLATED_BYTES, Inflate, check_len};
use crate::{
    canvas::Canvas,
    error::Error,
    input::Input,
    layout::{Layout, Pixel},
};

/// The side of a tile.
const TILE_PX: u32 = 64;
const TILE_AREA_PX: usize = (TILE_PX * TILE_PX) as usize;

const _: () = assert!(tile::MAX_BYTES < INFLATED_BYTES);

/// The decoder of one connection.
pub(crate) struct Decoder {
    inflate: Inflate,
    /// The tile being decoded.
    tile: Box<[Pixel]>,
}

/// A ZRLE rectangle being painted.
#[derive(Debug)]
pub(crate) struct Zrle {
    rect: Rect,
    /// Compressed bytes still to come, once known.
    left: Option<usize>,
    /// The next tile, relative to the rectangle.
    x: u32,
    y: u32,
}

impl Zrle {
    pub(crate) const fn new(rect: Rect) -> Self {
        Self {
            rect,
            left: None,
            x: 0,
            y: if rect.w == 0 { rect.h } else { 0 },
        }
    }

    /// The next tile on the screen; `None` when all are painted.
    fn tile(&self) -> Option<Rect> {
        (self.y < self.rect.h).then(|| Rect {
            x: self.rect.x + self.x,
            y: self.rect.y + self.y,
            w: TILE_PX.min(self.rect.w - self.x),
            h: TILE_PX.min(self.rect.h - self.y),
        })
    }

    const fn advance(&mut self) {
        self.x += TILE_PX;
        if self.x >= self.rect.w {
            self.x = 0;
            self.y += TILE_PX;
        }
    }

    /// Paints the tiles that are inflated whole; gives back how many bytes they took.
    fn paint_tiles(
        &mut self,
        layout: &Layout,
        inflated: &[u8],
        buffer: &mut [Pixel],
        canvas: &mut Canvas<'_>,
    ) -> Result<usize, Error> {
        let mut rest = inflated;
        while let Some(at) = self.tile() {
            let Some(tile) = buffer.get_mut(..at.w as usize * at.h as usize) else {
                break;
            };
            let Some(after) = tile::decode(layout, rest, at.w as usize, tile)? else {
                break;
            };
            rest = after;
            for (y, row) in (at.y..).zip(tile.chunks_exact(at.w as usize)) {
                canvas.paint(at.x, y, row);
            }
            self.advance();
        }
        if self.tile().is_none() && !rest.is_empty() {
            return Err(Error::PixelsExceeded);
        }
        Ok(inflated.len() - rest.len())
    }
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            inflate: Inflate::new(),
            tile: vec![Pixel::default(); TILE_AREA_PX].into_boxed_slice(),
        }
    }

    /// Paints what has arrived of `zrle`; true once it is whole.
    ///
    /// # Errors
    /// When the data is longer than so many pixels need, corrupt, or not exactly the rectangle's
    /// tiles.
    pub(crate) fn paint(
        &mut self,
        zrle: &mut Zrle,
        layout: &Layout,
        input: &mut Input<'_>,
        canvas: &mut Canvas<'_>,
    ) -> Result<bool, Error> {
        let mut left = match zrle.left {
            Some(left) => left,
            None => match input.take_array().map(u32::from_be_bytes) {
                Some(len_bytes) => check_len(zrle.rect, len_bytes)?,
                None => return Ok(false),
            },
        };
        let buffer = &mut self.tile;
        let done = self.inflate.run(&mut left, input, |inflated| {
            zrle.paint_tiles(layout, inflated, buffer, canvas)
        })?;
        zrle.left = Some(left);
        if done && zrle.tile().is_some() {
            return Err(Error::PixelsMissing);
        }
        Ok(done)
    }
}
