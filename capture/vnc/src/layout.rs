//! How the pixels of a connection become the recorder's: whole ones, and the compact ones that
//! ZRLE and Tight make of them (RFC 6143 sections 7.4 and 7.7.5, rfbproto's `TPIXEL`).

use capture::{framebuffer::BYTES_PER_PX, pixels::PixelFormat};

use crate::error::Error;

/// A decoded pixel: BGRX, or where the peer sends indices of a colour map, the index first.
pub(crate) type Pixel = [u8; BYTES_PER_PX];

/// The layouts of one connection.
pub(crate) struct Layouts {
    /// A pixel by itself.
    pub(crate) pixel: Layout,
    /// `CPIXEL`: a byte that never carries colour is left out.
    pub(crate) compact: Layout,
    /// `TPIXEL`: red, green and blue where each is a byte.
    pub(crate) tight: Layout,
    /// Whether pixels are indices of a colour map.
    pub(crate) indexed: bool,
}

impl Layouts {
    /// The layouts of a peer that sends pixels of `format`.
    ///
    /// # Errors
    /// When indices of a colour map are not bytes: nothing sends them.
    pub(crate) fn new(format: PixelFormat) -> Result<Self, Error> {
        let PixelFormat { bits_per_pixel, .. } = format;
        if !format.true_colour && bits_per_pixel != 8 {
            return Err(Error::ColourMapBits { bits_per_pixel });
        }
        Ok(Self::of_true_colour(format))
    }

    /// As [`new`](Self::new), of a format whose pixels are no indices, or known to be bytes.
    pub(crate) fn of_true_colour(format: PixelFormat) -> Self {
        Self {
            pixel: Layout::whole(&format),
            compact: Layout::compact(&format),
            tight: Layout::tight(&format),
            indexed: !format.true_colour,
        }
    }
}

/// One way in which pixels are written.
pub(crate) struct Layout {
    bytes: usize,
    kind: Kind,
}

/// The layouts that are met daily are read without arithmetic.
enum Kind {
    /// Blue, green, red and a spare byte.
    Bgrx,
    /// Blue, green, red.
    Bgr,
    /// Red, green, blue.
    Rgb,
    /// An index of the colour map.
    Index,
    /// Anything else.
    Number(Number),
}

impl Layout {
    fn whole(format: &PixelFormat) -> Self {
        let kind = if !format.true_colour {
            Kind::Index
        } else if is_bgrx(format) {
            Kind::Bgrx
        } else {
            Kind::Number(Number::new(format, 0))
        };
        Self {
            bytes: format.bytes_per_pixel(),
            kind,
        }
    }

    fn compact(format: &PixelFormat) -> Self {
        let large = format.true_colour && format.bits_per_pixel == 32 && format.depth <= 24;
        let bits = (format.max.iter().zip(format.shift))
            .fold(0, |bits, (&max, shift)| bits | u64::from(max) << shift);
        let kind = if !large {
            return Self::whole(format);
        } else if is_bgrx(format) {
            Kind::Bgr
        } else if bits <= 0x00ff_ffff {
            Kind::Number(Number::new(format, 0))
        } else if bits & 0xff == 0 && bits <= 0xffff_ffff {
            // The three bytes are the upper ones.
            Kind::Number(Number::new(format, 8))
        } else {
            return Self::whole(format);
        };
        Self { bytes: 3, kind }
    }

    fn tight(format: &PixelFormat) -> Self {
        let is_888 = format.true_colour
            && format.bits_per_pixel == 32
            && format.depth == 24
            && format.max == [255; 3];
        if is_888 {
            Self {
                bytes: 3,
                kind: Kind::Rgb,
            }
        } else {
            Self::whole(format)
        }
    }

    /// Bytes of a pixel on the wire.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reads as many pixels as `wire` and `pixels` both hold.
    pub(crate) fn read(&self, wire: &[u8], pixels: &mut [Pixel]) {
        match &self.kind {
            // The spare byte is the peer's to fill with anything, so it is cleared: equal
            // pictures must have equal bytes.
            Kind::Bgrx => {
                for (pixel, &[b, g, r, _]) in pixels.iter_mut().zip(wire.as_chunks().0) {
                    *pixel = [b, g, r, 0];
                }
            }
            Kind::Bgr => {
                for (pixel, &[b, g, r]) in pixels.iter_mut().zip(wire.as_chunks().0) {
                    *pixel = [b, g, r, 0];
                }
            }
            Kind::Rgb => {
                for (pixel, &[r, g, b]) in pixels.iter_mut().zip(wire.as_chunks().0) {
                    *pixel = [b, g, r, 0];
                }
            }
            Kind::Index => {
                for (pixel, &index) in pixels.iter_mut().zip(wire) {
                    *pixel = [index, 0, 0, 0];
                }
            }
            Kind::Number(number) => {
                for (pixel, wire) in pixels.iter_mut().zip(wire.chunks_exact(self.bytes)) {
                    *pixel = number.pixel(number.values(wire));
                }
            }
        }
    }

