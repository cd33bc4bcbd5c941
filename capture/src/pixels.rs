//! How a peer lays a pixel out on the wire, and how that becomes BGRX (RFC 6143 section 7.4).

/// A pixel's layout: RFC 6143's `PIXEL_FORMAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelFormat {
    /// 8, 16 or 32 bits a pixel on the wire.
    pub bits_per_pixel: u8,
    /// How many of them carry colour.
    pub depth: u8,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
    /// Whether a pixel holds colour itself; otherwise it indexes a colour map.
    pub true_colour: bool,
    /// The largest red, green and blue value.
    pub max: [u16; 3],
    /// How far red, green and blue are shifted left.
    pub shift: [u8; 3],
}

impl PixelFormat {
    /// The recorder's own layout, asked of every peer: 32 bits, little-endian, blue first.
    pub const BGRX: Self = Self::of_true_colour(32, 24, [255; 3], [16, 8, 0]);

    /// Pixels that hold red, green and blue up to `max`, shifted left by `shift`, little-endian.
    #[must_use]
    pub const fn of_true_colour(
        bits_per_pixel: u8,
        depth: u8,
        max: [u16; 3],
        shift: [u8; 3],
    ) -> Self {
        Self {
            bits_per_pixel,
            depth,
            big_endian: false,
            true_colour: true,
            max,
            shift,
        }
    }

    /// The same with the most significant byte first.
    #[must_use]
    pub const fn in_big_endian(self) -> Self {
        Self {
            big_endian: true,
            ..self
        }
    }

    /// Reads the 16 bytes of a `PIXEL_FORMAT`.
    ///
    /// # Errors
    /// When the bits a pixel are not 8, 16 or 32, or a shift leaves the pixel.
    pub fn parse(bytes: &[u8; 16]) -> Result<Self, PixelFormatError> {
        let [
            bits_per_pixel,
            depth,
            big_endian,
            true_colour,
            r0,
            r1,
            g0,
            g1,
            b0,
            b1,
            rs,
            gs,
            bs,
            ..,
        ] = *bytes;
        let format = Self {
            bits_per_pixel,
            depth,
            big_endian: big_endian != 0,
            true_colour: true_colour != 0,
            max: [[r0, r1], [g0, g1], [b0, b1]].map(u16::from_be_bytes),
            shift: [rs, gs, bs],
        };
        let fits = format.shift.iter().all(|&shift| shift < bits_per_pixel);
        if matches!(bits_per_pixel, 8 | 16 | 32) && (fits || !format.true_colour) {
            Ok(format)
        } else {
            Err(PixelFormatError {
                bits_per_pixel,
                shift: format.shift,
            })
        }
    }

    /// The 16 bytes of a `PIXEL_FORMAT`.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let [[r0, r1], [g0, g1], [b0, b1]] = self.max.map(u16::to_be_bytes);
        let [rs, gs, bs] = self.shift;
        let (big_endian, true_colour) = (u8::from(self.big_endian), u8::from(self.true_colour));
        [
            self.bits_per_pixel,
            self.depth,
            big_endian,
            true_colour,
            r0,
            r1,
            g0,
            g1,
            b0,
            b1,
            rs,
            gs,
            bs,
            0,
            0,
            0,
        ]
    }

    /// Bytes of a pixel on the wire.
    #[must_use]
    pub const fn bytes_per_pixel(self) -> usize {
        self.bits_per_pixel as usize / 8
    }
}

/// A pixel layout that no conforming peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pixel format has {bits_per_pixel} bits and colour shifts {shift:?}")]
pub struct PixelFormatError {
    bits_per_pixel: u8,
    shift: [u8; 3],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixel_format_round_trips() {
        assert_eq!(
            PixelFormat::parse(&PixelFormat::BGRX.to_bytes()),
            Ok(PixelFormat::BGRX)
        );
    }

    #[test]
    fn a_shift_out_of_the_pixel_is_refused() {
        let bad = PixelFormat {
            shift: [32, 8, 0],
            ..PixelFormat::BGRX
        };
        assert!(PixelFormat::parse(&bad.to_bytes()).is_err());
    }
}
