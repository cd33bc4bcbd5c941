//! What one moment looked like: the decoded screen, cut, scaled and written as a file.

use capture::{Rect, Size};
use image::{ExtendedColorType, ImageEncoder, RgbImage, codecs, imageops};

use super::{jpeg, scale::scale};

/// A decoded screen, at its true size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture(RgbImage);

/// The picture files that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PictureFormat {
    /// JPEG, of a quality that keeps small text crisp.
    Jpeg,
    /// PNG, lossless.
    Png,
    /// WebP, lossless.
    Webp,
}

impl PictureFormat {
    /// The format that a file name's ending asks for.
    #[must_use]
    pub fn of_file(name: &std::path::Path) -> Option<Self> {
        let ending = name.extension()?.to_str()?.to_ascii_lowercase();
        ending.parse().ok()
    }

    /// The media type of such a file.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
        }
    }
}

/// A word that names no picture format.
#[derive(Debug, thiserror::Error)]
#[error("a picture's format is jpeg, png or webp")]
pub struct FormatError;

impl std::str::FromStr for PictureFormat {
    type Err = FormatError;

    fn from_str(word: &str) -> Result<Self, FormatError> {
        match word {
            "jpeg" | "jpg" => Ok(Self::Jpeg),
            "png" => Ok(Self::Png),
            "webp" => Ok(Self::Webp),
            _ => Err(FormatError),
        }
    }
}

/// A picture that does not become a file.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// As JPEG.
    #[error(transparent)]
    Jpeg(#[from] jpeg::JpegError),
    /// As PNG or WebP.
    #[error(transparent)]
    Lossless(#[from] image::ImageError),
}

/// What of a picture is wanted, and how large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// Only this part of the screen.
    pub rect: Option<Rect>,
    /// Scaled down to this width in pixels; a picture is never scaled up.
    pub width_px: Option<u32>,
}

/// A view that cannot be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// The part is empty or leaves the screen.
    #[error(
        "rect {},{},{},{} does not lie within the screen of {size}",
        rect.x, rect.y, rect.w, rect.h
    )]
    Rect {
        /// The part.
        rect: Rect,
        /// The screen.
        size: Size,
    },
    /// The scaler refused.
    #[error("the picture does not scale to {to}")]
    Scale {
        /// The size that was asked for.
        to: Size,
        /// Why not.
        source: ffmpeg_next::Error,
    },
}

impl Picture {
    /// A picture of `size` from packed RGB rows; `None` when their length is not right.
    #[must_use]
    pub fn from_rgb(size: Size, rgb: Vec<u8>) -> Option<Self> {
        RgbImage::from_raw(size.w, size.h, rgb).map(Self)
    }

    /// Its size in pixels.
    #[must_use]
    pub fn size(&self) -> Size {
        Size::new(self.0.width(), self.0.height())
    }

    /// Its bytes in memory.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.as_raw().len()
    }

    /// The red, green and blue of a pixel; `None` outside.
    #[must_use]
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        self.0.get_pixel_checked(x, y).map(|pixel| pixel.0)
    }

    /// The part and size that `view` asks for.
    ///
    /// # Errors
    /// When its rectangle is empty or leaves the screen, or scaling fails.
    pub fn view(&self, view: View) -> Result<std::borrow::Cow<'_, Self>, ViewError> {
        use std::borrow::Cow;
        let mut shown = Cow::Borrowed(self);
        if let Some(rect) = view.rect {
            let size = self.size();
            if rect.is_empty() || !rect.fits(size) {
                return Err(ViewError::Rect { rect, size });
            }
            let part = imageops::crop_imm(&self.0, rect.x, rect.y, rect.w, rect.h);
            shown = Cow::Owned(Self(part.to_image()));
        }
        if let Some(width) = view.width_px.filter(|&w| w < shown.size().w) {
            let Size { w, h } = shown.size();
            let height = u64::from(h) * u64::from(width.max(1)) / u64::from(w);
            let height = u32::try_from(height).unwrap_or(h).max(1);
            let to = Size::new(width.max(1), height);
            let scaled = scale(shown.0.as_raw(), shown.size(), to)
                .map_err(|source| ViewError::Scale { to, source })?;
            shown = Cow::Owned(Self::from_rgb(to, scaled).unwrap_or_default());
        }
        Ok(shown)
    }

    /// The bytes of a file of `format`.
    ///
    /// # Errors
    /// When the picture has a size that the format does not hold.
    pub fn encode(&self, format: PictureFormat) -> Result<Vec<u8>, EncodeError> {
        let (rgb, Size { w, h }) = (self.0.as_raw(), self.size());
        let mut file = Vec::with_capacity(rgb.len() / 8);
        let colour = ExtendedColorType::Rgb8;
        match format {
            PictureFormat::Jpeg => file = jpeg::encode(self.size(), rgb)?,
            PictureFormat::Png => {
                use codecs::png::{CompressionType, FilterType, PngEncoder};
                PngEncoder::new_with_quality(
                    &mut file,
                    CompressionType::Fast,
                    FilterType::Adaptive,
                )
                .write_image(rgb, w, h, colour)?;
            }
            PictureFormat::Webp => {
                codecs::webp::WebPEncoder::new_lossless(&mut file)
                    .write_image(rgb, w, h, colour)?;
            }
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        let rgb = (0u8..4 * 6).flat_map(|n| [n, 0, 0]).collect();
        Picture::from_rgb(Size::new(4, 6), rgb).unwrap()
    }

    #[test]
    fn a_part_starts_at_its_own_corner() {
        let view = View {
            rect: Some(Rect::new(1, 2, 2, 3)),
            width_px: None,
        };
        let part = picture().view(view).unwrap().into_owned();
        assert_eq!(part.size(), Size::new(2, 3));
        assert_eq!(part.pixel(0, 0), Some([9, 0, 0]));
    }

    #[test]
    fn a_part_outside_the_screen_is_refused() {
        for rect in [Rect::new(3, 0, 2, 1), Rect::new(0, 0, 0, 1)] {
            let view = View {
                rect: Some(rect),
                width_px: None,
            };
            assert!(picture().view(view).is_err());
        }
    }

    #[test]
    fn scaling_keeps_the_shape_and_never_enlarges() {
        let width = |px| View {
            rect: None,
            width_px: Some(px),
        };
        let size = |px| picture().view(width(px)).unwrap().size();
        assert_eq!(size(2), Size::new(2, 3));
        assert_eq!(size(400), Size::new(4, 6));
    }

    #[test]
    fn lossless_files_read_back_equal() {
        for format in [PictureFormat::Png, PictureFormat::Webp] {
            let file = picture().encode(format).unwrap();
            let read = image::load_from_memory(&file).unwrap().into_rgb8();
            assert_eq!(Picture(read), picture());
        }
    }
}
