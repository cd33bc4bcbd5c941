//! Pictures (MS-RDPBCGR section 2.2.9.1.1.3.1.2): as they are, run-length coded, or in planes;
//! bottom row first.

use capture::{Rect, Size, framebuffer::BYTES_PER_PX};
use ironrdp_graphics::{
    color_conversion::{rdp_15bit_to_rgb, rdp_16bit_to_rgb},
    rdp6::BitmapStreamDecoder,
    rle,
};
use ironrdp_pdu::bitmap::{BitmapData, BitmapUpdateData, Compression};

use crate::{error::Error, stream::Output};

/// What pictures are unpacked with.
#[derive(Default)]
pub(super) struct Pictures {
    pub(super) palette: Palette,
    planes: BitmapStreamDecoder,
    /// A picture unpacked, kept for its memory.
    unpacked: Vec<u8>,
}

/// How far a picture may go on beyond what is shown of it, or beyond the screen: servers fill
/// pictures up to a multiple of four, and some then place them as if all were to be shown.
const MARGIN_PX: u32 = 16;

impl Pictures {
    /// Paints all pictures of `update`.
    pub(super) fn paint(
        &mut self,
        update: &BitmapUpdateData<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        for picture in &update.rectangles {
            self.paint_one(picture, output)?;
        }
        Ok(())
    }

    fn paint_one(
        &mut self,
        picture: &BitmapData<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let rect = shown(picture, output.framebuffer.size())?;
        let (w, h) = (usize::from(picture.width), usize::from(picture.height));
        output.spend((w * h) as u64)?;
        let packed = picture.bitmap_data;
        let bits = picture.bits_per_pixel;
        let unpacked = &mut self.unpacked;
        let (layout, rows, stride) = if !picture
            .compression_flags
            .contains(Compression::BITMAP_COMPRESSION)
        {
            let layout = Layout::of(bits)?;
            (layout, packed, (w * layout.bytes()).next_multiple_of(4))
        } else if bits == 32 {
            unpacked.clear();
            self.planes
                .decode_bitmap_stream_to_rgb24(packed, unpacked, w, h)
                .map_err(|_| Error::Picture)?;
            (Layout::Rgb24, unpacked.as_slice(), w * 3)
        } else {
            let layout = Layout::of(bits)?;
            unpack_runs(packed, unpacked, (w, h), layout)?;
            (layout, unpacked.as_slice(), w * layout.bytes())
        };
        if rows.len() < stride * h {
            return Err(Error::Picture);
        }
        let rows = rows.chunks_exact(stride).take(h).rev();
        paint_rows(layout, &self.palette, rows, rect, output);
        output.painted(rect);
        Ok(())
    }
}

/// Unpacks runs of pixels. IronRDP takes runs that end too soon for a picture, whose rest is then
/// whatever was there before; so the last byte says whether it was written. It may be written as it
/// was: then it is asked again with another value.
fn unpack_runs(
    packed: &[u8],
    unpacked: &mut Vec<u8>,
    (w, h): (usize, usize),
    layout: Layout,
) -> Result<(), Error> {
    unpacked.resize(w * h * layout.bytes(), 0);
    for mark in [0xa5, 0x5a] {
        *unpacked.last_mut().ok_or(Error::Picture)? = mark;
        let format = match layout {
            Layout::Index => rle::decompress_8_bpp(packed, unpacked, w, h),
            Layout::Rgb15 => rle::decompress_15_bpp(packed, unpacked, w, h),
            Layout::Rgb16 => rle::decompress_16_bpp(packed, unpacked, w, h),
            Layout::Bgr24 | Layout::Rgb24 | Layout::Bgrx32 => {
                rle::decompress_24_bpp(packed, unpacked, w, h)
            }
        };
        format.map_err(|_| Error::Picture)?;
        if unpacked.last() != Some(&mark) {
            return Ok(());
        }
    }
    Err(Error::Picture)
}

/// What of the screen a picture covers.
fn shown(picture: &BitmapData<'_>, size: Size) -> Result<Rect, Error> {
    let place = &picture.rectangle;
    let side = |from: u16, to: u16| to.checked_sub(from).map(|side| u32::from(side) + 1);
    let w = side(place.left, place.right).ok_or(Error::Picture)?;
    let h = side(place.top, place.bottom).ok_or(Error::Picture)?;
    let (given_w, given_h) = (u32::from(picture.width), u32::from(picture.height));
    if !(w <= given_w && given_w <= w + MARGIN_PX && h == given_h) {
        return Err(Error::Picture);
    }
    let rect = Rect::new(u32::from(place.left), u32::from(place.top), w, h);
    let within = Size::new(size.w + MARGIN_PX, size.h + MARGIN_PX);
    if !rect.fits(within) {
        return Err(Error::PictureOutside { rect, size });
    }
    Ok(rect.intersection(size.rect()))
}

