//! Raw rectangles (RFC 6143 section 7.7.1), painted as their bytes arrive.

use capture::{Framebuffer, Rect, framebuffer::BYTES_PER_PX};

use crate::input::Input;

/// A raw rectangle being painted.
#[derive(Debug)]
pub(crate) struct Raw {
    rect: Rect,
    /// The next pixel, relative to the rectangle.
    x: u32,
    y: u32,
}

impl Raw {
    pub(crate) const fn new(rect: Rect) -> Self {
        Self { rect, x: 0, y: 0 }
    }

    /// Paints what has arrived; true once the rectangle is whole.
    pub(crate) fn paint(&mut self, input: &mut Input<'_>, framebuffer: &mut Framebuffer) -> bool {
        if self.rect.is_empty() {
            return true;
        }
        while self.y < self.rect.h {
            // A pixel cut in two by the network is joined by this; the rest is painted in place.
            if input.peek_array::<BYTES_PER_PX>().is_none() {
                return false;
            }
            let (x, y) = (self.rect.x + self.x, self.rect.y + self.y);
            let left_px = self.rect.w - self.x;
            let (wire, _) = input
                .available(left_px as usize * BYTES_PER_PX)
                .as_chunks::<BYTES_PER_PX>();
            paint_pixels(framebuffer.row_mut(x, y, left_px), wire);
            let painted_px = wire.len();
            input.consume(painted_px * BYTES_PER_PX);
            self.advance(painted_px);
        }
        true
    }

    fn advance(&mut self, painted_px: usize) {
        self.x += u32::try_from(painted_px).unwrap_or(u32::MAX);
        if self.x >= self.rect.w {
            self.x = 0;
            self.y += 1;
        }
    }
}

/// The fourth byte is the server's to fill with anything, so it is cleared: equal pictures must
/// have equal bytes.
fn paint_pixels(row: &mut [u8], wire: &[[u8; BYTES_PER_PX]]) {
    let (row, _) = row.as_chunks_mut::<BYTES_PER_PX>();
    for (pixel, &[b, g, r, _]) in row.iter_mut().zip(wire) {
        *pixel = [b, g, r, 0];
    }
}

#[cfg(test)]
mod tests {
    use capture::Size;

    use super::*;

    #[test]
    fn pixels_are_painted_in_any_pieces_and_their_spare_byte_cleared() {
        let wire: Vec<u8> = (0..24).collect();
        for piece in 1..=wire.len() {
            let mut framebuffer = Framebuffer::new(Size::new(4, 3), 0).unwrap();
            let mut raw = Raw::new(Rect::new(1, 1, 3, 2));
            let mut held = Vec::new();
            let done = wire
                .chunks(piece)
                .map(|bytes| raw.paint(&mut Input::new(&mut held, bytes), &mut framebuffer));
            assert_eq!(done.last(), Some(true), "{piece}");
            assert_eq!(
                framebuffer.row(1, 1, 3),
                [0, 1, 2, 0, 4, 5, 6, 0, 8, 9, 10, 0]
            );
            assert_eq!(framebuffer.row(0, 2, 2), [0, 0, 0, 0, 12, 13, 14, 0]);
        }
    }

    #[test]
    fn an_empty_rectangle_needs_no_bytes() {
        let mut framebuffer = Framebuffer::new(Size::new(4, 3), 0).unwrap();
        let mut raw = Raw::new(Rect::new(0, 0, 0, 3));
        assert!(raw.paint(&mut Input::new(&mut Vec::new(), &[]), &mut framebuffer));
    }
}
