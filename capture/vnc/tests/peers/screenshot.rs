//! What the X server says is on the screen: an `xwd` dump (X11's `XWDFile.h`).

use capture::{Framebuffer, Size};

use crate::desktop::Desktop;

/// The pointer is painted by the VNC server and not in the dump; it rests in the lower right
/// corner, and this much there is left out.
const POINTER_PX: u32 = 40;

/// A dump of a root window of 24 bits.
pub(crate) struct Screenshot {
    pub(crate) size: Size,
    little_endian: bool,
    bytes_per_pixel: usize,
    bytes_per_line: usize,
    pixels: Vec<u8>,
}

impl Screenshot {
    pub(crate) fn take(desktop: &Desktop) -> Self {
        let dump = desktop.run(&["xwd", "-root", "-silent"]);
        let (head, _) = dump.as_chunks::<4>();
        let field = |at: usize| u32::from_be_bytes(head[at]);
        let (header_bytes, colours) = (field(0) as usize, field(19) as usize);
        Self {
            size: Size::new(field(4), field(5)),
            little_endian: field(7) == 0,
            bytes_per_pixel: field(11) as usize / 8,
            bytes_per_line: field(12) as usize,
            pixels: dump[header_bytes + colours * 12..].to_vec(),
        }
    }

    fn value(&self, x: usize, y: usize) -> u32 {
        let start = y * self.bytes_per_line + x * self.bytes_per_pixel;
        let bytes = self.pixels[start..start + self.bytes_per_pixel].iter();
        let append = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
        if self.little_endian {
            bytes.rev().fold(0, append)
        } else {
            bytes.fold(0, append)
        }
    }

    /// What of `screen` differs, in pixels, away from the pointer; `None` when the sizes differ.
    pub(crate) fn differing_px(&self, screen: &Framebuffer) -> Option<u64> {
        if screen.size() != self.size {
            return None;
        }
        let Size { w, h } = self.size;
        let mut differing = 0;
        for y in 0..h {
            let (row, _) = screen.row(0, y, w).as_chunks::<4>();
            for (x, &[b, g, r, _]) in (0..w).zip(row) {
                let at_pointer = x + POINTER_PX >= w && y + POINTER_PX >= h;
                let seen = u32::from_be_bytes([0, r, g, b]);
                let shown = self.value(x as usize, y as usize) & 0xff_ffff;
                if !at_pointer && seen != shown {
                    differing += 1;
                }
            }
        }
        Some(differing)
    }

    /// How many colours are on the screen: a picture of one would prove nothing.
    pub(crate) fn colours(&self) -> usize {
        let mut colours = std::collections::BTreeSet::new();
        for y in 0..self.size.h as usize {
            for x in 0..self.size.w as usize {
                colours.insert(self.value(x, y));
            }
        }
        colours.len()
    }
}
