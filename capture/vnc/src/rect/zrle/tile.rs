//! One ZRLE tile: its subencoding byte, then pixels, palette and runs as that says.
//!
//! Pixels are `CPIXEL`s, as the connection's layout has them.

use crate::{
    error::Error,
    layout::{Layout, Pixel},
};

/// The longest tile there is: each pixel, of four bytes at most, a run of its own. No run can be
/// written in two ways, so nothing valid is longer.
pub(super) const MAX_BYTES: usize = 1 + 64 * 64 * (4 + 1);

/// Decodes the tile at the start of `bytes` into `tile`, rows of `w` pixels; gives back the bytes
/// after it, or `None` when the tile is not there whole (`tile` is then half painted).
///
/// # Errors
/// When no encoder could have written it.
pub(super) fn decode<'a>(
    layout: &Layout,
    bytes: &'a [u8],
    w: usize,
    tile: &mut [Pixel],
) -> Result<Option<&'a [u8]>, Error> {
    let Some((&subencoding, rest)) = bytes.split_first() else {
        return Ok(None);
    };
    match subencoding {
        0 => Ok(raw(layout, rest, tile)),
        1 => Ok(solid(layout, rest, tile)),
        2..=16 => {
            let Some((palette, rest)) = Palette::read(layout, rest, usize::from(subencoding))
            else {
                return Ok(None);
            };
            packed(rest, &palette, w, tile)
        }
        128 => plain_runs(layout, rest, tile),
        130..=255 => {
            let Some((palette, rest)) =
                Palette::read(layout, rest, usize::from(subencoding & 0x7f))
            else {
                return Ok(None);
            };
            palette_runs(rest, &palette, tile)
        }
        17..=127 | 129 => Err(Error::TileSubencoding { subencoding }),
    }
}

fn raw<'a>(layout: &Layout, bytes: &'a [u8], tile: &mut [Pixel]) -> Option<&'a [u8]> {
    let (pixels, rest) = bytes.split_at_checked(tile.len().checked_mul(layout.bytes())?)?;
    layout.read(pixels, tile);
    Some(rest)
}

fn solid<'a>(layout: &Layout, bytes: &'a [u8], tile: &mut [Pixel]) -> Option<&'a [u8]> {
    let (colour, rest) = layout.split(bytes)?;
    tile.fill(colour);
    Some(rest)
}

/// The colours a tile counts through. An index is seven bits at most, so the lookup needs no
/// bound; which indices are valid is checked on use.
struct Palette {
    colours: [Pixel; 128],
    len: usize,
}

impl Palette {
    fn read<'a>(layout: &Layout, bytes: &'a [u8], len: usize) -> Option<(Self, &'a [u8])> {
        let (wire, rest) = bytes.split_at_checked(len.checked_mul(layout.bytes())?)?;
        let mut colours = [Pixel::default(); 128];
        layout.read(wire, &mut colours);
        Some((Self { colours, len }, rest))
    }

    fn colour(&self, index: u8) -> Result<Pixel, Error> {
        // Not `ok_or`: an error made and dropped for each pixel takes longer than the pixel.
        match self.colours.get(usize::from(index)) {
            Some(colour) if usize::from(index) < self.len => Ok(*colour),
            _ => Err(Error::PaletteIndex {
                index,
                len: self.len,
            }),
        }
    }
}

/// Indices packed from the high bit down, each row padded to a whole byte.
fn packed<'a>(
    bytes: &'a [u8],
    palette: &Palette,
    w: usize,
    tile: &mut [Pixel],
) -> Result<Option<&'a [u8]>, Error> {
    let bits: u8 = match palette.len {
        ..=2 => 1,
        3..=4 => 2,
        _ => 4,
    };
    let in_byte = usize::from(8 / bits);
    let row_bytes = w.div_ceil(in_byte);
    let rows = tile.len().checked_div(w).unwrap_or(0);
    let Some((indices, rest)) = bytes.split_at_checked(row_bytes.saturating_mul(rows)) else {
        return Ok(None);
    };
    for (row, indices) in tile
        .chunks_exact_mut(w.max(1))
        .zip(indices.chunks_exact(row_bytes.max(1)))
    {
        for (pixels, &byte) in row.chunks_mut(in_byte).zip(indices) {
            let mut byte = byte;
            for pixel in pixels {
                byte = byte.rotate_left(u32::from(bits));
                *pixel = palette.colour(byte & ((1 << bits) - 1))?;
            }
        }
    }
    Ok(Some(rest))
}

fn plain_runs<'a>(
    layout: &Layout,
    mut bytes: &'a [u8],
    mut tile: &mut [Pixel],
) -> Result<Option<&'a [u8]>, Error> {
    while !tile.is_empty() {
        let Some((colour, after)) = layout.split(bytes) else {
            return Ok(None);
        };
        let Some((len, after)) = split_run(after) else {
            return Ok(None);
        };
        tile = fill_run(tile, colour, len)?;
        bytes = after;
    }
    Ok(Some(bytes))
}

fn palette_runs<'a>(
    mut bytes: &'a [u8],
    palette: &Palette,
    mut tile: &mut [Pixel],
) -> Result<Option<&'a [u8]>, Error> {
    while !tile.is_empty() {
        let Some((&index, after)) = bytes.split_first() else {
            return Ok(None);
        };
        let colour = palette.colour(index & 0x7f)?;
        let (len, after) = if index & 0x80 == 0 {
            (1, after)
        } else if let Some(run) = split_run(after) {
            run
        } else {
            return Ok(None);
        };
        tile = fill_run(tile, colour, len)?;
        bytes = after;
    }
    Ok(Some(bytes))
}

