//! How does a frame say when it was painted? As a block code read back from pixels.
//!
//! Layout, also read by the browser test in JavaScript: 12 columns × 6 rows of blocks, each
//! 16 × 16 px, white for 1 and black for 0, row by row from the top left. The 72 bits are,
//! highest bit first: wall time in ms since 1970 (48), paint counter modulo 2¹⁶ (16), and a
//! CRC-8 of those eight bytes (polynomial 0x07, initial value 0xff). A block is as large as an
//! H.264 macroblock, and is judged by the mean luma of its inner 8 × 8 px, so chroma
//! subsampling and ringing at the edges cannot turn it.

/// Blocks in a row.
pub const COLUMNS: usize = 12;
/// Rows of blocks.
pub const ROWS: usize = 6;
/// Width and height of one block.
pub const BLOCK_PX: usize = 16;
/// Width of the whole code.
pub const WIDTH_PX: usize = COLUMNS * BLOCK_PX;
/// Height of the whole code.
pub const HEIGHT_PX: usize = ROWS * BLOCK_PX;

/// Pixels left out on each side of a block when it is read.
const MARGIN_PX: usize = 4;
/// A block's mean luma below this is black; above `255 - DARK` it is white.
const DARK: usize = 96;

/// What one paint says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Milliseconds since 1970-01-01 UTC, modulo 2⁴⁸.
    pub utc_ms: u64,
    /// The paint's number, modulo 2¹⁶.
    pub n: u16,
}

/// The blocks of `code`, row by row from the top left; `true` is white.
#[must_use]
pub fn encode(code: Code) -> [bool; COLUMNS * ROWS] {
    let [_, _, t0, t1, t2, t3, t4, t5] = code.utc_ms.to_be_bytes();
    let [n0, n1] = code.n.to_be_bytes();
    let payload = [t0, t1, t2, t3, t4, t5, n0, n1];
    std::array::from_fn(|block| {
        let byte = payload.get(block / 8).copied();
        byte.unwrap_or_else(|| crc8(payload)) >> (7 - block % 8) & 1 == 1
    })
}

/// Rows of `width × height` pixels, three bytes each: red, green, blue.
#[derive(Clone, Copy, Debug)]
pub struct RgbView<'a> {
    /// Width of the picture.
    pub width_px: usize,
    /// Height of the picture.
    pub height_px: usize,
    /// `3 × width × height` bytes.
    pub rgb: &'a [u8],
}

/// Why no code can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The picture is too small for a code at that place.
    #[error("the code reaches outside the picture of {width_px} × {height_px} px")]
    Outside {
        /// Width of the picture.
        width_px: usize,
        /// Height of the picture.
        height_px: usize,
    },
    /// A block is neither black nor white.
    #[error("block {block} is grey (mean luma {luma})")]
    Grey {
        /// Which block, row by row.
        block: usize,
        /// Its mean luma, 0–255.
        luma: usize,
    },
    /// The blocks do not belong together: no code stands here, or two are mixed.
    #[error("checksum is {found:#04x}, expected {expected:#04x}")]
    Checksum {
        /// As read.
        found: u8,
        /// As computed.
        expected: u8,
    },
}

/// Reads the code whose top left pixel is at (`x_px`, `y_px`).
///
/// # Errors
/// When the picture is too small, a block is grey, or the checksum disagrees.
pub fn decode(view: &RgbView<'_>, x_px: usize, y_px: usize) -> Result<Code, DecodeError> {
    let fits = x_px + WIDTH_PX <= view.width_px
        && y_px + HEIGHT_PX <= view.height_px
        && 3 * view.width_px * view.height_px <= view.rgb.len();
    if !fits {
        return Err(DecodeError::Outside {
            width_px: view.width_px,
            height_px: view.height_px,
        });
    }
    let mut bytes = [0_u8; COLUMNS * ROWS / 8];
    for block in 0..COLUMNS * ROWS {
        let left = x_px + block % COLUMNS * BLOCK_PX;
        let top = y_px + block / COLUMNS * BLOCK_PX;
        let luma = mean_luma(view, left, top);
        if (DARK..=255 - DARK).contains(&luma) {
            return Err(DecodeError::Grey { block, luma });
        }
        bytes[block / 8] = bytes[block / 8] << 1 | u8::from(255 - DARK < luma);
    }
    let [t0, t1, t2, t3, t4, t5, n0, n1, found] = bytes;
    let expected = crc8([t0, t1, t2, t3, t4, t5, n0, n1]);
    if found != expected {
        return Err(DecodeError::Checksum { found, expected });
    }
    Ok(Code {
        utc_ms: u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]),
        n: u16::from_be_bytes([n0, n1]),
    })
}

