//! Where on a screen: sizes, points, rectangles and the damage made of them, all in pixels.

use serde::{Deserialize, Serialize};

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "[u32; 2]", into = "[u32; 2]")]
pub struct Size {
    /// Width in pixels.
    pub w: u32,
    /// Height in pixels.
    pub h: u32,
}

impl Size {
    /// A size of `w` by `h` pixels.
    #[must_use]
    pub const fn new(w: u32, h: u32) -> Self {
        Self { w, h }
    }

    /// The number of pixels.
    #[must_use]
    pub const fn area_px(self) -> u64 {
        self.w as u64 * self.h as u64
    }

    /// The rectangle that covers the whole screen.
    #[must_use]
    pub const fn rect(self) -> Rect {
        Rect {
            x: 0,
            y: 0,
            w: self.w,
            h: self.h,
        }
    }

    /// This size with each side rounded up to an even number, as 4:2:0 chroma needs.
    #[must_use]
    pub const fn even(self) -> Self {
        Self {
            w: self.w.next_multiple_of(2),
            h: self.h.next_multiple_of(2),
        }
    }
}

impl From<[u32; 2]> for Size {
    fn from([w, h]: [u32; 2]) -> Self {
        Self { w, h }
    }
}

impl From<Size> for [u32; 2] {
    fn from(size: Size) -> Self {
        [size.w, size.h]
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.w, self.h)
    }
}

/// A point in pixels. Signed, because a pointer may leave the screen to the left or above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[i32; 2]", into = "[i32; 2]")]
pub struct Point {
    /// Pixels from the left edge.
    pub x: i32,
    /// Pixels from the top edge.
    pub y: i32,
}

impl From<[i32; 2]> for Point {
    fn from([x, y]: [i32; 2]) -> Self {
        Self { x, y }
    }
}

impl From<Point> for [i32; 2] {
    fn from(point: Point) -> Self {
        [point.x, point.y]
    }
}

/// A half-open rectangle: it covers `x..x+w` by `y..y+h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "[u32; 4]", into = "[u32; 4]")]
pub struct Rect {
    /// Left edge in pixels.
    pub x: u32,
    /// Top edge in pixels.
    pub y: u32,
    /// Width in pixels.
    pub w: u32,
    /// Height in pixels.
    pub h: u32,
}

impl Rect {
    /// A rectangle from its left, top, width and height.
    #[must_use]
    pub const fn new(x: u32, y: u32, w: u32, h: u32) -> Self {
        Self { x, y, w, h }
    }

    /// The first column past the right edge; saturates.
    #[must_use]
    pub const fn right(self) -> u32 {
        self.x.saturating_add(self.w)
    }

    /// The first row past the bottom edge; saturates.
    #[must_use]
    pub const fn bottom(self) -> u32 {
        self.y.saturating_add(self.h)
    }

    /// Whether it covers no pixel.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.w == 0 || self.h == 0
    }

    /// The number of pixels covered.
    #[must_use]
    pub const fn area_px(self) -> u64 {
        self.w as u64 * self.h as u64
    }

    /// Whether `self` lies wholly inside a screen of `size`.
    #[must_use]
    pub const fn fits(self, size: Size) -> bool {
        self.x as u64 + self.w as u64 <= size.w as u64
            && self.y as u64 + self.h as u64 <= size.h as u64
    }

    /// The part that both cover; empty when they do not meet.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        let x = self.x.max(other.x);
        let y = self.y.max(other.y);
        Self {
            x,
            y,
            w: self.right().min(other.right()).saturating_sub(x),
            h: self.bottom().min(other.bottom()).saturating_sub(y),
        }
    }

    /// The smallest rectangle that covers both; an empty one adds nothing.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let x = self.x.min(other.x);
        let y = self.y.min(other.y);
        Self {
            x,
            y,
            w: self.right().max(other.right()) - x,
            h: self.bottom().max(other.bottom()) - y,
        }
    }

    /// Rounded outward to even coordinates, so that it covers whole 4:2:0 chroma samples.
    #[must_use]
    pub fn even_outward(self) -> Self {
        let x = self.x & !1;
        let y = self.y & !1;
        Self {
            x,
            y,
            w: self.right().next_multiple_of(2) - x,
            h: self.bottom().next_multiple_of(2) - y,
        }
    }
}

