//! The pictures of a closed GOP, decoded from its first sample on.

use capture::{Framebuffer, Rect, Size};
use ffmpeg_next as ffmpeg;
use yuv::{YuvPlanarImage, YuvRange, YuvStandardMatrix};

use super::{
    avc::{AvcConfig, AvcError},
    picture::Picture,
};

/// The most samples a fragment may hold here: far above the 60 that recorders write.
pub const MAX_SAMPLES: usize = 4096;

/// How the wanted part of a stream is coded.
#[derive(Clone, Debug)]
pub struct Coding {
    /// Its parameters.
    pub config: AvcConfig,
    /// The coded size: even.
    pub coded: Size,
    /// The true screen within it, when its size is odd.
    pub crop: Option<Rect>,
}

/// Why a picture did not come out.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// No sample was given, or far too many.
    #[error("a fragment holds 1 to {MAX_SAMPLES} samples, not {0}")]
    Samples(usize),
    /// The samples are not what MP4 holds.
    #[error(transparent)]
    Avc(#[from] AvcError),
    /// The decoder refused the stream.
    #[error("the decoder failed at sample {sample}")]
    Codec {
        /// The sample's position in its fragment.
        sample: usize,
        /// What the decoder said.
        #[source]
        source: ffmpeg::Error,
    },
    /// The decoder took everything and gave no picture for the last sample.
    #[error("the decoder gave no picture for sample {0}")]
    NoPicture(usize),
    /// The picture is not of the size or kind that the recording states.
    #[error("the decoded picture is {found} and the recording says {stated}")]
    Shape {
        /// What came out.
        found: Size,
        /// What the manifest says.
        stated: Size,
    },
}

/// The picture of the last of `samples`, which begin with an IDR picture.
///
/// # Errors
/// When anything in them is damaged: a picture with concealed errors is never given.
pub fn decode_last(coding: &Coding, samples: &[&[u8]]) -> Result<Picture, DecodeError> {
    let last = samples.len().saturating_sub(1);
    let mut picture = None;
    decode_each(coding, samples, |sample, frame| {
        if sample == last {
            picture = Some(to_picture(coding, frame)?);
        }
        Ok::<_, DecodeError>(())
    })?;
    picture.ok_or(DecodeError::NoPicture(last))
}

/// Gives each of `samples`, which begin with an IDR picture, to `see`: its position, and the
/// decoded picture as 4:2:0 planes of the coded size.
///
/// # Errors
/// When anything in them is damaged: a picture with concealed errors is never given. Whatever
/// `see` refuses.
pub fn decode_each<E: From<DecodeError>>(
    coding: &Coding,
    samples: &[&[u8]],
    mut see: impl FnMut(usize, &mut ffmpeg::frame::Video) -> Result<(), E>,
) -> Result<(), E> {
    if samples.is_empty() || samples.len() > MAX_SAMPLES {
        return Err(DecodeError::Samples(samples.len()).into());
    }
    let codec = |sample| move |source| E::from(DecodeError::Codec { sample, source });
    let last = samples.len() - 1;
    let mut decoder = open().map_err(codec(0))?;
    let mut frame = ffmpeg::frame::Video::empty();
    let mut seen = 0;
    for (position, sample) in (0i64..).zip(samples) {
        let index = usize::try_from(position).unwrap_or(last);
        let stream = coding.config.byte_stream(sample, position == 0);
        let stream = stream.map_err(DecodeError::from)?;
        let mut packet = ffmpeg::Packet::copy(&stream);
        packet.set_pts(Some(position));
        packet.set_dts(Some(position));
        decoder.send_packet(&packet).map_err(codec(index))?;
        while receive(&mut decoder, &mut frame).map_err(codec(index))? {
            see(next(coding, &frame, &mut seen)?, &mut frame)?;
        }
    }
    decoder.send_eof().map_err(codec(last))?;
    while receive(&mut decoder, &mut frame).map_err(codec(last))? {
        see(next(coding, &frame, &mut seen)?, &mut frame)?;
    }
    if seen == samples.len() {
        Ok(())
    } else {
        Err(DecodeError::NoPicture(seen).into())
    }
}

