//! The picture as the encoder sees it: one I420 canvas (BT.709, limited range) per screen size.
//!
//! Only damaged rectangles are converted into it. It has no reader of its own: its pixels leave
//! it as a [`RedactedFrame`](crate::RedactedFrame) alone.

mod convert;

use capture::{Damage, Framebuffer, Rect, Size, cursor::Cursor, framebuffer::BYTES_PER_PX};

use convert::{Source, Tail, convert};

use crate::i420::I420;

/// The smallest coded side in pixels: OpenH264 takes no smaller one.
const MIN_CODED_SIDE_PX: u32 = 16;

/// An I420 copy of one screen, padded to the coded size by repeating its edge pixels.
pub struct Canvas {
    screen: Size,
    planes: I420,
    cursor: Option<Cursor>,
    /// The picture that is shown instead while some of it is covered.
    veil: Option<Veil>,
    /// What was painted since the last redaction: masks may be painted over there.
    unmasked: Damage,
    scratch: Vec<u8>,
    tail: Tail,
}

impl Canvas {
    /// A canvas for a `screen` of true size. Nothing is painted yet.
    #[must_use]
    pub fn new(screen: Size) -> Self {
        Self {
            screen,
            planes: I420::black(coded_size(screen)),
            cursor: None,
            veil: None,
            unmasked: Damage::of(screen.rect()),
            scratch: Vec::new(),
            tail: Tail::default(),
        }
    }

    /// The screen's true size.
    #[must_use]
    pub const fn screen(&self) -> Size {
        self.screen
    }

    /// The coded size: even and at least 16x16.
    #[must_use]
    pub const fn coded(&self) -> Size {
        self.planes.size()
    }

    /// The screen within the coded picture, when it does not fill it.
    #[must_use]
    pub fn crop(&self) -> Option<Rect> {
        (self.coded() != self.screen).then(|| self.screen.rect())
    }

    /// Takes over what `damage` covers of `framebuffer`, with the pointer laid over it once.
    /// Gives back where the picture may have changed: the damage, and where the pointer was and is.
    ///
    /// # Errors
    /// When the framebuffer has another size than the canvas.
    pub fn paint(
        &mut self,
        framebuffer: &Framebuffer,
        cursor: Option<&Cursor>,
        damage: &Damage,
    ) -> Result<Damage, PaintError> {
        if framebuffer.size() != self.screen {
            return Err(PaintError::Size {
                canvas: self.screen,
                screen: framebuffer.size(),
            });
        }
        let mut changed = Damage::default();
        for rect in damage.rects() {
            changed.add(rect.intersection(self.screen.rect()));
        }
        if self.cursor.as_ref() != cursor {
            for cursor in self.cursor.iter().chain(cursor) {
                changed.add(cursor.rect_on(self.screen));
            }
            self.cursor = cursor.cloned();
        }
        for &rect in changed.rects() {
            let rect = self.whole_chroma(rect);
            let start =
                rect.y as usize * framebuffer.stride_bytes() + rect.x as usize * BYTES_PER_PX;
            let pixels = framebuffer.bgrx().get(start..).unwrap_or_default();
            self.convert(rect, pixels, framebuffer.stride_bytes())?;
        }
        self.paint_cursor(framebuffer, &changed)?;
        if self.crop().is_some() && !changed.is_empty() {
            self.planes.repeat_edges(self.screen);
        }
        self.unmasked.merge(&changed);
        Ok(changed)
    }

    /// Converts the pointer's rectangle again, blended, if something was painted there.
    fn paint_cursor(
        &mut self,
        framebuffer: &Framebuffer,
        changed: &Damage,
    ) -> Result<(), PaintError> {
        let Some(cursor) = self.cursor.take() else {
            return Ok(());
        };
        let rect = self.whole_chroma(cursor.rect_on(self.screen));
        let touched = changed.rects().iter().any(|&other| {
            let overlap = self.whole_chroma(other).intersection(rect);
            !overlap.is_empty()
        });
        if touched {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.clear();
            let row_bytes = rect.w as usize * BYTES_PER_PX;
            for y in rect.y..rect.bottom() {
                let start = scratch.len();
                scratch.extend_from_slice(framebuffer.row(rect.x, y, rect.w));
                if let Some(row) = scratch.get_mut(start..) {
                    cursor.blend_row(rect.x, y, row);
                }
            }
            self.convert(rect, &scratch, row_bytes)?;
            self.scratch = scratch;
        }
        self.cursor = Some(cursor);
        Ok(())
    }

