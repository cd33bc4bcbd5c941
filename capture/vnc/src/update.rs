//! One `FramebufferUpdate` under way: what it has painted so far, and what it brought in the end.

use capture::{Damage, Framebuffer, Rect};

use crate::pace::Brought;

/// The pixel that is asked for to prove that the picture stands.
pub(crate) const FIRST_PIXEL: Rect = Rect::new(0, 0, 1, 1);

/// Servers that track changes in coarser units answer for the whole unit that holds the pixel;
/// QEMU's is 16 pixels of a row. So many pixels of the first row still count as the first.
const FIRST_UNIT_PX: u32 = 64;

/// An update being painted.
#[derive(Debug, Default)]
pub(crate) struct Update {
    /// Rectangles still to come, unless a last one is announced before.
    pub(crate) rects_left: u16,
    damage: Damage,
    /// The first unit as it was before.
    first_unit: Vec<u8>,
}

impl Update {
    pub(crate) fn new(rects: u16, framebuffer: &Framebuffer) -> Self {
        Self {
            rects_left: rects,
            damage: Damage::default(),
            first_unit: first_unit(framebuffer).to_vec(),
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
        self.first_unit = first_unit(framebuffer).to_vec();
    }

    /// What the whole update brought, and where it may have changed something.
    pub(crate) fn finish(&mut self, framebuffer: &Framebuffer) -> (Brought, Damage) {
        let damage = self.damage.take();
        let bounds = damage.bounds();
        let only_first = (bounds.x, bounds.y, bounds.h) == (0, 0, 1) && bounds.w <= FIRST_UNIT_PX;
        let brought = if damage.is_empty() {
            Brought::Nothing
        } else if only_first && first_unit(framebuffer) == self.first_unit {
            Brought::FirstPixel
        } else {
            Brought::Pixels
        };
        (brought, damage)
    }
}

fn first_unit(framebuffer: &Framebuffer) -> &[u8] {
    framebuffer.row(0, 0, FIRST_UNIT_PX.min(framebuffer.size().w))
}

#[cfg(test)]
mod tests {
    use capture::Size;

    use super::*;

    fn check(painted: &[Rect], expected: Brought) {
        let mut framebuffer = Framebuffer::new(Size::new(8, 8), 0).unwrap();
        framebuffer.fill(Rect::new(0, 0, 8, 1), [3; 4]);
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
        check(&[Rect::new(0, 0, 8, 1)], Brought::FirstPixel);
        check(&[Rect::new(0, 0, 1, 2)], Brought::Pixels);
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
