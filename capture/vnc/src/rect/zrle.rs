//! ZRLE rectangles (RFC 6143 section 7.7.6): tiles in one zlib stream that lasts as long as the
//! connection. Inflated and painted as bytes arrive, so neither form is ever held whole.

mod inflate;
mod tile;

use capture::{Framebuffer, Rect, framebuffer::BYTES_PER_PX};

use self::inflate::Inflate;
use crate::{error::Error, input::Input, limits};

/// The side of a tile.
const TILE_PX: u32 = 64;
const TILE_AREA_PX: usize = (TILE_PX * TILE_PX) as usize;

/// What is inflated ahead of the tile being painted: several tiles, so that the work of each step
/// pays, and always more than the longest tile.
const INFLATED_BYTES: usize = 64 * 1024;

const _: () = assert!(tile::MAX_BYTES < INFLATED_BYTES);

/// The decoder of one connection.
pub(crate) struct Decoder {
    inflate: Inflate,
    /// Inflated and not yet painted. INVARIANT: at most `INFLATED_BYTES`.
    inflated: Vec<u8>,
    /// The tile being decoded.
    tile: Box<[[u8; BYTES_PER_PX]]>,
}

/// A ZRLE rectangle being painted.
#[derive(Debug)]
pub(crate) struct Zrle {
    rect: Rect,
    compressed_left: usize,
    /// The next tile, relative to the rectangle.
    x: u32,
    y: u32,
}

impl Zrle {
    /// A rectangle whose compressed data is `len_bytes` long.
    ///
    /// # Errors
    /// When that is longer than any encoder needs for so many pixels.
    pub(crate) fn new(rect: Rect, len_bytes: u32) -> Result<Self, Error> {
        let raw_bytes = rect.area_px() * BYTES_PER_PX as u64;
        let limit_bytes =
            (2 * raw_bytes + limits::COMPRESSED_SLACK_BYTES).min(limits::COMPRESSED_BYTES);
        if u64::from(len_bytes) > limit_bytes {
            return Err(Error::CompressedTooLong {
                len_bytes,
                limit_bytes,
            });
        }
        Ok(Self {
            rect,
            compressed_left: len_bytes as usize,
            x: 0,
            y: if rect.w == 0 { rect.h } else { 0 },
        })
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
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            inflate: Inflate::new(),
            inflated: Vec::new(),
            tile: vec![[0; BYTES_PER_PX]; TILE_AREA_PX].into_boxed_slice(),
        }
    }

    /// Paints what has arrived of `zrle`; true once it is whole.
    ///
    /// # Errors
    /// When the data is corrupt, or is not exactly the rectangle's tiles.
    pub(crate) fn paint(
        &mut self,
        zrle: &mut Zrle,
        input: &mut Input<'_>,
        framebuffer: &mut Framebuffer,
    ) -> Result<bool, Error> {
        loop {
            let compressed = input.available(zrle.compressed_left);
            let room = INFLATED_BYTES.saturating_sub(self.inflated.len());
            let step = self.inflate.step(compressed, &mut self.inflated, room)?;
            input.consume(step.consumed);
            zrle.compressed_left -= step.consumed;
            self.paint_tiles(zrle, framebuffer)?;

            let idle = step.consumed == 0 && step.produced == 0;
            if idle && zrle.compressed_left > 0 {
                return Ok(false);
            }
            if idle {
                break;
            }
        }
        match zrle.tile() {
            None => Ok(true),
            Some(_) => Err(Error::TilesMissing),
        }
    }

    /// Paints the tiles that are inflated whole.
    fn paint_tiles(&mut self, zrle: &mut Zrle, framebuffer: &mut Framebuffer) -> Result<(), Error> {
        let mut rest = self.inflated.as_slice();
        while let Some(at) = zrle.tile() {
            let Some(tile) = self.tile.get_mut(..at.w as usize * at.h as usize) else {
                break;
            };
            let Some(after) = tile::decode(rest, at.w as usize, tile)? else {
                break;
            };
            rest = after;
            blit(tile, at, framebuffer);
            zrle.advance();
        }
        if zrle.tile().is_none() && !rest.is_empty() {
            return Err(Error::TilesExceeded);
        }
        let painted = self.inflated.len() - rest.len();
        self.inflated.drain(..painted);
        Ok(())
    }
}

fn blit(tile: &[[u8; BYTES_PER_PX]], at: Rect, framebuffer: &mut Framebuffer) {
    for (y, row) in (at.y..).zip(tile.chunks_exact(at.w as usize)) {
        let target = framebuffer.row_mut(at.x, y, at.w);
        // Of equal length whenever the rectangle lies on the screen, which was checked.
        if target.len() == row.len() * BYTES_PER_PX {
            target.copy_from_slice(row.as_flattened());
        }
    }
}