    /// `rect` rounded outward to whole chroma samples of the screen.
    fn whole_chroma(&self, rect: Rect) -> Rect {
        rect.even_outward().intersection(self.screen.rect())
    }

    /// Converts BGRX `pixels`, which begin at the top left of `rect`, into the planes.
    fn convert(&mut self, rect: Rect, bgrx: &[u8], stride_bytes: usize) -> Result<(), PaintError> {
        let source = Source { bgrx, stride_bytes };
        convert(&mut self.planes, rect, &source, &mut self.tail)?;
        Ok(())
    }

    /// Covers `rect` with one colour for good, wherever something was painted there since the last
    /// call of [`take_unmasked`](Self::take_unmasked). Padding beside a covered edge is covered too.
    pub(crate) fn cover(&mut self, rect: Rect, unmasked: &Damage, colour: [u8; 3]) {
        let touched = |other: &Rect| !other.even_outward().intersection(rect).is_empty();
        if unmasked.rects().iter().any(touched) {
            let rect = self.padded(rect);
            self.planes.fill(rect, colour);
        }
    }

    /// Covers exactly `rects` with one colour until the next call, where `unmasked` is what was
    /// painted since the one before.
    pub(crate) fn veil(&mut self, rects: Vec<Rect>, unmasked: &Damage, colour: [u8; 3]) {
        if rects.is_empty() {
            self.veil = None;
            return;
        }
        let mut planes = match self.veil.take() {
            Some(mut veil) if veil.rects == rects => {
                for &rect in unmasked.rects() {
                    veil.planes.copy(&self.planes, self.padded(rect));
                }
                veil.planes
            }
            _ => self.planes.clone(),
        };
        for &rect in &rects {
            planes.fill(self.padded(rect), colour);
        }
        self.veil = Some(Veil { rects, planes });
    }

    /// `rect` rounded outward to whole chroma samples, with the padding beside it.
    fn padded(&self, rect: Rect) -> Rect {
        let coded = self.coded();
        let mut rect = rect.even_outward();
        if rect.right() >= self.screen.w {
            rect.w = coded.w.saturating_sub(rect.x);
        }
        if rect.bottom() >= self.screen.h {
            rect.h = coded.h.saturating_sub(rect.y);
        }
        rect
    }

    /// What was painted since the last call.
    pub(crate) fn take_unmasked(&mut self) -> Damage {
        self.unmasked.take()
    }

    /// The planes as they may be shown. Only the redaction step may hand them on.
    pub(crate) fn planes(&self) -> &I420 {
        self.veil.as_ref().map_or(&self.planes, |veil| &veil.planes)
    }
}

/// The picture with some of it covered for a while.
struct Veil {
    rects: Vec<Rect>,
    planes: I420,
}

/// What a screen of `size` is coded as.
fn coded_size(size: Size) -> Size {
    let Size { w, h } = size.even();
    Size::new(w.max(MIN_CODED_SIDE_PX), h.max(MIN_CODED_SIDE_PX))
}

/// Why a framebuffer could not be painted.
#[derive(Debug, thiserror::Error)]
pub enum PaintError {
    /// It has another size than the canvas.
    #[error("a screen of {screen} does not fit a canvas of {canvas}")]
    Size {
        /// The canvas's size.
        canvas: Size,
        /// The framebuffer's size.
        screen: Size,
    },
    /// The conversion refused its input.
    #[error("pixels could not be converted")]
    Convert(#[from] yuv::YuvError),
}

#[cfg(test)]
mod tests {
    use capture::{Point, cursor::CursorShape};

