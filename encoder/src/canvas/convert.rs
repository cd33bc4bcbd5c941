//! One rectangle of BGRX pixels into I420 planes.
//!
//! `yuv` works through whole strides and as many rows as its slices hold. So it is given all but
//! the last rows in place; those, behind which no whole stride need follow, go through a tight
//! buffer.

use capture::{Rect, framebuffer::BYTES_PER_PX};
use yuv::{BufferStoreMut, YuvConversionMode, YuvError, YuvPlanarImageMut};
use yuv::{YuvRange, YuvStandardMatrix};

use crate::i420::I420;

/// Pixels to read: the first byte is the rectangle's top left.
pub(super) struct Source<'a> {
    pub(super) bgrx: &'a [u8],
    pub(super) stride_bytes: usize,
}

/// Converts `source` into `rect` of `planes`, which it lies within at even coordinates. Odd sides
/// repeat their last pixel for the chroma sample they share.
pub(super) fn convert(
    planes: &mut I420,
    rect: Rect,
    source: &Source<'_>,
    tail: &mut Tail,
) -> Result<(), YuvError> {
    if rect.is_empty() {
        return Ok(());
    }
    let body_h = (rect.h - 1) & !1;
    if body_h > 0 {
        let source_bytes = source.stride_bytes * body_h as usize;
        let [y, u, v] = planes.starting_at(rect.x, rect.y);
        let luma_bytes = y.stride_px as usize * body_h as usize;
        let chroma_bytes = u.stride_px as usize * (body_h / 2) as usize;
        let mut image = YuvPlanarImageMut {
            y_plane: first(y.bytes, luma_bytes),
            y_stride: y.stride_px,
            u_plane: first(u.bytes, chroma_bytes),
            u_stride: u.stride_px,
            v_plane: first(v.bytes, chroma_bytes),
            v_stride: v.stride_px,
            width: rect.w,
            height: body_h,
        };
        let bgrx = source.bgrx.get(..source_bytes).unwrap_or_default();
        to_yuv420(&mut image, bgrx, source.stride_bytes)?;
    }
    let tail_rect = Rect::new(rect.x, rect.y + body_h, rect.w, rect.h - body_h);
    let skipped = source.stride_bytes * body_h as usize;
    tail.convert(
        planes,
        tail_rect,
        &Source {
            bgrx: source.bgrx.get(skipped..).unwrap_or_default(),
            stride_bytes: source.stride_bytes,
        },
    )
}

/// Room for the last one or two rows of a rectangle.
#[derive(Default)]
pub(super) struct Tail {
    bgrx: Vec<u8>,
    yuv: Vec<u8>,
}

impl Tail {
    fn convert(
        &mut self,
        planes: &mut I420,
        rect: Rect,
        source: &Source<'_>,
    ) -> Result<(), YuvError> {
        let (w, h) = (rect.w as usize, rect.h as usize);
        let row_bytes = w * BYTES_PER_PX;
        self.bgrx.clear();
        for y in 0..h {
            let row = source
                .bgrx
                .get(y * source.stride_bytes..)
                .unwrap_or_default();
            self.bgrx.extend(row.iter().take(row_bytes));
        }
        let chroma_w = rect.w.div_ceil(2);
        self.yuv.clear();
        self.yuv.resize(w * h + 2 * chroma_w as usize, 0);
        let (y, chroma) = self.yuv.split_at_mut(w * h);
        let (u, v) = chroma.split_at_mut(chroma_w as usize);
        let mut image = YuvPlanarImageMut {
            y_plane: BufferStoreMut::Borrowed(y),
            y_stride: rect.w,
            u_plane: BufferStoreMut::Borrowed(u),
            u_stride: chroma_w,
            v_plane: BufferStoreMut::Borrowed(v),
            v_stride: chroma_w,
            width: rect.w,
            height: rect.h,
        };
        to_yuv420(&mut image, &self.bgrx, row_bytes)?;
        let (y, chroma) = self.yuv.split_at(w * h);
        let (u, v) = chroma.split_at(chroma_w as usize);
        let [mut luma, mut u_plane, mut v_plane] = planes.starting_at(rect.x, rect.y);
        for (row, samples) in (0..).zip(y.chunks_exact(w)) {
            luma.row(row, 0, rect.w).copy_from_slice(samples);
        }
        u_plane.row(0, 0, chroma_w).copy_from_slice(u);
        v_plane.row(0, 0, chroma_w).copy_from_slice(v);
        Ok(())
    }
}

fn first(bytes: &mut [u8], len: usize) -> BufferStoreMut<'_, u8> {
    BufferStoreMut::Borrowed(bytes.get_mut(..len).unwrap_or_default())
}

fn to_yuv420(
    image: &mut YuvPlanarImageMut<'_, u8>,
    bgrx: &[u8],
    stride_bytes: usize,
) -> Result<(), YuvError> {
    yuv::bgra_to_yuv420(
        image,
        bgrx,
        u32::try_from(stride_bytes).unwrap_or(u32::MAX),
        YuvRange::Limited,
        YuvStandardMatrix::Bt709,
        YuvConversionMode::Balanced,
    )
}

#[cfg(test)]
mod tests {
    use capture::Size;
    use proptest::prelude::*;

    use super::*;

    const SIZE: Size = Size::new(40, 30);

    fn bgrx(x: u32, y: u32) -> [u8; 4] {
        [x * 6, y * 8, (x + y) * 3, 0].map(|value| u8::try_from(value).unwrap())
    }

    /// The definition: BT.709 limited, luma of each pixel.
    fn luma([b, g, r, _]: [u8; 4]) -> f64 {
        let [b, g, r] = [b, g, r].map(f64::from);
        16.0 + (0.2126 * r + 0.7152 * g + 0.0722 * b) * 219.0 / 255.0
    }

    fn check(rect: Rect) {
        let stride_bytes = SIZE.w as usize * 4;
        let pixels: Vec<u8> = (0..SIZE.h)
            .flat_map(|y| (0..SIZE.w).flat_map(move |x| bgrx(x, y)))
            .collect();
        let mut planes = I420::black(SIZE);
        let start = rect.y as usize * stride_bytes + rect.x as usize * 4;
        let source = Source {
            bgrx: &pixels[start..],
            stride_bytes,
        };
        convert(&mut planes, rect, &source, &mut Tail::default()).unwrap();
        for (x, y) in (0..SIZE.w).flat_map(|x| (0..SIZE.h).map(move |y| (x, y))) {
            let [found, u, v] = planes.pixel(x, y);
            let inside = !Rect::new(x, y, 1, 1).intersection(rect).is_empty();
            let expected = if inside { luma(bgrx(x, y)) } else { 16.0 };
            assert!(
                (f64::from(found) - expected).abs() <= 1.5,
                "{rect:?} at {x},{y}"
            );
            let near = !Rect::new(x & !1, y & !1, 2, 2)
                .intersection(rect)
                .is_empty();
            assert!(near || (u, v) == (128, 128), "{rect:?} chroma at {x},{y}");
        }
    }

    proptest! {
        #[test]
        fn exactly_the_rectangle_is_converted(
            x in 0u32..20, y in 0u32..15, w in 1u32..=40, h in 1u32..=30,
        ) {
            check(Rect::new(x * 2, y * 2, w, h).intersection(SIZE.rect()));
        }
    }

    #[test]
    fn the_whole_picture_is_converted() {
        check(SIZE.rect());
    }
}
