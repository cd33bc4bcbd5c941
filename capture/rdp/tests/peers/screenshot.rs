//! What the X server says is on the screen: an `xwd` dump (X11's `XWDFile.h`).

use capture::{Framebuffer, Size};

use crate::desktop::Desktop;

/// The pointer may be painted by the server and is not in the dump; it rests in the lower right
/// corner, and this much there is left out.
const POINTER_PX: u32 = 40;

/// A dump of a root window of 24 bits.
pub(crate) struct Screenshot {
    pub(crate) size: Size,
    bytes_per_line: usize,
    pixels: Vec<u8>,
}

impl Screenshot {
    pub(crate) fn take(desktop: &Desktop) -> Self {
        let dump = desktop.run(&["xwd", "-root", "-silent"]);
        let (head, _) = dump.as_chunks::<4>();
        let field = |at: usize| u32::from_be_bytes(head[at]);
        let (header_bytes, colours) = (field(0) as usize, field(19) as usize);
        assert_eq!(
            (field(7), field(11)),
            (0, 32),
            "little-endian, 32 bits a pixel"
        );
        Self {
            size: Size::new(field(4), field(5)),
            bytes_per_line: field(12) as usize,
            pixels: dump[header_bytes + colours * 12..].to_vec(),
        }
    }

    /// Row `y`, as BGRX.
    fn row(&self, y: u32) -> &[[u8; 4]] {
        let start = y as usize * self.bytes_per_line;
        let (row, _) = self.pixels[start..start + self.bytes_per_line].as_chunks();
        &row[..self.size.w as usize]
    }

    /// What of `screen` differs, in pixels, away from the pointer, by more than `apart` in red,
    /// green or blue; `None` when the sizes differ.
    pub(crate) fn differing_px(&self, screen: &Framebuffer, apart: [u8; 3]) -> Option<u64> {
        if screen.size() != self.size {
            return None;
        }
        let Size { w, h } = self.size;
        let mut differing = 0;
        for y in 0..h {
            let (row, _) = screen.row(0, y, w).as_chunks::<4>();
            for ((x, &[b, g, r, _]), &[sb, sg, sr, _]) in (0..w).zip(row).zip(self.row(y)) {
                let at_pointer = x + POINTER_PX >= w && y + POINTER_PX >= h;
                let mut colours = [(r, sr), (g, sg), (b, sb)].into_iter().zip(apart);
                let equal = |((seen, shown), apart): ((u8, u8), u8)| seen.abs_diff(shown) <= apart;
                if !at_pointer && !colours.all(equal) {
                    differing += 1;
                }
            }
        }
        Some(differing)
    }

    /// How many colours are on the screen: a picture of one would prove nothing.
    pub(crate) fn colours(&self) -> usize {
        let rows = (0..self.size.h).flat_map(|y| self.row(y));
        rows.collect::<std::collections::BTreeSet<_>>().len()
    }
}
