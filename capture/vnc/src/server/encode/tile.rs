//! One ZRLE tile (RFC 6143 section 7.7.6), in the shortest of its ways.

use super::palette::{Palette, runs};
use crate::layout::{Layout, Pixel};

/// Colours that are packed several to a byte.
const PACKED_COLOURS: usize = 16;

/// Appends a tile in rows of `w` pixels.
pub(super) fn encode(layout: &Layout, tile: &[Pixel], w: usize, out: &mut Vec<u8>) {
    let survey = Survey::of(tile);
    let colours = survey.palette.colours.as_slice();
    let palette_bytes = colours.len() * layout.bytes();
    let raw_bytes = tile.len() * layout.bytes();
    let runs_bytes = survey.runs * layout.bytes() + survey.lengths_bytes;
    let in_byte = match colours.len() {
        ..=2 => 8,
        3..=4 => 4,
        _ => 2,
    };
    let packed_bytes = palette_bytes + w.div_ceil(in_byte) * tile.len().div_ceil(w.max(1));
    // A run of one has no length.
    let palette_runs_bytes = palette_bytes + survey.runs + survey.lengths_bytes - survey.singles;

    let small = survey.palette.is_whole && colours.len() <= PACKED_COLOURS;
    let ways = [
        (raw_bytes, Way::Raw, true),
        (runs_bytes, Way::Runs, true),
        (packed_bytes, Way::Packed, small),
        (
            palette_runs_bytes,
            Way::PaletteRuns,
            survey.palette.is_whole,
        ),
    ];
    let possible = ways.into_iter().filter(|(.., possible)| *possible);
    let shortest = possible.min_by_key(|(bytes, ..)| *bytes);
    match shortest.map_or(Way::Raw, |(_, way, _)| way) {
        _ if survey.palette.is_whole && colours.len() == 1 => {
            out.push(1);
            layout.write(colours, out);
        }
        Way::Raw => {
            out.push(0);
            layout.write(tile, out);
        }
        Way::Runs => {
            out.push(128);
            for (colour, len) in runs(tile) {
                layout.write(&[colour], out);
                run_length(len, out);
            }
        }
        Way::Packed => {
            out.push(palette_len(colours));
            layout.write(colours, out);
            for row in tile.chunks(w.max(1)) {
                survey.palette.pack(row, in_byte, out);
            }
        }
        Way::PaletteRuns => {
            out.push(128 | palette_len(colours));
            layout.write(colours, out);
            for (colour, len) in runs(tile) {
                let index = survey.palette.index(colour);
                if len == 1 {
                    out.push(index);
                } else {
                    out.push(index | 0x80);
                    run_length(len, out);
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Way {
    Raw,
    Runs,
    Packed,
    PaletteRuns,
}

/// What there is in a tile.
struct Survey {
    palette: Palette,
    runs: usize,
    /// Runs of a single pixel.
    singles: usize,
    /// Bytes of the lengths of all runs.
    lengths_bytes: usize,
}

impl Survey {
    fn of(tile: &[Pixel]) -> Self {
        let mut survey = Self {
            palette: Palette::default(),
            runs: 0,
            singles: 0,
            lengths_bytes: 0,
        };
        for (colour, len) in runs(tile) {
            survey.palette.add(colour);
            survey.runs += 1;
            survey.singles += usize::from(len == 1);
            survey.lengths_bytes += (len - 1) / 255 + 1;
        }
        survey
    }
}

fn palette_len(colours: &[Pixel]) -> u8 {
    u8::try_from(colours.len()).unwrap_or(u8::MAX)
}

/// One less than the length, as a sum of bytes of which the last is not 255.
fn run_length(len: usize, out: &mut Vec<u8>) {
    let mut rest = len - 1;
    while rest >= 255 {
        out.push(255);
        rest -= 255;
    }
    out.push(u8::try_from(rest).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use capture::pixels::PixelFormat;

    use super::*;
    use crate::layout::Layouts;

    const RED: [u8; 3] = [0, 0, 255];
    const BLUE: [u8; 3] = [255, 0, 0];

    /// How a tile is written of which `R` are red pixels and `B` blue; digits are greys.
    fn check(w: usize, pixels: &str, expected: &[&[u8]]) {
        let layout = &Layouts::of_true_colour(PixelFormat::BGRX).compact;
        let tile: Vec<Pixel> = { pixels.bytes() }
            .map(|pixel| match pixel {
                b'R' => [0, 0, 255, 0],
                b'B' => [255, 0, 0, 0],
                grey => [grey, grey, grey, 0],
            })
            .collect();
        let mut wire = Vec::new();
        encode(layout, &tile, w, &mut wire);
        assert_eq!(wire, expected.concat(), "{pixels}");
    }

    #[test]
    fn each_tile_is_written_in_its_shortest_way() {
        check(2, "RRRR", &[&[1], &RED]);
        check(3, "RBR", &[&[2], &RED, &BLUE, &[0b0100_0000]]);
        let bars = "R".repeat(300) + &"B".repeat(301);
        let lengths: [&[u8]; 2] = [&[255, 44], &[255, 45]];
        check(601, &bars, &[&[128], &RED, lengths[0], &BLUE, lengths[1]]);
        check(2, "12", &[&[0], b"111", b"222"]);
    }
}
