//! A smaller picture, by FFmpeg's scaler: every pixel counts by its area, so that thin text fades
//! but stays.

use capture::Size;
use ffmpeg_next::{
    Error, format::Pixel, frame::Video, software::scaling, software::scaling::Flags,
};

/// `rgb`, packed rows of a picture of size `from`, in the size `to`.
///
/// # Errors
/// When the rows do not fit the size, or the scaler refuses a size.
pub fn scale(rgb: &[u8], from: Size, to: Size) -> Result<Vec<u8>, Error> {
    let row_bytes = |size: Size| size.w as usize * 3;
    if rgb.len() != row_bytes(from) * from.h as usize {
        return Err(Error::InvalidData);
    }
    let mut large = Video::new(Pixel::RGB24, from.w, from.h);
    let stride = large.stride(0);
    let rows = large.data_mut(0).chunks_mut(stride);
    for (row, from) in rows.zip(rgb.chunks_exact(row_bytes(from))) {
        row[..from.len()].copy_from_slice(from);
    }
    let flags = Flags::AREA | Flags::ACCURATE_RND;
    let (format, mut small) = (Pixel::RGB24, Video::empty());
    scaling::Context::get(format, from.w, from.h, format, to.w, to.h, flags)?
        .run(&large, &mut small)?;
    let stride = small.stride(0);
    let rows = small.data(0).chunks(stride).take(to.h as usize);
    Ok(rows
        .flat_map(|row| row.iter().take(row_bytes(to)).copied())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pixel_counts_by_its_area() {
        let stripes: Vec<u8> = (0..64 * 64)
            .flat_map(|i| [if i % 2 == 0 { 200u8 } else { 100 }; 3])
            .collect();
        let small = scale(&stripes, Size::new(64, 64), Size::new(32, 16)).unwrap();
        assert_eq!(small.len(), 32 * 16 * 3);
        assert!(small.iter().all(|shade| shade.abs_diff(150) <= 2));
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        assert!(scale(&[0; 30], Size::new(64, 64), Size::new(32, 16)).is_err());
    }
}