/// The position of `frame`, which must follow the `seen` ones and have the stated shape.
fn next(
    coding: &Coding,
    frame: &ffmpeg::frame::Video,
    seen: &mut usize,
) -> Result<usize, DecodeError> {
    let sample = *seen;
    if frame.pts().and_then(|pts| usize::try_from(pts).ok()) != Some(sample) {
        return Err(DecodeError::NoPicture(sample));
    }
    let found = Size::new(frame.width(), frame.height());
    if found != coding.coded || frame.format() != ffmpeg::format::Pixel::YUV420P {
        let stated = coding.coded;
        return Err(DecodeError::Shape { found, stated });
    }
    *seen += 1;
    Ok(sample)
}

/// Opens a decoder. It gives each picture at once, since recordings hold no reordered ones, works
/// on the calling thread, whose number the caller bounds, and stops at the first damage.
fn open() -> Result<ffmpeg::decoder::Video, ffmpeg::Error> {
    hush();
    let codec =
        ffmpeg::decoder::find(ffmpeg::codec::Id::H264).ok_or(ffmpeg::Error::DecoderNotFound)?;
    let max_pixels = Framebuffer::MAX_AREA_PX.to_string();
    let options = [
        ("flags", "+low_delay"),
        ("threads", "1"),
        ("err_detect", "explode"),
        ("max_pixels", &max_pixels),
    ];
    ffmpeg::codec::Context::new_with_codec(codec)
        .decoder()
        .open_as_with(codec, options.into_iter().collect())?
        .video()
}

/// Keeps FFmpeg from writing to standard error: damage comes back as an error, which its own lines
/// would only repeat.
pub(crate) fn hush() {
    ffmpeg::log::set_level(ffmpeg::log::Level::Quiet);
}

/// A codec has nothing to give until it is given more.
pub(crate) const AGAIN: ffmpeg::Error = ffmpeg::Error::Other {
    errno: ffmpeg::error::EAGAIN,
};

/// Takes one picture out of the decoder; `false` when it has none to give now.
fn receive(
    decoder: &mut ffmpeg::decoder::Video,
    frame: &mut ffmpeg::frame::Video,
) -> Result<bool, ffmpeg::Error> {
    match decoder.receive_frame(frame) {
        Ok(()) => Ok(true),
        Err(AGAIN | ffmpeg::Error::Eof) => Ok(false),
        Err(error) => Err(error),
    }
}

/// BT.709 in limited range, as it was recorded, to RGB at the screen's true size.
fn to_picture(coding: &Coding, frame: &ffmpeg::frame::Video) -> Result<Picture, DecodeError> {
    let found = coding.coded;
    let wrong = DecodeError::Shape {
        found,
        stated: coding.coded,
    };
    let crop = coding.crop.unwrap_or(found.rect());
    if crop.is_empty() || !crop.fits(found) {
        return Err(wrong);
    }
    let stride = |plane| u32::try_from(frame.stride(plane)).unwrap_or(u32::MAX);
    let planes = YuvPlanarImage {
        y_plane: frame.data(0),
        y_stride: stride(0),
        u_plane: frame.data(1),
        u_stride: stride(1),
        v_plane: frame.data(2),
        v_stride: stride(2),
        width: found.w,
        height: found.h,
    };
    let mut rgb = vec![0; found.w as usize * found.h as usize * 3];
    let converted = yuv::yuv420_to_rgb(
        &planes,
        &mut rgb,
        found.w * 3,
        YuvRange::Limited,
        YuvStandardMatrix::Bt709,
    );
    let picture = converted
        .ok()
        .and_then(|()| Picture::from_rgb(found, rgb))
        .ok_or(wrong)?;
    if crop == found.rect() {
        return Ok(picture);
    }
    let view = super::picture::View {
        rect: Some(crop),
        width_px: None,
    };
    picture
        .view(view)
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| DecodeError::Shape {
            found,
            stated: coding.coded,
        })
}
