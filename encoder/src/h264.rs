//! Masked pictures in, H.264 access units out, one for one and each at its exact time.

mod encoder;
mod pipeline;

use capture::{Damage, Framebuffer, MediaTime, Size};
use policy::{Marks, Policy};

pub use encoder::{Encoder, ParseEncoderError};
pub use pipeline::Pipeline;

use crate::{Canvas, RedactedFrame, Redactor, TrackError};

/// Codes pictures of one size. No picture is held back: each call gives its own access unit.
pub trait Codec {
    /// Codes `frame` as the picture at `t`, later than the one before it; as an IDR picture if
    /// `force_key`.
    ///
    /// # Errors
    /// When the encoder fails, stalls, or gives anything but this picture at this time.
    fn encode(
        &mut self,
        frame: &RedactedFrame<'_>,
        t: MediaTime,
        force_key: bool,
    ) -> Result<CodedFrame, CodecError>;

    /// The `AVCDecoderConfigurationRecord` of what was coded; empty before the first picture.
    fn avcc(&self) -> &[u8];
}

/// One coded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodedFrame {
    /// Whether it is an IDR picture.
    pub key: bool,
    /// The access unit in AVC format: NAL units, each after its length in 4 bytes.
    pub bytes: Vec<u8>,
}

/// Opens a codec for pictures of a coded size.
pub type OpenCodec = Box<dyn FnMut(Size) -> Result<Box<dyn Codec + Send>, CodecError> + Send>;

/// Opens the chosen encoder for each size, at a nominal `fps_max` frames a second.
#[must_use]
pub fn opener(encoder: Encoder, fps_max: u32) -> OpenCodec {
    Box::new(move |size| {
        let pipeline = Pipeline::new(encoder.launch_line()?, size, fps_max)?;
        Ok(Box::new(pipeline))
    })
}

/// Codes one picture, to see that `encoder` works here. Gives back the element that did it.
///
/// # Errors
/// When it is not installed or does not work.
pub fn try_out(encoder: Encoder, framebuffer: &Framebuffer) -> Result<String, TrackError> {
    let mut canvas = Canvas::new(framebuffer.size());
    canvas.paint(framebuffer, None, &Damage::of(framebuffer.size().rect()))?;
    let mut redactor = Redactor::new(Policy::default(), Marks::default());
    let frame = redactor.redact(&mut canvas);
    let mut codec = opener(encoder, 1)(frame.coded())?;
    codec.encode(&frame, MediaTime::ZERO, true)?;
    Ok(encoder.element()?.to_owned())
}

/// Why a picture was not coded.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// No encoder of the asked kind is installed.
    #[error("no {encoder} H.264 encoder here: none of the GStreamer elements {elements} exists")]
    Unavailable {
        /// What was asked for.
        encoder: Encoder,
        /// The elements that would do.
        elements: String,
    },
    /// GStreamer could not be started.
    #[error("GStreamer could not be started")]
    Init(#[source] gstreamer::glib::Error),
    /// The pipeline could not be built or set running.
    #[error("the encoder for {size} could not be started: {reason}")]
    Start {
        /// The coded size.
        size: Size,
        /// What GStreamer said.
        reason: String,
    },
    /// The picture has another size than the encoder.
    #[error("a picture of {found} was given to an encoder for {expected}")]
    Size {
        /// The encoder's size.
        expected: Size,
        /// The picture's.
        found: Size,
    },
    /// The encoder reported an error.
    #[error("the encoder failed at {t}: {reason}")]
    Failed {
        /// The picture's time.
        t: MediaTime,
        /// What GStreamer said.
        reason: String,
    },
    /// The encoder gave nothing back in time.
    #[error("the encoder gave nothing back for {t} within {waited_ms} ms")]
    Stalled {
        /// The picture's time.
        t: MediaTime,
        /// How long it was given.
        waited_ms: u64,
    },
    /// The access unit carries another time than its picture.
    #[error("the encoder answered {t} with a picture at {found_ns:?} ns")]
    WrongTime {
        /// The picture's time.
        t: MediaTime,
        /// The access unit's, in nanoseconds of running time.
        found_ns: Option<u64>,
    },
    /// An IDR picture was asked for and not given.
    #[error("the encoder gave no key frame at {t}")]
    NotKey {
        /// The picture's time.
        t: MediaTime,
    },
    /// The encoder did not say how to decode, or changed it within one stream.
    #[error("the encoder's parameters are missing or changed at {t}")]
    Parameters {
        /// The picture's time.
        t: MediaTime,
    },
}
