//! The cursor pseudo-encoding (RFC 6143 section 7.8.1): pixels, then a mask of one bit a pixel.

use capture::{Point, Size, cursor::CursorShape, framebuffer::BYTES_PER_PX};

use crate::error::Error;

/// Bytes that follow the head of a cursor of `size`.
///
/// # Errors
/// When it is larger than a cursor may be.
pub(crate) fn body_bytes(size: Size) -> Result<usize, Error> {
    if size.w > CursorShape::MAX_SIDE_PX || size.h > CursorShape::MAX_SIDE_PX {
        return Err(Error::CursorTooLarge { size });
    }
    // At most 512 a side, so nothing here can overflow.
    let (w, h) = (size.w as usize, size.h as usize);
    Ok(w * h * BYTES_PER_PX + w.div_ceil(8) * h)
}

/// The shape that `body` draws; an empty one hides the pointer. `None` when `body` has not the
/// length that [`body_bytes`] asks for.
pub(crate) fn parse(size: Size, hot_spot: Point, body: &[u8]) -> Option<CursorShape> {
    if size.rect().is_empty() {
        return CursorShape::new(Size::new(0, 0), Point::default(), Vec::new());
    }
    if body_bytes(size) != Ok(body.len()) {
        return None;
    }
    let row_bytes = size.w as usize * BYTES_PER_PX;
    let (pixels, mask) = body.split_at_checked(row_bytes * size.h as usize)?;
    let mut bgra = pixels.to_vec();
    let mask_rows = mask.chunks_exact((size.w as usize).div_ceil(8));
    for (row, mask) in bgra.chunks_exact_mut(row_bytes).zip(mask_rows) {
        let (row, _) = row.as_chunks_mut::<BYTES_PER_PX>();
        for (pixels, bits) in row.chunks_mut(8).zip(mask) {
            for (bit, [.., alpha]) in pixels.iter_mut().enumerate() {
                *alpha = if bits << bit & 0x80 == 0 { 0 } else { 255 };
            }
        }
    }
    CursorShape::new(size, hot_spot, bgra)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_becomes_alpha() {
        let size = Size::new(9, 1);
        let mut body = [7; 9 * 4].to_vec();
        body.extend([0b1000_0001, 0b1000_0000]);
        assert_eq!(body_bytes(size), Ok(body.len()));

        let hot_spot = Point { x: 3, y: 0 };
        let alphas = [255, 0, 0, 0, 0, 0, 0, 255, 255];
        let expected = alphas.iter().flat_map(|&alpha| [7, 7, 7, alpha]).collect();
        assert_eq!(
            parse(size, hot_spot, &body),
            CursorShape::new(size, hot_spot, expected)
        );
    }

    #[test]
    fn an_empty_cursor_hides_the_pointer() {
        let shape = parse(Size::new(0, 16), Point { x: 9, y: 9 }, &[]).unwrap();
        assert!(shape.size().rect().is_empty());
    }

    #[test]
    fn a_cursor_beyond_the_limit_is_refused() {
        assert!(body_bytes(Size::new(512, 512)).is_ok());
        let size = Size::new(513, 1);
        assert_eq!(body_bytes(size), Err(Error::CursorTooLarge { size }));
    }

    #[test]
    fn a_short_body_is_no_cursor() {
        assert_eq!(parse(Size::new(2, 2), Point::default(), &[0; 16]), None);
    }
}
