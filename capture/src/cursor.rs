//! The pointer: its shape, where it is, and how it is laid over the picture once.

use crate::{Point, Rect, Size, framebuffer::BYTES_PER_PX};

/// A pointer's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorShape {
    size: Size,
    hot_spot: Point,
    // INVARIANT: length is `size.area_px() * BYTES_PER_PX`.
    bgra: Vec<u8>,
}

impl CursorShape {
    /// The largest side accepted from any source.
    pub const MAX_SIDE_PX: u32 = 512;

    /// A shape of straight-alpha BGRA pixels, row by row. `None` when it is larger than
    /// [`MAX_SIDE_PX`](Self::MAX_SIDE_PX) or `bgra` has the wrong length. An empty size is a
    /// hidden pointer.
    #[must_use]
    pub fn new(size: Size, hot_spot: Point, bgra: Vec<u8>) -> Option<Self> {
        let bounded = size.w <= Self::MAX_SIDE_PX && size.h <= Self::MAX_SIDE_PX;
        let bytes = size.area_px() * BYTES_PER_PX as u64;
        (bounded && bgra.len() as u64 == bytes).then_some(Self {
            size,
            hot_spot,
            bgra,
        })
    }

    /// Its size in pixels.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The pixel of the shape that lies on the pointer's position.
    #[must_use]
    pub const fn hot_spot(&self) -> Point {
        self.hot_spot
    }

    /// Its straight-alpha BGRA pixels, row by row.
    #[must_use]
    pub fn bgra(&self) -> &[u8] {
        &self.bgra
    }
}

/// A pointer to be composited: a shape at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Its shape.
    pub shape: CursorShape,
    /// Where its hot spot is.
    pub at: Point,
}

impl Cursor {
    /// What it covers of a screen of `size`; empty when it is hidden or outside.
    #[must_use]
    pub fn rect_on(&self, size: Size) -> Rect {
        let left = i64::from(self.at.x) - i64::from(self.shape.hot_spot.x);
        let top = i64::from(self.at.y) - i64::from(self.shape.hot_spot.y);
        let (x, w) = clip(left, self.shape.size.w, size.w);
        let (y, h) = clip(top, self.shape.size.h, size.h);
        Rect { x, y, w, h }
    }

    /// Blends the pointer over `row`, the BGRX pixels of screen row `y` from column `x` on.
    pub fn blend_row(&self, x: u32, y: u32, row: &mut [u8]) {
        let left = i64::from(self.at.x) - i64::from(self.shape.hot_spot.x);
        let top = i64::from(self.at.y) - i64::from(self.shape.hot_spot.y);
        let Ok(shape_y) = usize::try_from(i64::from(y) - top) else {
            return;
        };
        if shape_y >= self.shape.size.h as usize {
            return;
        }
        let shape_w = self.shape.size.w as usize;
        for (column, under) in (i64::from(x)..).zip(row.chunks_exact_mut(BYTES_PER_PX)) {
            let Ok(shape_x) = usize::try_from(column - left) else {
                continue;
            };
            if shape_x >= shape_w {
                break;
            }
            let start = (shape_y * shape_w + shape_x) * BYTES_PER_PX;
            let Some(&[b, g, r, alpha]) = self.shape.bgra.get(start..start + BYTES_PER_PX) else {
                return;
            };
            for (under, over) in under.iter_mut().zip([b, g, r]) {
                *under = blend(*under, over, alpha);
            }
        }
    }
}

fn blend(under: u8, over: u8, alpha: u8) -> u8 {
    let (under, over, alpha) = (u32::from(under), u32::from(over), u32::from(alpha));
    let mixed = (over * alpha + under * (255 - alpha) + 127) / 255;
    u8::try_from(mixed).unwrap_or(u8::MAX)
}

/// Clips `len` pixels from `start` on to `0..limit`: where that begins and how long it is.
fn clip(start: i64, len: u32, limit: u32) -> (u32, u32) {
    let from = start.clamp(0, i64::from(limit));
    let to = (start + i64::from(len)).clamp(from, i64::from(limit));
    // Both lie in 0..=limit, so neither conversion fails.
    (
        u32::try_from(from).unwrap_or(0),
        u32::try_from(to - from).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(at: Point) -> Cursor {
        let shape = CursorShape::new(Size::new(2, 2), Point { x: 1, y: 1 }, [200; 16].to_vec());
        Cursor {
            shape: shape.unwrap(),
            at,
        }
    }

    #[test]
    fn the_hot_spot_lies_on_the_position() {
        let rect = cursor(Point { x: 10, y: 10 }).rect_on(Size::new(20, 20));
        assert_eq!(rect, Rect::new(9, 9, 2, 2));
    }

    #[test]
    fn a_cursor_over_the_edge_is_clipped() {
        let size = Size::new(20, 20);
        assert_eq!(
            cursor(Point { x: 0, y: 0 }).rect_on(size),
            Rect::new(0, 0, 1, 1)
        );
        assert!(cursor(Point { x: -9, y: 5 }).rect_on(size).is_empty());
    }

    #[test]
    fn only_covered_pixels_are_blended() {
        let mut row = [0; 4 * 4];
        cursor(Point { x: 2, y: 1 }).blend_row(0, 0, &mut row);
        let painted: Vec<bool> = row.chunks(4).map(|px| px[0] != 0).collect();
        assert_eq!(painted, [false, true, true, false]);
    }
}