impl From<[u32; 4]> for Rect {
    fn from([x, y, w, h]: [u32; 4]) -> Self {
        Self { x, y, w, h }
    }
}

impl From<Rect> for [u32; 4] {
    fn from(rect: Rect) -> Self {
        [rect.x, rect.y, rect.w, rect.h]
    }
}

/// The parts of a picture that changed. A hint: covering too much is allowed, too little is not.
///
/// Holds at most [`Damage::MAX_RECTS`] rectangles; past that they collapse into their bounding
/// box, so a peer cannot grow it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    rects: Vec<Rect>,
}

impl Damage {
    /// Above this many rectangles one larger conversion is cheaper than many small ones.
    pub const MAX_RECTS: usize = 256;

    /// No damage.
    pub const EMPTY: Self = Self { rects: Vec::new() };

    /// Damage of one rectangle.
    #[must_use]
    pub fn of(rect: Rect) -> Self {
        let mut damage = Self::default();
        damage.add(rect);
        damage
    }

    /// Adds `rect`; an empty one changes nothing.
    pub fn add(&mut self, rect: Rect) {
        if rect.is_empty() {
            return;
        }
        if let Some(last) = self.rects.last_mut() {
            let grows_right = last.y == rect.y && last.h == rect.h && last.right() == rect.x;
            let grows_down = last.x == rect.x && last.w == rect.w && last.bottom() == rect.y;
            if grows_right || grows_down {
                *last = last.union(rect);
                return;
            }
        }
        self.rects.push(rect);
        if self.rects.len() > Self::MAX_RECTS {
            self.rects = vec![self.bounds()];
        }
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &Self) {
        for &rect in &other.rects {
            self.add(rect);
        }
    }

    /// The rectangles, in no order; they may overlap.
    #[must_use]
    pub fn rects(&self) -> &[Rect] {
        &self.rects
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rects.is_empty()
    }

    /// The smallest rectangle that covers all of it.
    #[must_use]
    pub fn bounds(&self) -> Rect {
        self.rects
            .iter()
            .fold(Rect::default(), |all, &rect| all.union(rect))
    }

    /// The changed share of a screen of `size`, in thousandths; overlaps may overstate it.
    #[must_use]
    pub fn permille_of(&self, size: Size) -> u16 {
        let changed: u64 = self.rects.iter().map(|rect| rect.area_px()).sum();
        let share = changed * 1000 / size.area_px().max(1);
        u16::try_from(share.min(1000)).unwrap_or(1000)
    }

    /// Takes the damage out and leaves none.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_outward_covers_the_odd_edge() {
        assert_eq!(Rect::new(3, 5, 1, 1).even_outward(), Rect::new(2, 4, 2, 2));
        assert_eq!(Rect::new(2, 4, 2, 2).even_outward(), Rect::new(2, 4, 2, 2));
    }

    #[test]
    fn rects_that_do_not_meet_intersect_in_nothing() {
        assert!(
            Rect::new(0, 0, 2, 2)
                .intersection(Rect::new(2, 0, 2, 2))
                .is_empty()
        );
    }

    #[test]
    fn damage_stays_bounded_and_still_covers() {
        let mut damage = Damage::default();
        for i in 0..10_000 {
            damage.add(Rect::new(i * 3, i % 7, 1, 1));
        }
        assert!(damage.rects().len() <= Damage::MAX_RECTS);
        assert_eq!(damage.bounds(), Rect::new(0, 0, 29_998, 7));
    }
}
