//! Small pictures for finding one's way: one for each key frame, side by side in a sprite sheet.
//!
//! They are made of masked pictures, at the moment of recording. Nothing is decoded for them.

use capture::{MediaTime, Size};
use image::{ExtendedColorType, codecs::jpeg::JpegEncoder};
use segment::record::ThumbsRecord;
use yuv::{YuvPlanarImage, YuvRange, YuvStandardMatrix};

use crate::{RedactedFrame, i420::Plane};

/// A picture fits in this, at its screen's aspect.
const TILE_MAX: Size = Size::new(320, 180);
/// Pictures in a row of the sheet.
const COLUMNS_MAX: u32 = 5;
/// The most pictures in a sheet: more than the key frames of a busy minute. About 11 MB of memory.
const TILES_MAX: usize = 64;
/// Text stays recognisable, a tile takes about 10 kB.
const JPEG_QUALITY: u8 = 80;
const RGB_BYTES: usize = 3;

/// A sprite sheet in the making.
pub struct Sheet {
    tile: Size,
    times: Vec<MediaTime>,
    /// The pictures as RGB, one after another.
    tiles: Vec<u8>,
}

impl Sheet {
    /// An empty sheet for pictures of a `screen`.
    #[must_use]
    pub fn new(screen: Size) -> Self {
        Self {
            tile: tile_size(screen),
            times: Vec::new(),
            tiles: Vec::new(),
        }
    }

    /// Adds the picture at `t`. A full sheet takes no more.
    ///
    /// # Errors
    /// When the pixels cannot be converted.
    pub fn add(&mut self, t: MediaTime, frame: &RedactedFrame<'_>) -> Result<(), SheetError> {
        if self.times.len() >= TILES_MAX {
            return Ok(());
        }
        let screen = frame.screen();
        let half = Size::new(screen.w.div_ceil(2), screen.h.div_ceil(2));
        let [y, u, v] = frame.planes().planes();
        let (y, u, v) = (
            shrink(&y, screen, self.tile),
            shrink(&u, half, self.tile),
            shrink(&v, half, self.tile),
        );
        let Size { w, h } = self.tile;
        let image = YuvPlanarImage {
            y_plane: &y,
            y_stride: w,
            u_plane: &u,
            u_stride: w,
            v_plane: &v,
            v_stride: w,
            width: w,
            height: h,
        };
        let start = self.tiles.len();
        self.tiles.resize(start + self.tile_bytes(), 0);
        yuv::yuv444_to_rgb(
            &image,
            self.tiles.get_mut(start..).unwrap_or_default(),
            w * 3,
            YuvRange::Limited,
            YuvStandardMatrix::Bt709,
        )?;
        self.times.push(t);
        Ok(())
    }

    /// The sheet as JPEG and the record that describes it; `None` when it is empty.
    ///
    /// # Errors
    /// When the JPEG encoder fails.
    pub fn finish(self) -> Result<Option<(Vec<u8>, ThumbsRecord)>, SheetError> {
        let Some(count) = u32::try_from(self.times.len())
            .ok()
            .filter(|&count| count > 0)
        else {
            return Ok(None);
        };
        let columns = count.min(COLUMNS_MAX);
        let sheet = Size::new(self.tile.w * columns, self.tile.h * count.div_ceil(columns));
        let mut jpeg = Vec::new();
        JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY).encode(
            &self.compose(columns as usize, sheet),
            sheet.w,
            sheet.h,
            ExtendedColorType::Rgb8,
        )?;
        let record = ThumbsRecord {
            tile: self.tile,
            columns,
            times: self.times,
        };
        Ok(Some((jpeg, record)))
    }

    /// The tiles in reading order on one black picture.
    fn compose(&self, columns: usize, sheet: Size) -> Vec<u8> {
        let row_bytes = self.tile.w as usize * RGB_BYTES;
        let tile_h = self.tile.h as usize;
        let mut rgb = vec![0; sheet.w as usize * sheet.h as usize * RGB_BYTES];
        for (n, tile) in self.tiles.chunks_exact(self.tile_bytes()).enumerate() {
            let (column, top) = (n % columns, n / columns * tile_h);
            for (y, row) in tile.chunks_exact(row_bytes).enumerate() {
                let start = ((top + y) * columns + column) * row_bytes;
                if let Some(place) = rgb.get_mut(start..start + row_bytes) {
                    place.copy_from_slice(row);
                }
            }
        }
        rgb
    }

    const fn tile_bytes(&self) -> usize {
        self.tile.w as usize * self.tile.h as usize * RGB_BYTES
    }
}

