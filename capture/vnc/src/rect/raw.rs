//! Raw rectangles (RFC 6143 section 7.7.1), painted as their bytes arrive.

use capture::Rect;

use crate::{canvas::Canvas, input::Input, layout::Layout};

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
    pub(crate) fn paint(
        &mut self,
        layout: &Layout,
        input: &mut Input<'_>,
        canvas: &mut Canvas<'_>,
    ) -> bool {
        if self.rect.is_empty() {
            return true;
        }
        let pixel_bytes = layout.bytes();
        while self.y < self.rect.h {
            // A pixel cut in two by the network is joined by this; the rest is painted in place.
            if input.peek(pixel_bytes).is_none() {
                return false;
            }
            let (x, y) = (self.rect.x + self.x, self.rect.y + self.y);
            let left_px = self.rect.w - self.x;
            let wire = input.available(left_px as usize * pixel_bytes);
            let painted_px = wire.len() / pixel_bytes;
            let painted_bytes = painted_px * pixel_bytes;
            canvas.read(layout, x, y, wire.get(..painted_bytes).unwrap_or_default());
            input.consume(painted_bytes);
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

#[cfg(test)]
mod tests {
    use capture::{Framebuffer, Size, pixels::PixelFormat};

    use super::*;
    use crate::layout::Layouts;

    /// Paints all of `wire` in pieces of each length.
    fn check(rect: Rect, wire: &[u8], expected: impl Fn(&Framebuffer)) {
        let layouts = Layouts::new(PixelFormat::BGRX).unwrap();
        for piece in 1..=wire.len().max(1) {
            let mut framebuffer = Framebuffer::new(Size::new(4, 3), 0).unwrap();
            let mut raw = Raw::new(rect);
            let mut held = Vec::new();
            let mut canvas = Canvas {
                framebuffer: &mut framebuffer,
                map: None,
            };
            let mut pieces = wire.chunks(piece).chain([[].as_slice()]);
            let done = pieces.any(|bytes| {
                raw.paint(
                    &layouts.pixel,
                    &mut Input::new(&mut held, bytes),
                    &mut canvas,
                )
            });
            assert!(done, "{piece}");
            expected(&framebuffer);
        }
    }

    #[test]
    fn pixels_are_painted_in_any_pieces_and_their_spare_byte_cleared() {
        let wire: Vec<u8> = (0..24).collect();
        check(Rect::new(1, 1, 3, 2), &wire, |framebuffer| {
            let first = [0, 1, 2, 0, 4, 5, 6, 0, 8, 9, 10, 0];
            assert_eq!(framebuffer.row(1, 1, 3), first);
            assert_eq!(framebuffer.row(0, 2, 2), [0, 0, 0, 0, 12, 13, 14, 0]);
        });
    }

    #[test]
    fn an_empty_rectangle_needs_no_bytes() {
        check(Rect::new(0, 0, 0, 3), &[], |_| {});
    }
}
