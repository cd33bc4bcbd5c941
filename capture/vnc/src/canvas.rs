//! What rectangles are painted on: the framebuffer, behind the peer's colour map if it has one
//! (RFC 6143 section 7.6.2).

use capture::{Framebuffer, Rect, Size, framebuffer::BYTES_PER_PX};

use crate::layout::{Layout, Pixel};

/// Colours in a colour map.
const COLOURS: usize = 256;

/// A peer's colour map, and for each pixel of the screen which of its colours it has: what is
/// painted changes when the map does.
pub(crate) struct ColourMap {
    colours: Box<[Pixel; COLOURS]>,
    size: Size,
    // INVARIANT: length is `size.area_px()`.
    indices: Vec<u8>,
}

impl ColourMap {
    /// A black map and a screen of its first colour.
    pub(crate) fn new(size: Size) -> Self {
        let mut map = Self {
            colours: Box::new([Pixel::default(); COLOURS]),
            size: Size::default(),
            indices: Vec::new(),
        };
        map.resize(size);
        map
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.size = size;
        self.indices.clear();
        self.indices.resize(size.w as usize * size.h as usize, 0);
    }

    /// Takes `entries`, six bytes each, from the colour `first` on; those past the last one are no
    /// colour of any pixel. True when a colour changed.
    pub(crate) fn set(&mut self, first: u16, entries: &[u8]) -> bool {
        let mut changed = false;
        let colours = self.colours.iter_mut().skip(first.into());
        for (colour, &[r, _, g, _, b, _]) in colours.zip(entries.as_chunks().0) {
            let set = [b, g, r, 0];
            changed |= *colour != set;
            *colour = set;
        }
        changed
    }

    /// Paints the whole screen anew.
    pub(crate) fn repaint(&self, framebuffer: &mut Framebuffer) {
        let rows = self.indices.chunks_exact(self.size.w.max(1) as usize);
        for (y, indices) in (0..self.size.h).zip(rows) {
            self.paint_row(indices, framebuffer.row_mut(0, y, self.size.w));
        }
    }

    pub(crate) fn colour(&self, index: u8) -> Pixel {
        // As many colours as indices.
        self.colours
            .get(usize::from(index))
            .copied()
            .unwrap_or_default()
    }

    fn paint_row(&self, indices: &[u8], row: &mut [u8]) {
        let (row, _) = row.as_chunks_mut::<BYTES_PER_PX>();
        for (pixel, &index) in row.iter_mut().zip(indices) {
            *pixel = self.colour(index);
        }
    }

    fn row_mut(&mut self, x: u32, y: u32, w: u32) -> &mut [u8] {
        if !Rect::new(x, y, w, 1).fits(self.size) {
            return &mut [];
        }
        let start = y as usize * self.size.w as usize + x as usize;
        let end = start + w as usize;
        self.indices.get_mut(start..end).unwrap_or_default()
    }
}

/// The screen being painted. Rows that leave it are not painted.
pub(crate) struct Canvas<'a> {
    pub(crate) framebuffer: &'a mut Framebuffer,
    pub(crate) map: Option<&'a mut ColourMap>,
}

