//! What does a picture show? Frames from the server and from stored objects, as RGB.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::code::{self, Code, RgbView};
use crate::http::Answer;

/// Where the painter's window stands by default.
pub const PAINTER_PX: (usize, usize) = (32, 32);

/// An RGB picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width.
    pub width_px: usize,
    /// Height.
    pub height_px: usize,
    /// Three bytes a pixel.
    pub rgb: Vec<u8>,
}

impl Picture {
    /// Decodes PNG, JPEG or WebP.
    ///
    /// # Errors
    /// When the bytes are none of these.
    pub fn decode(bytes: &[u8]) -> anyhow::Result<Self> {
        let image = image::load_from_memory(bytes)?.into_rgb8();
        Ok(Self {
            width_px: usize::try_from(image.width())?,
            height_px: usize::try_from(image.height())?,
            rgb: image.into_raw(),
        })
    }

    /// The picture in an answer of `/frame`.
    ///
    /// # Errors
    /// When the answer is an error or no picture.
    pub fn of(answer: &Answer) -> anyhow::Result<Self> {
        ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
        Self::decode(&answer.body)
    }

    /// The painter's code in it.
    ///
    /// # Errors
    /// When none can be read.
    pub fn code(&self) -> anyhow::Result<Code> {
        let view = RgbView {
            width_px: self.width_px,
            height_px: self.height_px,
            rgb: &self.rgb,
        };
        Ok(code::decode(&view, PAINTER_PX.0, PAINTER_PX.1)?)
    }
}

/// Every frame of a stored segment, decoded by FFmpeg's own program.
///
/// # Errors
/// When FFmpeg has anything to say about the file.
pub fn frames(file: &Path, width_px: usize, height_px: usize) -> anyhow::Result<Vec<Picture>> {
    let every_frame = ["-fps_mode", "passthrough", "-pix_fmt", "rgb24"];
    let bytes = ffmpeg(file, &[&every_frame, &["-f", "rawvideo"][..]].concat())?;
    let frame_bytes = 3 * width_px * height_px;
    ensure!(
        bytes.len() % frame_bytes == 0,
        "{} is not of {width_px} × {height_px} px",
        file.display()
    );
    let frames = bytes.chunks_exact(frame_bytes).map(|rgb| Picture {
        width_px,
        height_px,
        rgb: rgb.to_vec(),
    });
    Ok(frames.collect())
}

/// Plays a stored segment by itself.
///
/// # Errors
/// When FFmpeg has anything to say about it.
pub fn plays_alone(file: &Path) -> anyhow::Result<()> {
    ffmpeg(file, &["-f", "null"]).map(drop)
}

/// What FFmpeg writes for `file`; the time base keeps its muxers from complaining of frames that
/// come at irregular times.
fn ffmpeg(file: &Path, output: &[&str]) -> anyhow::Result<Vec<u8>> {
    let done = Command::new("ffmpeg")
        .args(["-v", "error", "-xerror", "-i"])
        .arg(file)
        .args(["-enc_time_base", "1:90000"])
        .args(output)
        .arg("-")
        .output()
        .context("ffmpeg")?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(
        done.status.success() && said.is_empty(),
        "{}: {said}",
        file.display()
    );
    Ok(done.stdout)
}
