//! Pointer shapes: pixels with a mask (RFC 6143 section 7.8.1), two colours with a mask, and
//! pixels with alpha (rfbproto's `X Cursor` and `Cursor With Alpha`).

use capture::{Point, Size, cursor::CursorShape, framebuffer::BYTES_PER_PX};

use super::painter::Painter;
use crate::{encoding, error::Error, layout::Pixel};

/// Bytes of an encoding's number, and of two colours.
const ENCODING_BYTES: usize = 4;
const COLOURS_BYTES: usize = 6;

/// How a shape is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Pixels of the connection's format, then a mask.
    Masked,
    /// Two colours, bits that choose one, then a mask.
    TwoColours,
    /// Red, green and blue multiplied by the alpha that follows them.
    Alpha,
}

/// Bytes that follow the head of a cursor of `size`, with pixels of `pixel_bytes` each.
///
/// # Errors
/// When it is larger than a cursor may be.
pub(crate) fn body_bytes(kind: Kind, size: Size, pixel_bytes: usize) -> Result<usize, Error> {
    if size.w > CursorShape::MAX_SIDE_PX || size.h > CursorShape::MAX_SIDE_PX {
        return Err(Error::CursorTooLarge { size });
    }
    // At most 512 a side, so nothing here can overflow.
    let pixels = size.w as usize * size.h as usize;
    Ok(match kind {
        Kind::Masked => pixels * pixel_bytes + mask_bytes(size),
        Kind::TwoColours if pixels == 0 => 0,
        Kind::TwoColours => COLOURS_BYTES + 2 * mask_bytes(size),
        Kind::Alpha => ENCODING_BYTES + pixels * BYTES_PER_PX,
    })
}

/// Bytes of one bit a pixel, each row padded.
const fn mask_bytes(size: Size) -> usize {
    (size.w as usize).div_ceil(8) * size.h as usize
}

/// The shape that `body` draws; an empty one hides the pointer. `None` when `body` has not the
/// length that [`body_bytes`] asks for.
///
/// # Errors
/// When it is compressed in itself, which no server does.
pub(crate) fn parse(
    kind: Kind,
    size: Size,
    hot_spot: Point,
    body: &[u8],
    painter: &Painter,
) -> Result<Option<CursorShape>, Error> {
    if size.rect().is_empty() {
        let nothing = CursorShape::new(Size::new(0, 0), Point::default(), Vec::new());
        return Ok(nothing);
    }
    let pixels = match kind {
        Kind::Masked => masked(size, body, painter),
        Kind::TwoColours => two_colours(size, body),
        Kind::Alpha => alpha(body)?,
    };
    Ok(pixels.and_then(|pixels| CursorShape::new(size, hot_spot, pixels.into_flattened())))
}

fn masked(size: Size, body: &[u8], painter: &Painter) -> Option<Vec<Pixel>> {
    let layout = painter.layout();
    let mut pixels = vec![Pixel::default(); size.w as usize * size.h as usize];
    let (wire, mask) = body.split_at_checked(pixels.len() * layout.bytes())?;
    layout.read(wire, &mut pixels);
    for pixel in &mut pixels {
        *pixel = painter.colour(*pixel);
    }
    apply_mask(size, mask, &mut pixels);
    Some(pixels)
}

fn two_colours(size: Size, body: &[u8]) -> Option<Vec<Pixel>> {
    let (&[r1, g1, b1, r0, g0, b0], bits) = body.split_first_chunk::<COLOURS_BYTES>()?;
    let (choice, mask) = bits.split_at_checked(mask_bytes(size))?;
    let mut pixels = vec![Pixel::default(); size.w as usize * size.h as usize];
    apply_mask(size, choice, &mut pixels);
    for pixel in &mut pixels {
        let [.., primary] = *pixel;
        *pixel = if primary == 0 {
            [b0, g0, r0, 0]
        } else {
            [b1, g1, r1, 0]
        };
    }
    apply_mask(size, mask, &mut pixels);
    Some(pixels)
}

/// Makes opaque the pixels whose bit is set, the high one first.
fn apply_mask(size: Size, mask: &[u8], pixels: &mut [Pixel]) {
    let w = (size.w as usize).max(1);
    for (row, mask) in pixels
        .chunks_exact_mut(w)
        .zip(mask.chunks_exact(w.div_ceil(8)))
    {
        for (pixels, bits) in row.chunks_mut(8).zip(mask) {
            for (bit, [.., alpha]) in pixels.iter_mut().enumerate() {
                *alpha = if bits << bit & 0x80 == 0 { 0 } else { 255 };
            }
        }
    }
}