impl Canvas<'_> {
    /// Paints a row of pixels just as they arrived.
    pub(crate) fn read(&mut self, layout: &Layout, x: u32, y: u32, wire: &[u8]) {
        let pixels = wire.len() / layout.bytes().max(1);
        let w = u32::try_from(pixels).unwrap_or(u32::MAX);
        let row = self.framebuffer.row_mut(x, y, w);
        let Some(map) = &mut self.map else {
            let (row, _) = row.as_chunks_mut();
            return layout.read(wire, row);
        };
        // An index is a byte.
        let indices = map.row_mut(x, y, w);
        if indices.len() == wire.len() {
            indices.copy_from_slice(wire);
        }
        map.paint_row(wire, row);
    }

    /// Paints a row of decoded pixels.
    pub(crate) fn paint(&mut self, x: u32, y: u32, pixels: &[Pixel]) {
        let w = u32::try_from(pixels.len()).unwrap_or(u32::MAX);
        let row = self.framebuffer.row_mut(x, y, w);
        let Some(map) = &mut self.map else {
            let bytes = pixels.as_flattened();
            if row.len() == bytes.len() {
                row.copy_from_slice(bytes);
            }
            return;
        };
        for (kept, [index, ..]) in map.row_mut(x, y, w).iter_mut().zip(pixels) {
            *kept = *index;
        }
        let (row, _) = row.as_chunks_mut::<BYTES_PER_PX>();
        for (pixel, [index, ..]) in row.iter_mut().zip(pixels) {
            *pixel = map.colour(*index);
        }
    }

    /// Paints `rect` in one decoded pixel.
    pub(crate) fn fill(&mut self, rect: Rect, pixel: Pixel) {
        let Some(map) = &mut self.map else {
            return self.framebuffer.fill(rect, pixel);
        };
        let [index, ..] = pixel;
        for y in rect.y..rect.bottom() {
            map.row_mut(rect.x, y, rect.w).fill(index);
        }
        let colour = map.colour(index);
        self.framebuffer.fill(rect, colour);
    }

    /// Paints `to` with what is now `from`, a rectangle of the same size; they may overlap.
    pub(crate) fn copy(&mut self, from: Rect, to: Rect) {
        let downwards = from.y < to.y;
        for step in 0..to.h {
            // Rows that are still to be read are written last.
            let y = if downwards { to.h - 1 - step } else { step };
            let row = self.framebuffer.row(from.x, from.y + y, from.w).to_vec();
            let target = self.framebuffer.row_mut(to.x, to.y + y, to.w);
            if target.len() == row.len() {
                target.copy_from_slice(&row);
            }
            if let Some(map) = &mut self.map {
                let row = map.row_mut(from.x, from.y + y, from.w).to_vec();
                let target = map.row_mut(to.x, to.y + y, to.w);
                if target.len() == row.len() {
                    target.copy_from_slice(&row);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Framebuffer {
        Framebuffer::new(Size::new(4, 3), 0).unwrap()
    }

    const RED: Pixel = [0, 0, 255, 0];
    const BLUE: Pixel = [255, 0, 0, 0];

    #[test]
    fn a_new_colour_map_paints_the_screen_anew() {
        let (mut framebuffer, mut map) = (screen(), ColourMap::new(Size::new(4, 3)));
        assert!(map.set(7, &[255, 0, 0, 0, 0, 0]));
        let mut canvas = Canvas {
            framebuffer: &mut framebuffer,
            map: Some(&mut map),
        };
        canvas.fill(Rect::new(1, 1, 2, 2), [7, 0, 0, 0]);
        canvas.paint(0, 0, &[[7, 0, 0, 0], [0; 4]]);
        assert_eq!(framebuffer.row(0, 0, 2), [RED, [0; 4]].as_flattened());
        assert_eq!(framebuffer.row(1, 2, 2), [RED, RED].as_flattened());

        assert!(!map.set(7, &[255, 0, 0, 0, 0, 0]), "the same colour again");
        assert!(map.set(7, &[0, 0, 0, 0, 255, 0]));
        map.repaint(&mut framebuffer);
        assert_eq!(framebuffer.row(0, 0, 2), [BLUE, [0; 4]].as_flattened());
        assert_eq!(framebuffer.row(1, 2, 2), [BLUE, BLUE].as_flattened());
    }

    #[test]
    fn colours_past_the_last_are_left_out() {
        let mut map = ColourMap::new(Size::new(1, 1));
        assert!(map.set(255, &[255, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9]));
        assert_eq!(map.colour(255), RED);
        assert!(!map.set(256, &[1; 6]));
    }

    /// Copies a column of three greys within itself, by `from` to `to` rows.
    fn check_copy(from: u32, to: u32, h: u32, expected: [u8; 3]) {
        let mut framebuffer = screen();
        for y in 0..3 {
            let grey = u8::try_from(y + 1).unwrap();
            framebuffer.fill(Rect::new(0, y, 4, 1), [grey; 4]);
        }
        let mut canvas = Canvas {
            framebuffer: &mut framebuffer,
            map: None,
        };
        canvas.copy(Rect::new(0, from, 4, h), Rect::new(0, to, 4, h));
        let column = [0, 1, 2].map(|y| framebuffer.row(3, y, 1)[0]);
        assert_eq!(column, expected);
    }

    #[test]
    fn overlapping_copies_read_before_they_write() {
        check_copy(0, 1, 2, [1, 1, 2]);
        check_copy(1, 0, 2, [2, 3, 3]);
    }
}