    /// Appends pixels as [`read`](Self::read) takes them; colours become the nearest there are.
    pub(crate) fn write(&self, pixels: &[Pixel], wire: &mut Vec<u8>) {
        match &self.kind {
            Kind::Bgrx => wire.extend(pixels.iter().flat_map(|&[b, g, r, _]| [b, g, r, 0])),
            Kind::Bgr => wire.extend(pixels.iter().flat_map(|&[b, g, r, _]| [b, g, r])),
            Kind::Rgb => wire.extend(pixels.iter().flat_map(|&[b, g, r, _]| [r, g, b])),
            Kind::Index => wire.extend(pixels.iter().map(|&[index, ..]| index)),
            Kind::Number(number) => {
                for &pixel in pixels {
                    number.write(pixel, self.bytes, wire);
                }
            }
        }
    }

    /// Reads the pixel at the start of `wire`, and gives back what follows it.
    #[inline]
    pub(crate) fn split<'a>(&self, wire: &'a [u8]) -> Option<(Pixel, &'a [u8])> {
        // Runs are read pixel by pixel, and nearly all are of this layout.
        if let Kind::Bgr = self.kind {
            let (&[b, g, r], rest) = wire.split_first_chunk()?;
            return Some(([b, g, r, 0], rest));
        }
        let (first, rest) = wire.split_at_checked(self.bytes)?;
        let mut pixel = [Pixel::default()];
        self.read(first, &mut pixel);
        let [pixel] = pixel;
        Some((pixel, rest))
    }

    /// The blue, green and red of the pixel that is `wire`, as the peer counts them.
    pub(crate) fn values(&self, wire: &[u8]) -> [u16; 3] {
        if let Kind::Number(number) = &self.kind {
            return number.values(wire);
        }
        let (pixel, _) = self.split(wire).unwrap_or_default();
        let [values @ .., _] = pixel.map(u16::from);
        values
    }

    /// The largest of each of [`values`](Self::values).
    pub(crate) fn maxima(&self) -> [u16; 3] {
        match &self.kind {
            Kind::Number(number) => number.channels.each_ref().map(|channel| channel.max),
            Kind::Bgrx | Kind::Bgr | Kind::Rgb | Kind::Index => [255; 3],
        }
    }

    /// The pixel of these [`values`](Self::values).
    pub(crate) fn pixel(&self, values: [u16; 3]) -> Pixel {
        if let Kind::Number(number) = &self.kind {
            return number.pixel(values);
        }
        let [b, g, r] = values.map(|value| value.to_le_bytes()[0]);
        [b, g, r, 0]
    }
}

fn is_bgrx(format: &PixelFormat) -> bool {
    let asked = PixelFormat::BGRX;
    let spare = PixelFormat {
        depth: asked.depth,
        ..*format
    };
    spare == asked
}

/// A pixel that is a number with colours at some of its bits.
struct Number {
    big_endian: bool,
    /// Blue, green, red.
    channels: [Channel; 3],
}

struct Channel {
    shift: u32,
    max: u16,
    /// For each value, what it is in 256 steps, rounded.
    // INVARIANT: of `max + 1` values.
    scaled: Box<[u8]>,
}

impl Number {
    /// Colours as in `format`, whose lowest `cut` bits are not sent.
    fn new(format: &PixelFormat, cut: u8) -> Self {
        let channel = |index: usize| {
            let max = format.max.get(index).copied().unwrap_or_default();
            let shift = format.shift.get(index).copied().unwrap_or_default();
            Channel {
                shift: shift.saturating_sub(cut).into(),
                max,
                scaled: (0..=max).map(|value| scale(value, max)).collect(),
            }
        };
        let [r, g, b] = [0, 1, 2].map(channel);
        Self {
            big_endian: format.big_endian,
            channels: [b, g, r],
        }
    }

    fn values(&self, wire: &[u8]) -> [u16; 3] {
        let append = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        let number = if self.big_endian {
            wire.iter().fold(0, append)
        } else {
            wire.iter().rev().fold(0, append)
        };
        (self.channels.each_ref()).map(|channel| {
            let value = number.checked_shr(channel.shift).unwrap_or_default();
            // Masked first, so nothing is lost.
            u16::try_from(value & u32::from(channel.max)).unwrap_or_default()
        })
    }

