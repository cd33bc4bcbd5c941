//! The recorder's own picture of a screen, and which parts of it truly changed.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{Damage, Rect, Size};

/// Bytes in a BGRX pixel.
pub const BYTES_PER_PX: usize = 4;

/// A screen's pixels as BGRX (blue first, the fourth byte unused), with a hash of each 64×64 tile.
///
/// Sources paint it and report damage as a hint; [`settle`](Self::settle) keeps only what
/// changed, so sources that repeat themselves or know only whole frames cost no encoding.
#[derive(Clone)]
pub struct Framebuffer {
    size: Size,
    // INVARIANT: length is `size.area_px() * BYTES_PER_PX`.
    bgrx: Vec<u8>,
    tiles: Vec<u64>,
    // The recorded machine chooses the pixels; a secret seed keeps it from choosing collisions.
    seed: u64,
}

impl Framebuffer {
    /// Tiles are squares of this many pixels: small enough to keep damage tight, few enough that
    /// hashing a busy 1080p screen stays far below a millisecond.
    pub const TILE_PX: u32 = 64;
    /// The largest side accepted from any source.
    pub const MAX_SIDE_PX: u32 = 8192;
    /// The largest area accepted from any source: an 8K screen.
    pub const MAX_AREA_PX: u64 = 33_177_600;

    /// A black screen of `size`. `seed` should be random.
    ///
    /// # Errors
    /// When a side is zero or the size passes [`MAX_SIDE_PX`](Self::MAX_SIDE_PX) or
    /// [`MAX_AREA_PX`](Self::MAX_AREA_PX).
    pub fn new(size: Size, seed: u64) -> Result<Self, SizeError> {
        check_size(size)?;
        let mut framebuffer = Self {
            size,
            bgrx: Vec::new(),
            tiles: Vec::new(),
            seed,
        };
        framebuffer.clear();
        Ok(framebuffer)
    }

    /// Becomes a black screen of `size`; all of it counts as changed.
    ///
    /// # Errors
    /// As [`new`](Self::new); the old picture then stays.
    pub fn resize(&mut self, size: Size) -> Result<(), SizeError> {
        check_size(size)?;
        self.size = size;
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        let bytes = self.size.w as usize * self.size.h as usize * BYTES_PER_PX;
        self.bgrx.clear();
        self.bgrx.resize(bytes, 0);
        let (columns, rows) = self.tile_grid();
        self.tiles.clear();
        self.tiles.resize(columns as usize * rows as usize, 0);
    }

    /// Columns and rows of tiles.
    const fn tile_grid(&self) -> (u32, u32) {
        (
            self.size.w.div_ceil(Self::TILE_PX),
            self.size.h.div_ceil(Self::TILE_PX),
        )
    }

    /// The screen's size.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Bytes from one row to the next.
    #[must_use]
    pub const fn stride_bytes(&self) -> usize {
        self.size.w as usize * BYTES_PER_PX
    }

    /// All pixels, row by row, without padding.
    #[must_use]
    pub fn bgrx(&self) -> &[u8] {
        &self.bgrx
    }

    /// The bytes of row `y` from column `x` on, `w` pixels; empty when outside the screen.
    #[must_use]
    pub fn row(&self, x: u32, y: u32, w: u32) -> &[u8] {
        self.row_range(x, y, w)
            .and_then(|range| self.bgrx.get(range))
            .unwrap_or_default()
    }

    /// As [`row`](Self::row), to paint.
    pub fn row_mut(&mut self, x: u32, y: u32, w: u32) -> &mut [u8] {
        self.row_range(x, y, w)
            .and_then(|range| self.bgrx.get_mut(range))
            .unwrap_or_default()
    }

    fn row_range(&self, x: u32, y: u32, w: u32) -> Option<std::ops::Range<usize>> {
        if !Rect::new(x, y, w, 1).fits(self.size) {
            return None;
        }
        let start = y as usize * self.stride_bytes() + x as usize * BYTES_PER_PX;
        Some(start..start + w as usize * BYTES_PER_PX)
    }

    /// Fills `rect`, clipped to the screen, with one colour.
    pub fn fill(&mut self, rect: Rect, bgrx: [u8; BYTES_PER_PX]) {
        let rect = rect.intersection(self.size.rect());
        for y in rect.y..rect.bottom() {
            for pixel in self
                .row_mut(rect.x, y, rect.w)
                .chunks_exact_mut(BYTES_PER_PX)
            {
                pixel.copy_from_slice(&bgrx);
            }
        }
    }

    /// How many pixels are not black, counted no further than the row that reaches `limit_px`.
    #[must_use]
    pub fn lit_px(&self, limit_px: u64) -> u64 {
        let mut lit = 0;
        for row in self.bgrx.chunks_exact(self.stride_bytes()) {
            let pixels = row.as_chunks::<BYTES_PER_PX>().0;
            lit += pixels.iter().filter(|[b, g, r, _]| b | g | r != 0).count() as u64;
            if limit_px <= lit {
                break;
            }
        }
        lit
    }