/// The largest size of the screen's aspect within [`TILE_MAX`], never larger than the screen.
fn tile_size(screen: Size) -> Size {
    let scaled = |side: u32, num: u32, den: u32| {
        let px = u64::from(side) * u64::from(num) / u64::from(den.max(1));
        u32::try_from(px).unwrap_or(u32::MAX).max(1)
    };
    let wide =
        u64::from(screen.w) * u64::from(TILE_MAX.h) >= u64::from(screen.h) * u64::from(TILE_MAX.w);
    if screen.w <= TILE_MAX.w && screen.h <= TILE_MAX.h {
        Size::new(screen.w.max(1), screen.h.max(1))
    } else if wide {
        Size::new(TILE_MAX.w, scaled(screen.h, TILE_MAX.w, screen.w))
    } else {
        Size::new(scaled(screen.w, TILE_MAX.h, screen.h), TILE_MAX.h)
    }
}

/// Averages the top left `from` of a plane down to `to`.
fn shrink(plane: &Plane<&[u8]>, from: Size, to: Size) -> Vec<u8> {
    let columns: Vec<_> = (0..to.w).map(|x| source_span(x, from.w, to.w)).collect();
    let mut out = Vec::with_capacity(to.w as usize * to.h as usize);
    let mut sums = vec![0u32; to.w as usize];
    for y in 0..to.h {
        let rows = source_span(y, from.h, to.h);
        sums.fill(0);
        for row in rows.clone() {
            let start = row * plane.stride_px as usize;
            let row = plane.bytes.get(start..).unwrap_or_default();
            for (sum, column) in sums.iter_mut().zip(&columns) {
                let samples = row.get(column.clone()).unwrap_or_default();
                *sum += samples.iter().copied().map(u32::from).sum::<u32>();
            }
        }
        for (sum, column) in sums.iter().zip(&columns) {
            // At most 8192x8192 samples of one byte in a tile pixel of at least 1/320 of a side.
            let count = u32::try_from(column.len() * rows.len())
                .unwrap_or(u32::MAX)
                .max(1);
            out.push(u8::try_from(sum / count).unwrap_or(u8::MAX));
        }
    }
    out
}

/// The samples of a side of `from` that make sample `n` of `to`; at least one.
fn source_span(n: u32, from: u32, to: u32) -> std::ops::Range<usize> {
    let at = |n: u32| {
        let px = u64::from(n) * u64::from(from) / u64::from(to.max(1));
        usize::try_from(px).unwrap_or(usize::MAX)
    };
    let start = at(n);
    start..at(n + 1).max(start + 1)
}

/// Why a sprite sheet was not made.
#[derive(Debug, thiserror::Error)]
pub enum SheetError {
    /// The pixels could not be converted.
    #[error("a thumbnail's pixels could not be converted")]
    Convert(#[from] yuv::YuvError),
    /// The JPEG encoder failed.
    #[error("the sprite sheet could not be encoded")]
    Encode(#[from] image::ImageError),
}

#[cfg(test)]
mod tests {
    use capture::{Damage, Framebuffer};
    use policy::{Marks, Policy};

    use super::*;
    use crate::{Canvas, Redactor};

    #[test]
    fn tiles_keep_the_aspect_and_never_grow() {
        let check = |w, h, tile| assert_eq!(tile_size(Size::new(w, h)), tile, "{w}x{h}");
        check(1920, 1080, Size::new(320, 180));
        check(1280, 800, Size::new(288, 180));
        check(1080, 1920, Size::new(101, 180));
        check(3440, 1440, Size::new(320, 133));
        check(2, 2, Size::new(2, 2));
        check(8192, 1, Size::new(320, 1));
    }

    #[test]
    fn each_picture_stands_in_its_place_with_its_colour() {
        let colours = [[0, 0, 200, 0], [0, 200, 0, 0], [200, 0, 0, 0]];
        let size = Size::new(801, 601);
        let mut fb = Framebuffer::new(size, 1).unwrap();
        let (mut canvas, mut redactor) = (
            Canvas::new(size),
            Redactor::new(Policy::default(), Marks::default()),
        );
        let mut sheet = Sheet::new(size);
        for n in 0..7u8 {
            fb.fill(size.rect(), colours[usize::from(n) % 3]);
            canvas.paint(&fb, None, &Damage::of(size.rect())).unwrap();
            let t = MediaTime::from_ms(u64::from(n));
            sheet.add(t, &redactor.redact(&mut canvas)).unwrap();
        }
        let (jpeg, record) = sheet.finish().unwrap().unwrap();
        let picture = image::load_from_memory(&jpeg).unwrap().into_rgb8();
        let Size { w, h } = record.tile;
        assert_eq!(picture.dimensions(), (w * 5, h * 2));
        assert_eq!((record.columns, record.times.len()), (5, 7));
        for n in 0..7u32 {
            let px = picture.get_pixel(n % 5 * w + w / 2, n / 5 * h + h / 2);
            let [b, g, r, _] = colours[n as usize % 3];
            let near = px.0.iter().zip([r, g, b]).all(|(&a, b)| a.abs_diff(b) < 12);
            assert!(near, "tile {n} is {px:?}");
        }
    }

    #[test]
    fn an_empty_sheet_is_none() {
        assert!(Sheet::new(Size::new(64, 64)).finish().unwrap().is_none());
    }
}
