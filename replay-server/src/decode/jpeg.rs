//! JPEG by FFmpeg's encoder: three times as fast as one in Rust (ISO/IEC 10918-1, JFIF).

use capture::Size;
use ffmpeg_next as ffmpeg;
use yuv::{
    YuvChromaSubsampling, YuvConversionMode, YuvPlanarImageMut, YuvRange, YuvStandardMatrix,
};

/// The encoder's scale goes from 1, best, to 31. At 2 small text stays crisp.
const QUANTISER: &str = "2";

/// A picture that does not become a JPEG file.
#[derive(Debug, thiserror::Error)]
pub enum JpegError {
    /// The encoder refused.
    #[error("the jpeg encoder failed")]
    Codec(#[from] ffmpeg::Error),
    /// The pixels do not convert: their number is not the size's.
    #[error("the pixels do not fit the picture's size {0}")]
    Pixels(Size),
}

/// The file of a picture of `size` from packed RGB rows.
///
/// # Errors
/// When the rows do not fit the size, or the encoder refuses it.
pub fn encode(size: Size, rgb: &[u8]) -> Result<Vec<u8>, JpegError> {
    let frame = to_frame(size, rgb)?;
    let codec = ffmpeg::encoder::find(ffmpeg::codec::Id::MJPEG);
    let codec = codec.ok_or(ffmpeg::Error::EncoderNotFound)?;
    let mut encoder = ffmpeg::codec::Context::new_with_codec(codec)
        .encoder()
        .video()?;
    encoder.set_width(size.w);
    encoder.set_height(size.h);
    encoder.set_format(ffmpeg::format::Pixel::YUVJ420P);
    encoder.set_time_base((1, 1));
    let options = [("qmin", QUANTISER), ("qmax", QUANTISER), ("threads", "1")];
    let mut encoder = encoder.open_as_with(codec, options.into_iter().collect())?;
    encoder.send_frame(&frame)?;
    encoder.send_eof()?;
    let mut packet = ffmpeg::Packet::empty();
    encoder.receive_packet(&mut packet)?;
    Ok(packet.data().unwrap_or_default().to_vec())
}

/// The picture in the colours that JFIF defines: BT.601, full range.
fn to_frame(size: Size, rgb: &[u8]) -> Result<ffmpeg::frame::Video, JpegError> {
    let mut planes = YuvPlanarImageMut::<u8>::alloc(size.w, size.h, YuvChromaSubsampling::Yuv420);
    yuv::rgb_to_yuv420(
        &mut planes,
        rgb,
        size.w * 3,
        YuvRange::Full,
        YuvStandardMatrix::Bt601,
        YuvConversionMode::Balanced,
    )
    .map_err(|_| JpegError::Pixels(size))?;
    let mut frame = ffmpeg::frame::Video::new(ffmpeg::format::Pixel::YUVJ420P, size.w, size.h);
    frame.set_pts(Some(0));
    for (plane, rows, row_bytes) in [
        (0, planes.y_plane.borrow(), planes.y_stride),
        (1, planes.u_plane.borrow(), planes.u_stride),
        (2, planes.v_plane.borrow(), planes.v_stride),
    ] {
        let (row_bytes, stride) = (row_bytes as usize, frame.stride(plane));
        let into = frame.data_mut(plane).chunks_mut(stride);
        for (to, from) in into.zip(rows.chunks(row_bytes)) {
            let len = from.len().min(to.len());
            to[..len].copy_from_slice(&from[..len]);
        }
    }
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(size: Size) {
        let pixels = (0..size.h).flat_map(|y| (0..size.w).map(move |x| (x, y)));
        let shade = |x: u32, y: u32| u8::try_from((x * 3 + y * 2) % 200).unwrap();
        let rgb: Vec<u8> = pixels.flat_map(|(x, y)| [shade(x, y); 3]).collect();
        let file = encode(size, &rgb).unwrap();
        let read = image::load_from_memory(&file).unwrap().into_rgb8();
        assert_eq!((read.width(), read.height()), (size.w, size.h));
        let worst = read.as_raw().iter().zip(&rgb).map(|(a, b)| a.abs_diff(*b));
        assert!(worst.max().unwrap() <= 12, "{size}");
    }

    #[test]
    fn a_file_of_any_size_reads_back_close() {
        check(Size::new(64, 48));
        check(Size::new(1, 1));
        check(Size::new(255, 101));
    }

    #[test]
    fn pixels_that_do_not_fit_are_refused() {
        assert!(encode(Size::new(64, 48), &[0; 30]).is_err());
    }
}
