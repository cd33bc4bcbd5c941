//! One `FramebufferUpdate` under way: what it has painted so far, and what it brought in the end.

use capture::{Damage, Framebuffer, Rect, framebuffer::BYTES_PER_PX};

use crate::pace::Brought;

/// The pixel that is asked for to prove that the picture stands.
pub(crate) const FIRST_PIXEL: Rect = Rect::new(0, 0, 1, 1);

/// An update being painted.
#[derive(Debug, Default)]
pub(crate) struct Update {
    /// Rectangles still to come, unless a last one is announced before.
    pub(crate) rects_left: u16,
    damage: Damage,
    first_pixel: [u8; BYTES_PER_PX],
}

impl Update {
    pub(crate) fn new(rects: u16, framebuffer: &Framebuffer) -> Self {
        Self {
            rects_left: rects,
            damage: Damage::default(),
            first_pixel: first_pixel(framebuffer),
        }
    }

    /// The rectangle under way is done, and all of `painted` may have changed.
    pub(crate) fn rect_done(&mut self, painted: Rect) {
        self.rects_left = self.rects_left.saturating_sub(1);
        self.damage.add(painted);
    }

    /// The screen is black and of another size: nothing painted before counts.
    pub(crate) fn resized(&mut self, framebuffer: &Framebuffer) {
        self.damage = Damage::default();
        self.first_pixel = first_pixel(framebuffer);
    }

    /// What the whole update brought, and where it may have changed something.
    pub(crate) fn finish(&mut self, framebuffer: &Framebuffer) -> (Brought, Damage) {
        let damage = self.damage.take();
        let only_first = damage.bounds() == FIRST_PIXEL;
        let brought = if damage.is_empty() {
            Brought::Nothing
        } else if only_first && first_pixel(framebuffer) == self.first_pixel {
            Brought::FirstPixel
        } else {
            Brought::Pixels
        };
        (brought, damage)
    }
}

fn first_pixel(framebuffer: &Framebuffer) -> [u8; BYTES_PER_PX] {
    let row = framebuffer.row(0, 0, 1);
    row.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use capture::Size;

    use super::*;

    fn check(painted: &[Rect], expected: Brought) {
        let mut framebuffer = Framebuffer::new(Size::new(8, 8), 0).unwrap();
        framebuffer.fill(FIRST_PIXEL, [3; 4]);
        let mut update = Update::new(9, &framebuffer);
        for &rect in painted {
            framebuffer.fill(rect, [3; 4]);
            update.rect_done(rect);
        }
        assert_eq!(update.finish(&framebuffer).0, expected);
    }

    #[test]
    fn the_first_pixel_alone_and_unchanged_is_told_apart() {
        check(&[FIRST_PIXEL], Brought::FirstPixel);
        check(&[FIRST_PIXEL, Rect::new(4, 4, 1, 1)], Brought::Pixels);
        check(&[Rect::new(0, 0, 2, 1)], Brought::Pixels);
        check(&[Rect::new(1, 0, 1, 1)], Brought::Pixels);
    }

    #[test]
    fn empty_rectangles_bring_nothing() {
        check(&[], Brought::Nothing);
        check(&[Rect::new(0, 0, 0, 5)], Brought::Nothing);
    }

    #[test]
    fn a_first_pixel_that_changed_counts_as_change() {
        let mut framebuffer = Framebuffer::new(Size::new(8, 8), 0).unwrap();
        let mut update = Update::new(1, &framebuffer);
        framebuffer.fill(FIRST_PIXEL, [1; 4]);
        update.rect_done(FIRST_PIXEL);
        assert_eq!(update.finish(&framebuffer).0, Brought::Pixels);
    }
}