    /// Hashes the tiles that `damage` touches and gives back the damage in those that changed.
    pub fn settle(&mut self, damage: &Damage) -> Damage {
        let (columns, _) = self.tile_grid();
        let mut in_tile = std::collections::BTreeMap::<(u32, u32), Rect>::new();
        for rect in damage.rects() {
            let rect = rect.intersection(self.size.rect());
            if rect.is_empty() {
                continue;
            }
            for row in rect.y / Self::TILE_PX..rect.bottom().div_ceil(Self::TILE_PX) {
                for column in rect.x / Self::TILE_PX..rect.right().div_ceil(Self::TILE_PX) {
                    let known = in_tile.entry((row, column)).or_default();
                    *known = known.union(rect.intersection(tile_rect(column, row)));
                }
            }
        }
        let mut changed = Damage::default();
        for ((row, column), part) in in_tile {
            let hash = self.hash_tile(column, row);
            let known = &mut self.tiles[row as usize * columns as usize + column as usize];
            if *known != hash {
                *known = hash;
                changed.add(part);
            }
        }
        changed
    }

    fn hash_tile(&self, column: u32, row: u32) -> u64 {
        let tile = tile_rect(column, row).intersection(self.size.rect());
        // 0 is the value of a tile never hashed, so that the first picture always counts.
        (tile.y..tile.bottom())
            .fold(self.seed, |hash, y| {
                xxh3_64_with_seed(self.row(tile.x, y, tile.w), hash)
            })
            .max(1)
    }
}

fn tile_rect(column: u32, row: u32) -> Rect {
    const PX: u32 = Framebuffer::TILE_PX;
    Rect::new(column * PX, row * PX, PX, PX)
}

/// A screen size that is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "screen size {size} is outside 1x1 to {side}x{side} and {area} pixels",
    side = Framebuffer::MAX_SIDE_PX,
    area = Framebuffer::MAX_AREA_PX
)]
pub struct SizeError {
    /// The refused size.
    pub size: Size,
}

fn check_size(size: Size) -> Result<(), SizeError> {
    let side = 1..=Framebuffer::MAX_SIDE_PX;
    let ok = side.contains(&size.w)
        && side.contains(&size.h)
        && size.area_px() <= Framebuffer::MAX_AREA_PX;
    if ok { Ok(()) } else { Err(SizeError { size }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Framebuffer {
        let mut screen = Framebuffer::new(Size::new(130, 70), 7).unwrap();
        screen.settle(&Damage::of(screen.size().rect()));
        screen
    }

    #[test]
    fn the_first_picture_counts_as_changed_even_when_black() {
        let mut screen = Framebuffer::new(Size::new(130, 70), 7).unwrap();
        let all = Damage::of(screen.size().rect());
        assert_eq!(screen.settle(&all).bounds(), screen.size().rect());
        assert!(screen.settle(&all).is_empty());
    }

    #[test]
    fn damage_that_changed_nothing_is_dropped() {
        let mut screen = screen();
        screen.fill(Rect::new(5, 5, 3, 3), [1, 2, 3, 0]);
        let whole = Damage::of(screen.size().rect());
        assert_eq!(screen.settle(&whole).bounds(), Rect::new(0, 0, 64, 64));
        assert!(screen.settle(&whole).is_empty());
    }

    #[test]
    fn small_damage_stays_small() {
        let mut screen = screen();
        let caret = Rect::new(60, 10, 8, 16);
        screen.fill(caret, [255; 4]);
        assert_eq!(screen.settle(&Damage::of(caret)).bounds(), caret);
    }

    #[test]
    fn sizes_beyond_the_limit_are_refused() {
        for size in [Size::new(0, 1), Size::new(8193, 1), Size::new(8192, 8192)] {
            assert_eq!(Framebuffer::new(size, 0).err(), Some(SizeError { size }));
        }
        assert!(Framebuffer::new(Size::new(7680, 4320), 0).is_ok());
    }

    #[test]
    fn lit_pixels_are_counted_as_far_as_asked() {
        let mut screen = screen();
        assert_eq!(screen.lit_px(1), 0);
        screen.fill(screen.size().rect(), [0, 0, 0, 9]);
        assert_eq!(screen.lit_px(1), 0);
        screen.fill(screen.size().rect(), [0, 1, 0, 0]);
        assert_eq!(screen.lit_px(u64::MAX), 130 * 70);
        assert_eq!(screen.lit_px(131), 2 * 130);
    }

    #[test]
    fn rows_outside_the_screen_are_empty() {
        let mut screen = screen();
        assert!(screen.row_mut(128, 0, 3).is_empty());
        assert!(screen.row(0, 70, 1).is_empty());
        assert_eq!(screen.row(129, 69, 1).len(), BYTES_PER_PX);
    }
}
