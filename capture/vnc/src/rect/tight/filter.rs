//! How Tight writes pixels before it compresses them: as they are, as indices of a palette, or as
//! differences from what their neighbours suggest. Undone row by row.

use capture::{Framebuffer, Rect, framebuffer::BYTES_PER_PX};

use crate::{
    canvas::Canvas,
    error::Error,
    layout::{Layout, Pixel},
    rect::inflate::INFLATED_BYTES,
};

// A row is always inflated whole.
const _: () = assert!(Framebuffer::MAX_SIDE_PX as usize * BYTES_PER_PX < INFLATED_BYTES);

/// The rows of a rectangle still to be painted, and how they are written.
#[derive(Debug, Default)]
pub(super) struct Filter {
    rect: Rect,
    /// The next row, relative to the rectangle.
    y: u32,
    kind: Kind,
}

#[derive(Debug, Default)]
enum Kind {
    #[default]
    Copy,
    Palette(Vec<Pixel>),
    /// The values of the row above.
    Gradient(Vec<[u16; 3]>),
}

impl Filter {
    const fn new(rect: Rect, kind: Kind) -> Self {
        let y = if rect.w == 0 { rect.h } else { 0 };
        Self { rect, y, kind }
    }

    pub(super) const fn copy(rect: Rect) -> Self {
        Self::new(rect, Kind::Copy)
    }

    pub(super) const fn palette(rect: Rect, colours: Vec<Pixel>) -> Self {
        Self::new(rect, Kind::Palette(colours))
    }

    pub(super) fn gradient(rect: Rect) -> Self {
        Self::new(rect, Kind::Gradient(vec![[0; 3]; rect.w as usize]))
    }

    /// Bytes of a filtered row.
    pub(super) fn row_bytes(&self, layout: &Layout) -> usize {
        let w = self.rect.w as usize;
        match &self.kind {
            Kind::Palette(colours) if colours.len() <= 2 => w.div_ceil(8),
            Kind::Palette(_) => w,
            Kind::Copy | Kind::Gradient(_) => w * layout.bytes(),
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.y >= self.rect.h
    }

    /// Paints the rows that `bytes` holds whole; gives back how many bytes they took.
    ///
    /// # Errors
    /// When an index is outside the palette, or there are more bytes than rows.
    pub(super) fn paint(
        &mut self,
        layout: &Layout,
        bytes: &[u8],
        row: &mut Vec<Pixel>,
        canvas: &mut Canvas<'_>,
    ) -> Result<usize, Error> {
        let row_bytes = self.row_bytes(layout);
        row.resize(self.rect.w as usize, Pixel::default());
        let mut rest = bytes;
        while !self.is_done() {
            let Some((wire, after)) = rest.split_at_checked(row_bytes) else {
                break;
            };
            let (x, y) = (self.rect.x, self.rect.y + self.y);
            match &mut self.kind {
                Kind::Copy => canvas.read(layout, x, y, wire),
                Kind::Palette(colours) => {
                    paint_indices(colours, wire, row)?;
                    canvas.paint(x, y, row);
                }
                Kind::Gradient(above) => {
                    add_gradient(layout, above, wire, row);
                    canvas.paint(x, y, row);
                }
            }
            rest = after;
            self.y += 1;
        }
        if self.is_done() && !rest.is_empty() {
            return Err(Error::PixelsExceeded);
        }
        Ok(bytes.len() - rest.len())
    }
}

/// Of two colours a bit chooses, the high one first; of more a byte.
fn paint_indices(colours: &[Pixel], wire: &[u8], row: &mut [Pixel]) -> Result<(), Error> {
    let colour = |index: u8| match colours.get(usize::from(index)) {
        Some(colour) => Ok(*colour),
        None => Err(Error::PaletteIndex {
            index,
            len: colours.len(),
        }),
    };
    if colours.len() > 2 {
        for (pixel, &index) in row.iter_mut().zip(wire) {
            *pixel = colour(index)?;
        }
        return Ok(());
    }
    for (pixels, &byte) in row.chunks_mut(8).zip(wire) {
        for (bit, pixel) in pixels.iter_mut().enumerate() {
            *pixel = colour(byte << bit >> 7)?;
        }
    }
    Ok(())
}

/// Adds to each pixel what its neighbours suggest: left and above less the one between them.
fn add_gradient(layout: &Layout, above: &mut [[u16; 3]], wire: &[u8], row: &mut [Pixel]) {
    let maxima = layout.maxima();
    let (mut left, mut between) = ([0; 3], [0; 3]);
    let wire = wire.chunks_exact(layout.bytes());
    for ((pixel, above), wire) in row.iter_mut().zip(above).zip(wire) {
        let sent = layout.values(wire);
        let near = left.into_iter().zip(*above).zip(between);
        let mut values = [0; 3];
        for (((value, sent), max), ((left, above), between)) in
            values.iter_mut().zip(sent).zip(maxima).zip(near)
        {
            *value = guess(left, above, between, max).wrapping_add(sent) & max;
        }
        (between, *above, left) = (*above, values, values);
        *pixel = layout.pixel(values);
    }
}

fn guess(left: u16, above: u16, between: u16, max: u16) -> u16 {
    let sum = i32::from(left) + i32::from(above) - i32::from(between);
    u16::try_from(sum.clamp(0, max.into())).unwrap_or_default()
}