fn alpha(body: &[u8]) -> Result<Option<Vec<Pixel>>, Error> {
    let Some((&encoding, wire)) = body.split_first_chunk::<ENCODING_BYTES>() else {
        return Ok(None);
    };
    let encoding = i32::from_be_bytes(encoding);
    if encoding != encoding::RAW {
        return Err(Error::CursorEncoding { encoding });
    }
    let (wire, _) = wire.as_chunks();
    let straight = |value, alpha| {
        let value = (u32::from(value) * 255 + u32::from(alpha) / 2) / u32::from(alpha).max(1);
        u8::try_from(value).unwrap_or(u8::MAX)
    };
    let pixels = wire
        .iter()
        .map(|&[r, g, b, a]| [straight(b, a), straight(g, a), straight(r, a), a]);
    Ok(Some(pixels.collect()))
}

#[cfg(test)]
mod tests {
    use capture::pixels::PixelFormat;

    use super::*;

    const HOT_SPOT: Point = Point { x: 1, y: 0 };

    /// What `body` draws as a cursor of `w` by 1.
    fn check(kind: Kind, w: u32, body: &[u8], expected: &[Pixel]) {
        let size = Size::new(w, 1);
        let painter = Painter::new(size, PixelFormat::BGRX).unwrap();
        assert_eq!(body_bytes(kind, size, 4), Ok(body.len()));
        let expected = CursorShape::new(size, HOT_SPOT, expected.as_flattened().to_vec());
        assert!(expected.is_some());
        assert_eq!(parse(kind, size, HOT_SPOT, body, &painter), Ok(expected));
        for cut in 0..body.len().min(4) {
            let short = parse(kind, size, HOT_SPOT, &body[..cut], &painter);
            assert_eq!(short, Ok(None));
        }
    }

    #[test]
    fn the_mask_becomes_alpha() {
        let mut body = [7; 9 * 4].to_vec();
        body.extend([0b1000_0001, 0b1000_0000]);
        let alphas = [255, 0, 0, 0, 0, 0, 0, 255, 255];
        check(
            Kind::Masked,
            9,
            &body,
            &alphas.map(|alpha| [7, 7, 7, alpha]),
        );
    }

    #[test]
    fn two_colours_are_chosen_and_masked() {
        let body = [1, 2, 3, 4, 5, 6, 0b1010_0000, 0b1100_0000];
        let expected = [[3, 2, 1, 255], [6, 5, 4, 255], [3, 2, 1, 0]];
        check(Kind::TwoColours, 3, &body, &expected);
    }

    #[test]
    fn alpha_becomes_straight() {
        // The first four bytes say that the rest is raw.
        let body = [
            [0, 0, 0, 0],
            [9, 0, 0, 0],
            [200, 100, 50, 255],
            [100, 50, 25, 128],
            [255, 0, 0, 1],
        ];
        let expected = [
            [0, 0, 255, 0],
            [50, 100, 200, 255],
            [50, 100, 199, 128],
            [0, 0, 255, 1],
        ];
        check(Kind::Alpha, 4, body.as_flattened(), &expected);
    }

    #[test]
    fn an_empty_cursor_hides_the_pointer() {
        let painter = Painter::new(Size::new(1, 1), PixelFormat::BGRX).unwrap();
        for (kind, bytes) in [(Kind::Masked, 0), (Kind::TwoColours, 0), (Kind::Alpha, 4)] {
            let size = Size::new(0, 16);
            assert_eq!(body_bytes(kind, size, 4), Ok(bytes));
            let shape = parse(kind, size, HOT_SPOT, &vec![0; bytes], &painter);
            assert!(shape.unwrap().unwrap().size().rect().is_empty());
        }
    }

    #[test]
    fn a_cursor_beyond_the_limit_is_refused() {
        assert!(body_bytes(Kind::Masked, Size::new(512, 512), 4).is_ok());
        let size = Size::new(513, 1);
        let refused = Err(Error::CursorTooLarge { size });
        assert_eq!(body_bytes(Kind::Alpha, size, 4), refused);
    }

    #[test]
    fn a_cursor_compressed_in_itself_is_refused() {
        let size = Size::new(1, 1);
        let painter = Painter::new(size, PixelFormat::BGRX).unwrap();
        let body = [0, 0, 0, 16, 1, 2, 3, 4];
        let encoding = 16;
        assert_eq!(
            parse(Kind::Alpha, size, HOT_SPOT, &body, &painter),
            Err(Error::CursorEncoding { encoding })
        );
    }
}