/// How a pixel lies in memory, colours named from the first byte or the highest bit on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Index,
    Rgb15,
    Rgb16,
    Bgr24,
    Rgb24,
    Bgrx32,
}

impl Layout {
    const fn of(bits: u16) -> Result<Self, Error> {
        Ok(match bits {
            8 => Self::Index,
            15 => Self::Rgb15,
            16 => Self::Rgb16,
            24 => Self::Bgr24,
            32 => Self::Bgrx32,
            bits => return Err(Error::PictureDepth { bits }),
        })
    }

    const fn bytes(self) -> usize {
        match self {
            Self::Index => 1,
            Self::Rgb15 | Self::Rgb16 => 2,
            Self::Bgr24 | Self::Rgb24 => 3,
            Self::Bgrx32 => 4,
        }
    }
}

/// Paints `rect` with `rows`, the top one first; what does not fit is left over.
fn paint_rows<'a>(
    layout: Layout,
    palette: &Palette,
    rows: impl Iterator<Item = &'a [u8]>,
    rect: Rect,
    output: &mut Output<'_>,
) {
    for (y, row) in (rect.y..rect.bottom()).zip(rows) {
        let row_of_screen = output.framebuffer.row_mut(rect.x, y, rect.w);
        let bgrx = |[r, g, b]: [u8; 3]| [b, g, r, 0];
        match layout {
            Layout::Index => convert(row, row_of_screen, |[index]| bgrx(palette.colour(index))),
            Layout::Rgb15 => convert(row, row_of_screen, |px| {
                bgrx(rdp_15bit_to_rgb(u16::from_le_bytes(px)))
            }),
            Layout::Rgb16 => convert(row, row_of_screen, |px| {
                bgrx(rdp_16bit_to_rgb(u16::from_le_bytes(px)))
            }),
            Layout::Bgr24 => convert(row, row_of_screen, |[b, g, r]| [b, g, r, 0]),
            Layout::Rgb24 => convert(row, row_of_screen, bgrx),
            Layout::Bgrx32 => convert(row, row_of_screen, |[b, g, r, _]| [b, g, r, 0]),
        }
    }
}

fn convert<const N: usize>(
    from: &[u8],
    to: &mut [u8],
    pixel: impl Fn([u8; N]) -> [u8; BYTES_PER_PX],
) {
    let (from, _) = from.as_chunks::<N>();
    let (to, _) = to.as_chunks_mut::<BYTES_PER_PX>();
    for (to, &from) in to.iter_mut().zip(from) {
        *to = pixel(from);
    }
}

/// The colours that pixels of 8 bits name (section 2.2.9.1.1.3.1.1).
pub(super) struct Palette(Box<[[u8; 3]; 256]>);

impl Default for Palette {
    fn default() -> Self {
        Self(Box::new([[0; 3]; 256]))
    }
}

impl Palette {
    pub(super) fn colours(&self) -> &[[u8; 3]; 256] {
        &self.0
    }

    fn colour(&self, index: u8) -> [u8; 3] {
        self.0.get(usize::from(index)).copied().unwrap_or_default()
    }

    /// Takes in an update: its type, padding, the number of colours, and they.
    pub(super) fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        let (head, colours) = data.split_first_chunk::<8>().ok_or(Error::Message)?;
        let [.., c0, c1, c2, c3] = *head;
        let (colours, _) = colours.as_chunks::<3>();
        if u32::from_le_bytes([c0, c1, c2, c3]) as usize != colours.len() {
            return Err(Error::Message);
        }
        for (own, colour) in self.0.iter_mut().zip(colours) {
            *own = *colour;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of 3×2 pixels of a byte each.
    fn unpacked(packed: &[u8]) -> Result<Vec<u8>, Error> {
        let mut unpacked = vec![7; 2];
        unpack_runs(packed, &mut unpacked, (3, 2), Layout::Index).map(|()| unpacked)
    }

    #[test]
    fn runs_are_unpacked_to_the_last_pixel() {
        assert_eq!(unpacked(&[0x66, 9]), Ok(vec![9; 6]), "a run of six nines");
        assert_eq!(unpacked(&[0x66, 0xa5]), Ok(vec![0xa5; 6]));
        assert_eq!(unpacked(&[0x66, 0x5a]), Ok(vec![0x5a; 6]));
    }

    #[test]
    fn runs_that_end_too_soon_or_too_late_are_no_picture() {
        assert_eq!(unpacked(&[0x65, 9]), Err(Error::Picture));
        assert_eq!(unpacked(&[0x67, 9]), Err(Error::Picture));
        assert_eq!(unpacked(&[]), Err(Error::Picture));
    }
}
