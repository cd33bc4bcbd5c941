//! Is the painter's coloured bar in a picture? It stands for what a mask must hide.

use crate::picture::Picture;

/// A policy that masks the whole of it, in px of the screen.
pub const MASK: &str = "[[mask]]\nname = \"bar\"\nrect = [32, 144, 384, 64]\n";
/// Its colours, as the painter paints them.
const COLOURS: [[u8; 3]; 4] = [
    [0x38, 0xbd, 0xf8],
    [0xfb, 0xbf, 0x24],
    [0x34, 0xd3, 0x99],
    [0xf4, 0x72, 0xb6],
];
/// How far a channel may be off after H.264, JPEG and scaling.
const TOLERANCE: u8 = 48;

/// Whether any pixel has one of its colours.
#[must_use]
pub fn shows(picture: &Picture) -> bool {
    picture.rgb.chunks_exact(3).any(|pixel| {
        let close = |colour: &[u8; 3]| {
            colour
                .iter()
                .zip(pixel)
                .all(|(want, have)| want.abs_diff(*have) <= TOLERANCE)
        };
        COLOURS.iter().any(close)
    })
}