    fn write(&self, [b, g, r, _]: Pixel, bytes: usize, wire: &mut Vec<u8>) {
        let number = { self.channels.iter().zip([b, g, r]) }
            .fold(0, |number, (channel, colour)| {
                number | channel.counted(colour) << channel.shift
            });
        if self.big_endian {
            let number = number.to_be_bytes();
            wire.extend(number.iter().skip(number.len().saturating_sub(bytes)));
        } else {
            wire.extend(number.to_le_bytes().iter().take(bytes));
        }
    }

    fn pixel(&self, values: [u16; 3]) -> Pixel {
        let [blue, green, red] = &self.channels;
        let [b, g, r] = values;
        [blue.scaled(b), green.scaled(g), red.scaled(r), 0]
    }
}

impl Channel {
    /// The nearest value to a colour in 256 steps.
    fn counted(&self, colour: u8) -> u32 {
        (u32::from(colour) * u32::from(self.max) + 127) / 255
    }

    fn scaled(&self, value: u16) -> u8 {
        self.scaled
            .get(usize::from(value))
            .copied()
            .unwrap_or_default()
    }
}

fn scale(value: u16, max: u16) -> u8 {
    let max = u32::from(max).max(1);
    let scaled = (u32::from(value) * 255 + max / 2) / max;
    u8::try_from(scaled).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RGB_565: PixelFormat = PixelFormat {
        bits_per_pixel: 16,
        depth: 16,
        max: [31, 63, 31],
        shift: [11, 5, 0],
        ..PixelFormat::BGRX
    };

    /// What the three layouts of `format` make of the same orange, written in each.
    fn check(format: PixelFormat, whole: &[u8], compact: &[u8], tight: &[u8]) {
        let layouts = Layouts::new(format).unwrap();
        for (layout, wire) in [
            (&layouts.pixel, whole),
            (&layouts.compact, compact),
            (&layouts.tight, tight),
        ] {
            assert_eq!(layout.bytes(), wire.len(), "{format:?}");
            let expected = ([0, 132, 255, 0], [].as_slice());
            assert_eq!(layout.split(wire), Some(expected), "{format:?}");
            assert_eq!(
                layout.pixel(layout.values(wire)),
                [0, 132, 255, 0],
                "{format:?}"
            );
        }
    }

    #[test]
    fn each_layout_of_an_orange_is_read() {
        let rgb = [255, 132, 0];
        let base = PixelFormat::BGRX;
        let big_endian = |format| PixelFormat {
            big_endian: true,
            ..format
        };
        let shifted = |shift| PixelFormat { shift, ..base };
        check(base, &[0, 132, 255, 9], &[0, 132, 255], &rgb);
        check(big_endian(base), &[9, 255, 132, 0], &[255, 132, 0], &rgb);
        let rgbx = shifted([0, 8, 16]);
        check(rgbx, &[255, 132, 0, 9], &[255, 132, 0], &rgb);
        let upper = shifted([24, 16, 8]);
        check(upper, &[9, 0, 132, 255], &[0, 132, 255], &rgb);
        check(big_endian(upper), &[255, 132, 0, 9], &[255, 132, 0], &rgb);
        let straddling = shifted([24, 8, 0]);
        let whole = [0, 132, 9, 255];
        check(straddling, &whole, &whole, &rgb);

        // 31 of 31, 33 of 63, 0 of 31 round to nearly the same.
        let (little, big) = ([0b0010_0000, 0b1111_1100], [0b1111_1100, 0b0010_0000]);
        let near = |format, wire: &[u8]| {
            let layouts = Layouts::new(format).unwrap();
            for layout in [&layouts.pixel, &layouts.compact, &layouts.tight] {
                let expected = ([0, 134, 255, 0], [].as_slice());
                assert_eq!(layout.split(wire), Some(expected));
            }
        };
        near(RGB_565, &little);
        near(big_endian(RGB_565), &big);
    }

    #[test]
    fn every_depth_reaches_black_and_white() {
        for max in [1, 3, 7, 15, 31, 63, 255, 1023, 65535] {
            assert_eq!([scale(0, max), scale(max, max)], [0, 255], "{max}");
        }
        assert_eq!(scale(0, 0), 0);
    }

    #[test]
    fn indices_of_a_colour_map_are_bytes() {
        let indices = |bits_per_pixel| PixelFormat {
            bits_per_pixel,
            true_colour: false,
            ..PixelFormat::BGRX
        };
        let layouts = Layouts::new(indices(8)).unwrap();
        assert_eq!(
            layouts.compact.split(&[7]),
            Some(([7, 0, 0, 0], [].as_slice()))
        );
        let bits_per_pixel = 16;
        assert_eq!(
            Layouts::new(indices(bits_per_pixel)).err(),
            Some(Error::ColourMapBits { bits_per_pixel })
        );
    }
}
