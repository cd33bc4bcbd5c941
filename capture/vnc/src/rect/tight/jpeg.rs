//! JPEG pictures inside Tight rectangles. Only servers that were asked for a quality send them.

use capture::{Rect, Size};
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

use crate::{canvas::Canvas, error::Error, layout::Pixel, limits};

const RGB_BYTES: usize = 3;

/// Whether a JPEG picture may cover `rect` at all.
///
/// # Errors
/// When it is larger than any server makes, or the screen's pixels are indices.
pub(super) fn check_place(rect: Rect, canvas: &Canvas<'_>) -> Result<(), Error> {
    if rect.area_px() > limits::JPEG_AREA_PX {
        return Err(Error::JpegTooLarge {
            size: Size::new(rect.w, rect.h),
        });
    }
    match canvas.map {
        Some(_) => Err(Error::JpegIndexed),
        None => Ok(()),
    }
}

/// Paints `rect` with the picture, whose size is looked at before anything is decoded.
///
/// # Errors
/// When it is no picture, or one of another size.
pub(super) fn paint(
    rect: Rect,
    picture: &[u8],
    row: &mut Vec<Pixel>,
    canvas: &mut Canvas<'_>,
) -> Result<(), Error> {
    let options = DecoderOptions::new_safe()
        .set_strict_mode(true)
        .set_max_width(rect.w as usize)
        .set_max_height(rect.h as usize)
        .jpeg_set_max_scans(limits::JPEG_SCANS)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(picture), options);
    decoder.decode_headers().map_err(|_| Error::Jpeg)?;
    if decoder.dimensions() != Some((rect.w as usize, rect.h as usize)) {
        return Err(Error::JpegSize);
    }
    let row_bytes = rect.w as usize * RGB_BYTES;
    let mut rgb = vec![0; row_bytes * rect.h as usize];
    if decoder.output_buffer_size() != Some(rgb.len()) {
        return Err(Error::Jpeg);
    }
    decoder.decode_into(&mut rgb).map_err(|_| Error::Jpeg)?;
    for (y, line) in (rect.y..rect.bottom()).zip(rgb.chunks_exact(row_bytes.max(1))) {
        let (line, _) = line.as_chunks::<RGB_BYTES>();
        row.clear();
        row.extend(line.iter().map(|&[r, g, b]| [b, g, r, 0]));
        canvas.paint(rect.x, y, row);
    }
    Ok(())
}