/// A run's length: one more than the sum of its bytes, of which the last is not 255. Reading stops
/// once it is longer than any tile, so a run without end is refused and not waited for.
fn split_run(mut bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut len: usize = 1;
    loop {
        let (&byte, after) = bytes.split_first()?;
        bytes = after;
        len = len.saturating_add(usize::from(byte));
        if byte != 255 || len > super::TILE_AREA_PX {
            return Some((len, bytes));
        }
    }
}

/// Paints the next `len` pixels; gives back those after them.
fn fill_run(tile: &mut [Pixel], colour: Pixel, len: usize) -> Result<&mut [Pixel], Error> {
    let Some((run, rest)) = tile.split_at_mut_checked(len) else {
        return Err(Error::TileRun);
    };
    run.fill(colour);
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use capture::pixels::PixelFormat;

    use super::*;
    use crate::layout::Layouts;

    const RED: [u8; 3] = [0, 0, 255];
    const BLUE: [u8; 3] = [255, 0, 0];

    /// Decodes `wire` as a tile of `w` by `h`, and each of its beginnings as incomplete; the red
    /// pixels are shown as `R`, blue as `B`, others as `.`.
    fn check(w: usize, h: usize, wire: &[u8], expected: &str) {
        let layout = &Layouts::new(PixelFormat::BGRX).unwrap().compact;
        let mut tile = vec![[9; 4]; w * h];
        for cut in 0..wire.len() {
            assert_eq!(
                decode(layout, &wire[..cut], w, &mut tile),
                Ok(None),
                "cut at {cut}"
            );
        }
        let with_more = [wire, &[77]].concat();
        let rest = decode(layout, &with_more, w, &mut tile);
        assert_eq!(rest, Ok(Some([77].as_slice())));
        let shown: String = tile
            .iter()
            .map(|pixel| match pixel {
                [0, 0, 255, 0] => 'R',
                [255, 0, 0, 0] => 'B',
                _ => '.',
            })
            .collect();
        assert_eq!(shown, expected);
    }

    fn wire(subencoding: u8, parts: &[&[u8]]) -> Vec<u8> {
        [&[subencoding], parts.concat().as_slice()].concat()
    }

    #[test]
    fn raw_pixels() {
        check(3, 1, &wire(0, &[&RED, &BLUE, &[1, 2, 3]]), "RB.");
    }

    #[test]
    fn one_colour() {
        check(2, 2, &wire(1, &[&BLUE]), "BBBB");
    }

    #[test]
    fn packed_rows_are_padded_to_bytes() {
        let two = wire(2, &[&RED, &BLUE, &[0b0101_0000, 0b1010_1111]]);
        check(4, 2, &two, "RBRBBRBR");
        let four = wire(
            3,
            &[&RED, &BLUE, &[1, 1, 1], &[0b00_01_10_00, 0b01_00_00_00]],
        );
        check(5, 1, &four, "RB.RB");
        let colours = [RED, BLUE, [1; 3], [2; 3], [3; 3]].concat();
        check(3, 1, &wire(5, &[&colours, &[0x01, 0x40]]), "RB.");
    }

    #[test]
    fn runs_cross_rows() {
        check(3, 2, &wire(128, &[&RED, &[3], &BLUE, &[1]]), "RRRRBB");
    }

    #[test]
    fn a_long_run_takes_several_bytes() {
        let runs = wire(128, &[&RED, &[255, 0], &BLUE, &[63]]);
        check(64, 5, &runs, &("R".repeat(256) + &"B".repeat(64)));
    }

    #[test]
    fn palette_runs_mix_single_pixels_and_runs() {
        let runs = wire(130, &[&RED, &BLUE, &[0, 0x81, 2, 0]]);
        check(5, 1, &runs, "RBBBR");
    }

    fn refuse(w: usize, h: usize, wire: &[u8], expected: Error) {
        let layout = &Layouts::new(PixelFormat::BGRX).unwrap().compact;
        let mut tile = vec![[0; 4]; w * h];
        assert_eq!(decode(layout, wire, w, &mut tile), Err(expected));
    }

    #[test]
    fn what_no_encoder_writes_is_refused() {
        for subencoding in [17, 127, 129] {
            refuse(1, 1, &[subencoding], Error::TileSubencoding { subencoding });
        }
        refuse(2, 1, &wire(128, &[&RED, &[2]]), Error::TileRun);
        refuse(64, 64, &wire(128, &[&RED, &[255; 17]]), Error::TileRun);
        let outside = wire(3, &[&RED, &BLUE, &RED, &[0xff]]);
        refuse(1, 1, &outside, Error::PaletteIndex { index: 3, len: 3 });
        let outside = wire(130, &[&RED, &BLUE, &[5]]);
        refuse(1, 1, &outside, Error::PaletteIndex { index: 5, len: 2 });
    }

    #[test]
    fn the_longest_tile_is_one_run_a_pixel() {
        // Their red and blue leave no byte of these pixels out.
        let wide = PixelFormat {
            shift: [24, 8, 0],
            ..PixelFormat::BGRX
        };
        let layout = &Layouts::new(wide).unwrap().compact;
        let wire = wire(128, &[&[1, 2, 3, 4, 0].repeat(64 * 64)]);
        assert_eq!(wire.len(), MAX_BYTES);
        let mut tile = vec![[0; 4]; 64 * 64];
        assert_eq!(
            decode(layout, &wire, 64, &mut tile),
            Ok(Some([].as_slice()))
        );
    }
}
