//! A rectangle's head, and what follows it in each encoding (RFC 6143 section 7.6.1).

mod copy;
pub(crate) mod cursor;
mod hextile;
mod inflate;
pub(crate) mod painter;
mod raw;
pub(crate) mod screen;
mod tight;
mod zrle;

use capture::{Point, Rect, Size};

use crate::{error::Error, input::Input};

/// Bytes of a rectangle's head.
pub(crate) const HEAD_BYTES: usize = 12;

/// A rectangle's head. What its numbers mean is the encoding's to say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    rect: Rect,
    pub(crate) encoding: i32,
}

impl Head {
    /// Looks at the next head without consuming it.
    pub(crate) fn peek(input: &mut Input<'_>) -> Option<Self> {
        let [x0, x1, y0, y1, w0, w1, h0, h1, e0, e1, e2, e3] = input.peek_array::<HEAD_BYTES>()?;
        let [x, y, w, h] = [[x0, x1], [y0, y1], [w0, w1], [h0, h1]]
            .map(|bytes| u32::from(u16::from_be_bytes(bytes)));
        Some(Self {
            rect: Rect { x, y, w, h },
            encoding: i32::from_be_bytes([e0, e1, e2, e3]),
        })
    }

    /// Where its pixels belong.
    ///
    /// # Errors
    /// When that is not wholly on the screen.
    pub(crate) const fn on(&self, size: Size) -> Result<Rect, Error> {
        if self.rect.fits(size) {
            Ok(self.rect)
        } else {
            Err(Error::RectOutside {
                rect: self.rect,
                size,
            })
        }
    }

    /// The size it tells of.
    pub(crate) const fn size(&self) -> Size {
        Size::new(self.rect.w, self.rect.h)
    }

    /// The hot spot of the cursor it heads, or where it says that the pointer is.
    pub(crate) fn point(&self) -> Point {
        // 16 bits each on the wire.
        let coordinate = |value| i32::try_from(value).unwrap_or(i32::MAX);
        Point {
            x: coordinate(self.rect.x),
            y: coordinate(self.rect.y),
        }
    }

    /// Its two first numbers: in size notices, why and with what result.
    pub(crate) const fn reason_and_result(&self) -> (u32, u32) {
        (self.rect.x, self.rect.y)
    }
}
