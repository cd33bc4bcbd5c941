//! Hextile rectangles (RFC 6143 section 7.7.4): tiles of 16 by 16, each raw or a ground with
//! smaller rectangles on it.

use capture::Rect;

use crate::{
    canvas::Canvas,
    error::Error,
    input::Input,
    layout::{Layout, Pixel},
};

const TILE_PX: u32 = 16;

/// Bits of a tile's subencoding.
mod bit {
    pub(super) const RAW: u8 = 1;
    pub(super) const BACKGROUND: u8 = 2;
    pub(super) const FOREGROUND: u8 = 4;
    pub(super) const SUBRECTS: u8 = 8;
    pub(super) const COLOURED: u8 = 16;
}

/// A Hextile rectangle being painted.
#[derive(Debug)]
pub(crate) struct Hextile {
    rect: Rect,
    /// The next tile, relative to the rectangle.
    x: u32,
    y: u32,
    /// Colours last from tile to tile.
    background: Pixel,
    foreground: Pixel,
}

impl Hextile {
    pub(crate) fn new(rect: Rect) -> Self {
        Self {
            rect,
            x: 0,
            y: 0,
            background: Pixel::default(),
            foreground: Pixel::default(),
        }
    }

    /// Paints the tiles that have arrived whole; true once all are.
    ///
    /// # Errors
    /// When a tile is not one.
    pub(crate) fn paint(
        &mut self,
        layout: &Layout,
        input: &mut Input<'_>,
        canvas: &mut Canvas<'_>,
    ) -> Result<bool, Error> {
        while !self.rect.is_empty() && self.y < self.rect.h {
            let tile = Rect {
                x: self.rect.x + self.x,
                y: self.rect.y + self.y,
                w: TILE_PX.min(self.rect.w - self.x),
                h: TILE_PX.min(self.rect.h - self.y),
            };
            let Some(bytes) = tile_bytes(tile, layout, input)? else {
                return Ok(false);
            };
            let Some(wire) = input.peek(bytes) else {
                return Ok(false);
            };
            self.paint_tile(tile, layout, wire, canvas)?;
            input.consume(bytes);
            self.x += TILE_PX;
            if self.x >= self.rect.w {
                self.x = 0;
                self.y += TILE_PX;
            }
        }
        Ok(true)
    }

    /// Paints a tile that is there whole.
    fn paint_tile(
        &mut self,
        tile: Rect,
        layout: &Layout,
        wire: &[u8],
        canvas: &mut Canvas<'_>,
    ) -> Result<(), Error> {
        let Some((&subencoding, mut rest)) = wire.split_first() else {
            return Ok(());
        };
        let has = |bit| subencoding & bit != 0;
        if has(bit::RAW) {
            let row_bytes = tile.w as usize * layout.bytes();
            for (y, row) in (tile.y..tile.bottom()).zip(rest.chunks_exact(row_bytes.max(1))) {
                canvas.read(layout, tile.x, y, row);
            }
            return Ok(());
        }
        for (set, colour) in [
            (has(bit::BACKGROUND), &mut self.background),
            (has(bit::FOREGROUND), &mut self.foreground),
        ] {
            if set && let Some((read, after)) = layout.split(rest) {
                *colour = read;
                rest = after;
            }
        }
        canvas.fill(tile, self.background);
        if !has(bit::SUBRECTS) {
            return Ok(());
        }
        let colour_bytes = if has(bit::COLOURED) {
            layout.bytes()
        } else {
            0
        };
        // The first byte counts them.
        for subrect in rest
            .get(1..)
            .unwrap_or_default()
            .chunks_exact(colour_bytes + 2)
        {
            let (colour, place) = subrect.split_at_checked(colour_bytes).unwrap_or_default();
            let colour = layout
                .split(colour)
                .map_or(self.foreground, |(read, _)| read);
            if let &[xy, wh] = place {
                canvas.fill(subrect_on(tile, xy, wh)?, colour);
            }
        }
        Ok(())
    }
}

