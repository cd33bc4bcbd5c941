//! Which H.264 encoder codes, and with which settings.

use serde::{Deserialize, Serialize};

use super::CodecError;

/// The encoder asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoder {
    /// x264 where its plugin is installed, else OpenH264.
    #[default]
    Auto,
    /// x264: the reference.
    X264,
    /// OpenH264 in screen mode.
    Openh264,
    /// The platform's own encoder.
    Hardware,
}

/// Constant quality with a ceiling no screen reaches: the defaults starve key frames of text.
/// `qcomp=1` keeps the first frames after a change sharp and lets a still picture settle to
/// nothing. Key frames come only when asked.
const X264: &str = "x264enc speed-preset=veryfast tune=zerolatency pass=qual quantizer=24 \
    bitrate=30000 vbv-buf-capacity=2000 threads=1 key-int-max=2147483647 \
    option-string=scenecut=0:qcomp=1";

/// Constant quantiser, one slice, no scene detection, so that key frames come only when asked.
const OPENH264: &str = "openh264enc usage-type=screen complexity=medium rate-control=off \
    qp-min=24 qp-max=24 gop-size=0 multi-thread=1 scene-change-detection=false \
    enable-frame-skip=false background-detection=false adaptive-quantization=false";

/// Access units as MP4 holds them.
const AVC: &str = "video/x-h264,stream-format=avc,alignment=au";

/// The platforms' encoders, best first: VA-API, NVENC, VideoToolbox, Media Foundation.
const HARDWARE: [&str; 5] = [
    "vah264enc",
    "vah264lpenc",
    "nvh264enc",
    "vtenc_h264_hw",
    "mfh264enc",
];

impl Encoder {
    const ALL: [Self; 4] = [Self::Auto, Self::X264, Self::Openh264, Self::Hardware];

    /// The word used on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::X264 => "x264",
            Self::Openh264 => "openh264",
            Self::Hardware => "hardware",
        }
    }

    /// The GStreamer element that this means here.
    ///
    /// # Errors
    /// When none of those that would do is installed.
    pub fn element(self) -> Result<&'static str, CodecError> {
        gstreamer::init().map_err(CodecError::Init)?;
        let elements: &[&'static str] = match self {
            Self::Auto => &["x264enc", "openh264enc"],
            Self::X264 => &["x264enc"],
            Self::Openh264 => &["openh264enc"],
            Self::Hardware => &HARDWARE,
        };
        let mut elements_here = elements
            .iter()
            .copied()
            .filter(|element| gstreamer::ElementFactory::find(element).is_some());
        elements_here.next().ok_or_else(|| CodecError::Unavailable {
            encoder: self,
            elements: elements.join(", "),
        })
    }

    /// What codes I420 into AVC access units, in GStreamer's launch syntax, the encoder itself
    /// named `encoder`.
    pub(super) fn launch_line(self) -> Result<String, CodecError> {
        Ok(match self.element()? {
            "x264enc" => format!("{X264} name=encoder ! {AVC},profile=high"),
            "openh264enc" => format!("{OPENH264} name=encoder ! h264parse ! {AVC}"),
            other => format!("videoconvert ! {other} name=encoder ! h264parse ! {AVC}"),
        })
    }
}

impl std::fmt::Display for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Encoder {
    type Err = ParseEncoderError;

    fn from_str(text: &str) -> Result<Self, ParseEncoderError> {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == text);
        known.ok_or(ParseEncoderError)
    }
}

/// A word that names no encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an encoder is one of auto, x264, openh264, hardware")]
pub struct ParseEncoderError;
