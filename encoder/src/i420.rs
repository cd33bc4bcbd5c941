//! How an I420 picture lies in memory: the layout GStreamer gives it, so that it is handed over by
//! one copy.

use capture::{Rect, Size};

/// Luma and two chroma planes of a quarter of its samples, one after another in one buffer.
#[derive(Clone)]
pub(crate) struct I420 {
    size: Size,
    // INVARIANT: holds the three planes in full.
    bytes: Vec<u8>,
}

/// A plane, or what is left of it from some pixel on.
pub(crate) struct Plane<B> {
    /// Its samples.
    pub(crate) bytes: B,
    /// Samples from one row to the next.
    pub(crate) stride_px: u32,
}

impl I420 {
    /// A black picture of `size`, which is even.
    pub(crate) fn black(size: Size) -> Self {
        let [y, u, v] = plane_bytes(size);
        let mut bytes = vec![16; y];
        bytes.resize(y + u + v, 128);
        Self { size, bytes }
    }

    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    /// All planes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The three planes.
    pub(crate) fn planes(&self) -> [Plane<&[u8]>; 3] {
        let [y, u, _] = plane_bytes(self.size);
        let (y, rest) = self.bytes.split_at(y);
        let (u, v) = rest.split_at(u);
        let [ys, cs] = strides(self.size);
        [(y, ys), (u, cs), (v, cs)].map(|(bytes, stride_px)| Plane { bytes, stride_px })
    }

    fn planes_mut(&mut self) -> [Plane<&mut [u8]>; 3] {
        let [y, u, _] = plane_bytes(self.size);
        let (y, rest) = self.bytes.split_at_mut(y);
        let (u, v) = rest.split_at_mut(u);
        let [ys, cs] = strides(self.size);
        [(y, ys), (u, cs), (v, cs)].map(|(bytes, stride_px)| Plane { bytes, stride_px })
    }

    /// The planes from pixel (`x`, `y`) on, both even.
    pub(crate) fn starting_at(&mut self, x: u32, y: u32) -> [Plane<&mut [u8]>; 3] {
        let [luma, u, v] = self.planes_mut();
        [luma.from(x, y), u.from(x / 2, y / 2), v.from(x / 2, y / 2)]
    }

    /// Fills `rect`, of even coordinates, with one colour.
    pub(crate) fn fill(&mut self, rect: Rect, colour: [u8; 3]) {
        let rect = rect.intersection(self.size.rect());
        let half = Rect::new(rect.x / 2, rect.y / 2, rect.w / 2, rect.h / 2);
        let parts = self.planes_mut().into_iter().zip([rect, half, half]);
        for ((mut plane, rect), value) in parts.zip(colour) {
            for y in rect.y..rect.bottom() {
                plane.row(y, rect.x, rect.w).fill(value);
            }
        }
    }

    /// Takes over `rect`, of even coordinates, from a picture of the same size.
    pub(crate) fn copy(&mut self, from: &Self, rect: Rect) {
        let rect = rect.intersection(self.size.rect());
        let half = Rect::new(rect.x / 2, rect.y / 2, rect.w / 2, rect.h / 2);
        let planes = self.planes_mut().into_iter().zip(from.planes());
        for ((mut plane, from), rect) in planes.zip([rect, half, half]) {
            for y in rect.y..rect.bottom() {
                let start = y as usize * from.stride_px as usize + rect.x as usize;
                let row = from.bytes.get(start..start + rect.w as usize);
                let (row, part) = (row.unwrap_or_default(), plane.row(y, rect.x, rect.w));
                if part.len() == row.len() {
                    part.copy_from_slice(row);
                }
            }
        }
    }

    /// Repeats the last column and row of the `screen` at the top left over the rest.
    pub(crate) fn repeat_edges(&mut self, screen: Size) {
        let half = |size: Size| Size::new(size.w.div_ceil(2), size.h.div_ceil(2));
        let outer = [self.size, half(self.size), half(self.size)];
        let inner = [screen, half(screen), half(screen)];
        for ((mut plane, outer), inner) in self.planes_mut().into_iter().zip(outer).zip(inner) {
            for y in 0..inner.h {
                let row = plane.row(y, 0, outer.w);
                let (kept, padding) = row.split_at_mut(inner.w as usize);
                padding.fill(kept.last().copied().unwrap_or_default());
            }
            let last = plane.row(inner.h.saturating_sub(1), 0, outer.w).to_vec();
            for y in inner.h..outer.h {
                plane.row(y, 0, outer.w).copy_from_slice(&last);
            }
        }
    }

    /// Luma and chroma of one pixel.
    #[cfg(test)]
    pub(crate) fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        let at = [(x, y), (x / 2, y / 2), (x / 2, y / 2)];
        let mut at = at.into_iter();
        self.planes().map(|plane| {
            let (x, y) = at.next().unwrap();
            plane.bytes[(y * plane.stride_px + x) as usize]
        })
    }
}

impl Plane<&mut [u8]> {
    fn from(self, x: u32, y: u32) -> Self {
        let start = y as usize * self.stride_px as usize + x as usize;
        Self {
            bytes: self.bytes.get_mut(start..).unwrap_or_default(),
            ..self
        }
    }

    /// `w` samples of row `y` from column `x` on; empty when outside.
    pub(crate) fn row(&mut self, y: u32, x: u32, w: u32) -> &mut [u8] {
        let start = y as usize * self.stride_px as usize + x as usize;
        self.bytes
            .get_mut(start..start + w as usize)
            .unwrap_or_default()
    }
}

/// Luma and chroma strides: rows begin at multiples of four bytes.
fn strides(size: Size) -> [u32; 2] {
    [size.w.next_multiple_of(4), (size.w / 2).next_multiple_of(4)]
}

fn plane_bytes(size: Size) -> [usize; 3] {
    let [luma, chroma] = strides(size);
    let chroma = chroma as usize * (size.h / 2) as usize;
    [luma as usize * size.h as usize, chroma, chroma]
}