fn crc8(payload: [u8; 8]) -> u8 {
    payload.into_iter().fold(0xff, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc: u8, _| {
            let shifted = crc << 1;
            if crc & 0x80 == 0 {
                shifted
            } else {
                shifted ^ 0x07
            }
        })
    })
}

/// Mean of a block's inner pixels. Black and white have equal channels, so the plain mean of
/// red, green and blue serves as luma.
fn mean_luma(view: &RgbView<'_>, left: usize, top: usize) -> usize {
    let inner = MARGIN_PX..BLOCK_PX - MARGIN_PX;
    let sum: usize = inner
        .clone()
        .flat_map(|dy| {
            let row = (top + dy) * view.width_px + left;
            &view.rgb[3 * (row + inner.start)..3 * (row + inner.end)]
        })
        .map(|&channel| usize::from(channel))
        .sum();
    sum / (3 * inner.len() * inner.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: Code = Code {
        utc_ms: 1_796_037_243_250,
        n: 54_321,
    };

    /// A picture of 40 px more on each side than the code, which stands at (8, 16).
    fn picture(blocks: [bool; COLUMNS * ROWS], black: u8, white: u8) -> (usize, usize, Vec<u8>) {
        let (width, height) = (WIDTH_PX + 40, HEIGHT_PX + 40);
        let mut rgb = vec![90; 3 * width * height];
        for (block, &on) in blocks.iter().enumerate() {
            for dy in 0..BLOCK_PX {
                let y = 16 + block / COLUMNS * BLOCK_PX + dy;
                let x = 8 + block % COLUMNS * BLOCK_PX;
                let row = 3 * (y * width + x);
                rgb[row..row + 3 * BLOCK_PX].fill(if on { white } else { black });
            }
        }
        (width, height, rgb)
    }

    fn read(blocks: [bool; COLUMNS * ROWS], black: u8, white: u8) -> Result<Code, DecodeError> {
        let (width_px, height_px, rgb) = picture(blocks, black, white);
        let view = RgbView {
            width_px,
            height_px,
            rgb: &rgb,
        };
        decode(&view, 8, 16)
    }

    #[test]
    fn what_is_encoded_is_read_back() {
        for code in [
            EXAMPLE,
            Code { utc_ms: 0, n: 0 },
            Code {
                utc_ms: (1 << 48) - 1,
                n: u16::MAX,
            },
        ] {
            assert_eq!(read(encode(code), 0, 255), Ok(code));
        }
    }

    #[test]
    fn studio_range_and_noise_are_read() {
        assert_eq!(read(encode(EXAMPLE), 20, 232), Ok(EXAMPLE));
    }

    #[test]
    fn black_white_and_grey_pictures_hold_no_code() {
        let blank = |on| read([on; COLUMNS * ROWS], 0, 255);
        assert!(matches!(blank(false), Err(DecodeError::Checksum { .. })));
        assert!(matches!(blank(true), Err(DecodeError::Checksum { .. })));
        assert!(matches!(
            read(encode(EXAMPLE), 120, 140),
            Err(DecodeError::Grey { .. })
        ));
    }

    #[test]
    fn any_one_turned_block_is_noticed() {
        for block in 0..COLUMNS * ROWS {
            let mut blocks = encode(EXAMPLE);
            blocks[block] = !blocks[block];
            assert!(read(blocks, 0, 255).is_err(), "block {block}");
        }
    }

    #[test]
    fn a_code_outside_the_picture_is_an_error() {
        let (width_px, height_px, rgb) = picture(encode(EXAMPLE), 0, 255);
        let view = RgbView {
            width_px,
            height_px,
            rgb: &rgb,
        };
        assert!(matches!(
            decode(&view, 100, 16),
            Err(DecodeError::Outside { .. })
        ));
    }
}