    use super::*;

    const RED: [u8; 4] = [0, 0, 255, 0];
    /// Red in BT.709, limited range.
    const RED_YUV: [u8; 3] = [63, 102, 240];

    fn screen(size: Size) -> Framebuffer {
        Framebuffer::new(size, 1).unwrap()
    }

    fn near(found: [u8; 3], expected: [u8; 3]) -> bool {
        found.iter().zip(expected).all(|(&a, b)| a.abs_diff(b) <= 2)
    }

    #[test]
    fn only_damage_is_taken_over() {
        let mut fb = screen(Size::new(64, 32));
        let mut canvas = Canvas::new(fb.size());
        canvas
            .paint(&fb, None, &Damage::of(fb.size().rect()))
            .unwrap();
        fb.fill(fb.size().rect(), RED);
        let damage = Damage::of(Rect::new(11, 7, 5, 4));
        assert_eq!(canvas.paint(&fb, None, &damage).unwrap(), damage);
        let is_red = |x, y| near(canvas.planes().pixel(x, y), RED_YUV);
        assert!(is_red(10, 6) && is_red(15, 11));
        assert!(!is_red(9, 6) && !is_red(16, 11) && !is_red(10, 5) && !is_red(10, 12));
    }

    #[test]
    fn odd_and_tiny_screens_are_padded_with_their_edge() {
        for size in [Size::new(33, 17), Size::new(1, 1), Size::new(2, 40)] {
            let mut fb = screen(size);
            fb.fill(size.rect(), RED);
            let mut canvas = Canvas::new(size);
            canvas.paint(&fb, None, &Damage::of(size.rect())).unwrap();
            let coded = canvas.coded();
            assert!(coded == coded.even() && coded.w >= 16 && coded.h >= 16);
            assert_eq!(canvas.crop(), Some(size.rect()));
            for (x, y) in [(0, 0), (coded.w - 1, 0), (coded.w - 1, coded.h - 1)] {
                assert!(
                    near(canvas.planes().pixel(x, y), RED_YUV),
                    "{size} at {x},{y}"
                );
            }
        }
        assert_eq!(Canvas::new(Size::new(1600, 900)).crop(), None);
    }

    #[test]
    fn the_pointer_is_laid_over_once_and_leaves_no_trail() {
        let fb = screen(Size::new(64, 64));
        let mut canvas = Canvas::new(fb.size());
        canvas
            .paint(&fb, None, &Damage::of(fb.size().rect()))
            .unwrap();
        let shape = CursorShape::new(
            Size::new(4, 4),
            Point::default(),
            [0, 0, 255, 255].repeat(16),
        );
        let mut cursor = Cursor {
            shape: shape.unwrap(),
            at: Point { x: 8, y: 8 },
        };
        let none = Damage::default();
        let changed = canvas.paint(&fb, Some(&cursor), &none).unwrap();
        assert_eq!(changed.bounds(), Rect::new(8, 8, 4, 4));
        assert!(near(canvas.planes().pixel(8, 8), RED_YUV));
        assert!(canvas.paint(&fb, Some(&cursor), &none).unwrap().is_empty());
        cursor.at = Point { x: 40, y: 40 };
        canvas.paint(&fb, Some(&cursor), &none).unwrap();
        assert!(!near(canvas.planes().pixel(8, 8), RED_YUV));
        assert!(near(canvas.planes().pixel(43, 43), RED_YUV));
        // Damage beside the pointer must not wipe the pointer's edge off.
        canvas
            .paint(&fb, Some(&cursor), &Damage::of(Rect::new(30, 40, 11, 1)))
            .unwrap();
        assert!(near(canvas.planes().pixel(40, 40), RED_YUV));
    }

    #[test]
    fn a_screen_of_another_size_is_refused() {
        let mut canvas = Canvas::new(Size::new(64, 64));
        let fb = screen(Size::new(64, 62));
        assert!(matches!(
            canvas.paint(&fb, None, &Damage::default()),
            Err(PaintError::Size { .. })
        ));
    }
}
