//! What a machine itself says is on its screen.

use capture::{Framebuffer, Rect, Size};

/// A picture in BGRX. Where it was made of few bits, each colour is as near as they come.
#[derive(PartialEq, Eq)]
pub(crate) struct Screenshot {
    pub(crate) size: Size,
    pixels: Vec<[u8; 4]>,
    /// How far off a source may be that rounds otherwise.
    step: [u8; 3],
}

impl Screenshot {
    /// Reads an `xwd` dump of the root window (X11's `XWDFile.h`).
    pub(crate) fn of_xwd(dump: &[u8]) -> Self {
        let (head, _) = dump.as_chunks::<4>();
        let field = |at: usize| u32::from_be_bytes(head[at]);
        let (header_bytes, colours) = (field(0) as usize, field(19) as usize);
        let size = Size::new(field(4), field(5));
        let (depth, little_endian) = (field(3), field(7) == 0);
        let (bytes_per_pixel, line) = (field(11) as usize / 8, field(12) as usize);
        let (map, wire) = dump[header_bytes..].split_at(colours * 12);
        let value = |x: usize, y: usize| {
            let start = y * line + x * bytes_per_pixel;
            let bytes = &wire[start..start + bytes_per_pixel];
            let append = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
            if little_endian {
                bytes.iter().rev().fold(0, append)
            } else {
                bytes.iter().fold(0, append)
            }
        };
        let colour = |value: u32| {
            let channel = |shift: u32, bits: u32| {
                let max = (1 << bits) - 1;
                let scaled = ((value >> shift & max) * 255 + max / 2) / max;
                u8::try_from(scaled).unwrap()
            };
            match depth {
                24 => [channel(0, 8), channel(8, 8), channel(16, 8), 0],
                16 => [channel(0, 5), channel(5, 6), channel(11, 5), 0],
                8 => {
                    let entry = &map[value as usize * 12..];
                    [entry[8], entry[6], entry[4], 0]
                }
                depth => panic!("no rule for depth {depth}"),
            }
        };
        let (w, h) = (size.w as usize, size.h as usize);
        let pixels = (0..h).flat_map(|y| (0..w).map(move |x| (x, y)));
        Self {
            size,
            pixels: pixels.map(|(x, y)| colour(value(x, y))).collect(),
            step: if depth == 16 { [5, 3, 5] } else { [0; 3] },
        }
    }

    /// Reads a binary `ppm`.
    pub(crate) fn of_ppm(file: &[u8]) -> Self {
        let mut fields = file.splitn(4, |byte| byte.is_ascii_whitespace());
        let mut field = || {
            std::str::from_utf8(fields.next().unwrap())
                .unwrap()
                .to_owned()
        };
        assert_eq!(field(), "P6");
        let [w, h] = [field(), field()].map(|side| side.parse().unwrap());
        let pixels = fields.next().unwrap().strip_prefix(b"255\n").unwrap();
        let size = Size::new(w, h);
        assert_eq!(pixels.len() as u64, size.area_px() * 3);
        let (pixels, _) = pixels.as_chunks();
        Self {
            size,
            pixels: pixels.iter().map(|&[r, g, b]| [b, g, r, 0]).collect(),
            step: [0; 3],
        }
    }

    /// What of `picture` is farther from this than `tolerance`, in red, green and blue: the
    /// smallest rectangle around it. `None` when the sizes differ.
    pub(crate) fn difference(&self, picture: &Framebuffer, tolerance: [u8; 3]) -> Option<Rect> {
        if picture.size() != self.size {
            return None;
        }
        let mut differs = Rect::default();
        let rows = self.pixels.chunks_exact(self.size.w as usize);
        for (y, shown) in (0..self.size.h).zip(rows) {
            let (row, _) = picture.row(0, y, self.size.w).as_chunks::<4>();
            for ((x, shown), seen) in (0..).zip(shown).zip(row) {
                let near = (0..3).all(|channel| {
                    let most = tolerance[2 - channel].max(self.step[channel]);
                    shown[channel].abs_diff(seen[channel]) <= most
                });
                if !near {
                    let pixel = Rect::new(x, y, 1, 1);
                    let first = differs.is_empty();
                    differs = if first { pixel } else { differs.union(pixel) };
                }
            }
        }
        Some(differs)
    }

    /// How many colours are on the screen: a picture of one would prove nothing.
    pub(crate) fn colours(&self) -> usize {
        let colours: std::collections::BTreeSet<_> = self.pixels.iter().collect();
        colours.len()
    }
}
