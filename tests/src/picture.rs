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

    /// Brightest minus darkest channel value within a rectangle: 0 where all is one grey.
    ///
    /// # Errors
    /// When the rectangle reaches outside the picture.
    pub fn contrast(&self, rect: Rect) -> anyhow::Result<u8> {
        ensure!(
            rect.x + rect.w <= self.width_px && rect.y + rect.h <= self.height_px,
            "{rect:?} reaches outside {} × {} px",
            self.width_px,
            self.height_px
        );
        let rows = (rect.y..rect.y + rect.h).map(|y| {
            let row = 3 * (y * self.width_px + rect.x);
            &self.rgb[row..row + 3 * rect.w]
        });
        let (darkest, brightest) = rows.flatten().fold((255, 0), |(low, high), &value| {
            (value.min(low), value.max(high))
        });
        Ok(brightest.saturating_sub(darkest))
    }
}

/// A rectangle within a picture, in px.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    /// Left edge.
    pub x: usize,
    /// Top edge.
    pub y: usize,
    /// Width.
    pub w: usize,
    /// Height.
    pub h: usize,
}

/// Every frame of a stored segment, decoded by FFmpeg's own program.
///
/// # Errors
/// When FFmpeg has anything to say about the file.
pub fn frames(file: &Path, width_px: usize, height_px: usize) -> anyhow::Result<Vec<Picture>> {
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-xerror", "-i"])
        .arg(file)
        .args([
            "-fps_mode",
            "passthrough",
            "-enc_time_base",
            "1:90000",
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-",
        ])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.success() && said.is_empty(),
        "{}: {said}",
        file.display()
    );
    let frame_bytes = 3 * width_px * height_px;
    ensure!(
        output.stdout.len() % frame_bytes == 0,
        "{}: size",
        file.display()
    );
    let frames = output.stdout.chunks_exact(frame_bytes).map(|rgb| Picture {
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
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-xerror", "-i"])
        .arg(file)
        .args(["-enc_time_base", "1:90000", "-f", "null", "-"])
        .output()
        .context("ffmpeg")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.success() && said.is_empty(),
        "{}: {said}",
        file.display()
    );
    Ok(())
}
