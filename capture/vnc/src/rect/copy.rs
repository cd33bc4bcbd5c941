//! `CopyRect` (RFC 6143 section 7.7.2): pixels from elsewhere on the screen.

use capture::{Rect, Size};

use crate::{canvas::Canvas, error::Error, input::Input};

/// Paints `rect` with what the rectangle of the same size that `input` places shows; false until
/// the place has arrived.
///
/// # Errors
/// When that rectangle is not wholly on the screen.
pub(crate) fn paint(
    rect: Rect,
    size: Size,
    input: &mut Input<'_>,
    canvas: &mut Canvas<'_>,
) -> Result<bool, Error> {
    let Some([x0, x1, y0, y1]) = input.take_array() else {
        return Ok(false);
    };
    let from = Rect {
        x: u16::from_be_bytes([x0, x1]).into(),
        y: u16::from_be_bytes([y0, y1]).into(),
        ..rect
    };
    if !from.fits(size) {
        return Err(Error::RectOutside { rect: from, size });
    }
    canvas.copy(from, rect);
    Ok(true)
}