/// How many bytes the next tile takes, once enough of it is there to tell.
///
/// # Errors
/// When its subencoding has unknown bits.
fn tile_bytes(tile: Rect, layout: &Layout, input: &mut Input<'_>) -> Result<Option<usize>, Error> {
    let Some([subencoding]) = input.peek_array() else {
        return Ok(None);
    };
    let has = |bit| usize::from(subencoding & bit != 0);
    if subencoding >= 32 {
        return Err(Error::TileSubencoding { subencoding });
    }
    if has(bit::RAW) == 1 {
        return Ok(Some(1 + tile.w as usize * tile.h as usize * layout.bytes()));
    }
    let colours = 1 + (has(bit::BACKGROUND) + has(bit::FOREGROUND)) * layout.bytes();
    if has(bit::SUBRECTS) == 0 {
        return Ok(Some(colours));
    }
    let subrect_bytes = 2 + has(bit::COLOURED) * layout.bytes();
    let head = input.peek(colours + 1);
    let subrects = head.and_then(|head| head.last());
    Ok(subrects.map(|&subrects| colours + 1 + usize::from(subrects) * subrect_bytes))
}

/// Where a small rectangle lies: two half bytes of place, two of size less one.
///
/// # Errors
/// When it leaves its tile.
fn subrect_on(tile: Rect, xy: u8, wh: u8) -> Result<Rect, Error> {
    let halves = |byte: u8| (u32::from(byte >> 4), u32::from(byte & 15));
    let ((x, y), (w, h)) = (halves(xy), halves(wh));
    let (w, h) = (w + 1, h + 1);
    if x + w > tile.w || y + h > tile.h {
        return Err(Error::TileSubrect);
    }
    Ok(Rect::new(tile.x + x, tile.y + y, w, h))
}

#[cfg(test)]
mod tests {
    use capture::{Framebuffer, Size, pixels::PixelFormat};

    use super::*;
    use crate::layout::Layouts;

    const RED: [u8; 4] = [0, 0, 255, 0];
    const BLUE: [u8; 4] = [255, 0, 0, 0];

    /// Paints `wire` as a rectangle of `w` by `h`, whole and byte by byte; shows its first row.
    fn paint(w: u32, h: u32, wire: &[u8]) -> Result<String, Error> {
        let layouts = Layouts::new(PixelFormat::BGRX).unwrap();
        let [by_byte, whole] = [1, wire.len()].map(|piece| {
            let mut framebuffer = Framebuffer::new(Size::new(w, h), 0).unwrap();
            let mut hextile = Hextile::new(framebuffer.size().rect());
            let mut held = Vec::new();
            let mut done = false;
            for bytes in wire.chunks(piece) {
                assert!(!done, "bytes are left");
                let mut canvas = Canvas {
                    framebuffer: &mut framebuffer,
                    map: None,
                };
                let mut input = Input::new(&mut held, bytes);
                done = hextile.paint(&layouts.pixel, &mut input, &mut canvas)?;
            }
            assert!(done);
            let letter = |pixel: &[u8; 4]| match *pixel {
                RED => 'R',
                BLUE => 'B',
                _ => '.',
            };
            let row = framebuffer.row(0, 0, w).as_chunks().0;
            Ok(row.iter().map(letter).collect())
        });
        assert_eq!(by_byte, whole);
        whole
    }

    fn check(w: u32, h: u32, wire: &[&[u8]], expected: &str) {
        assert_eq!(paint(w, h, &wire.concat()), Ok(expected.into()));
    }

    #[test]
    fn colours_last_from_tile_to_tile() {
        let ground = [&[2], RED.as_slice()].concat();
        check(20, 1, &[&ground, &[0]], &"R".repeat(20));
        let marked = [&[2 | 4 | 8], RED.as_slice(), &BLUE, &[1, 0x30, 0x10]].concat();
        let again = [8, 2, 0x00, 0x00, 0x20, 0x00];
        let expected = "RRRBB".to_owned() + &"R".repeat(11) + "BRBR";
        check(20, 1, &[&marked, &again], &expected);
    }

    #[test]
    fn raw_tiles_and_coloured_rectangles_are_painted() {
        check(2, 2, &[&[1], &RED, &BLUE, &RED, &RED], "RB");
        let coloured = [&[2 | 8 | 16], RED.as_slice(), &[1], &BLUE, &[0x10, 0x01]].concat();
        check(3, 2, &[&coloured], "RBR");
    }

    #[test]
    fn what_is_no_tile_is_refused() {
        let subencoding = 32;
        assert_eq!(
            paint(1, 1, &[subencoding]),
            Err(Error::TileSubencoding { subencoding })
        );
        for outside in [[0x10, 0x10], [0x00, 0x02], [0xff, 0x00]] {
            let wire = [&[8, 1], outside.as_slice()].concat();
            assert_eq!(paint(2, 2, &wire), Err(Error::TileSubrect));
        }
    }
}
