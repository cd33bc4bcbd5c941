//! Pointers (MS-RDPBCGR section 2.2.9.1.1.4): shapes, kept by number, hidden and the system's own.

use capture::{Point, Size, cursor::CursorShape};
use ironrdp_graphics::pointer::{DecodedPointer, PointerBitmapTarget, PointerError};
use ironrdp_pdu::pointer::PointerUpdateData;

use crate::{error::Error, limits, stream::Output};

/// Inverted pixels have no straight alpha; in this one IronRDP gives them as a chequer.
const STRAIGHT: PointerBitmapTarget = PointerBitmapTarget::Accelerated;

/// The pointers that a server has told the shapes of.
#[derive(Default)]
pub(super) struct Pointers {
    kept: [Option<CursorShape>; limits::POINTERS],
}

impl Pointers {
    /// Takes `update` in and tells of it. `colours` are those that indexed pixels name.
    pub(super) fn update(
        &mut self,
        update: &PointerUpdateData<'_>,
        colours: &[[u8; 3]; 256],
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let (number, width, height) = match update {
            PointerUpdateData::SetHidden => {
                output.pointer(None, hidden());
                return Ok(());
            }
            PointerUpdateData::SetDefault => {
                output.pointer(None, arrow());
                return Ok(());
            }
            PointerUpdateData::SetPosition(at) => {
                let at = Point {
                    x: i32::from(at.x),
                    y: i32::from(at.y),
                };
                output.pointer(Some(at), None);
                return Ok(());
            }
            PointerUpdateData::Cached(cached) => {
                let kept = self.place(cached.cache_index)?.clone();
                output.pointer(None, kept.or_else(arrow));
                return Ok(());
            }
            PointerUpdateData::Color(new) => (new.cache_index, new.width, new.height),
            PointerUpdateData::New(new) => {
                let new = &new.color_pointer;
                (new.cache_index, new.width, new.height)
            }
            PointerUpdateData::Large(new) => (new.cache_index, new.width, new.height),
        };
        let size = Size::new(u32::from(width), u32::from(height));
        if size.w.max(size.h) > CursorShape::MAX_SIDE_PX {
            return Err(Error::PointerTooLarge { size });
        }
        let decoded = decode(update, colours);
        // Servers are known to send shapes whose masks do not fit. Nothing of the picture is lost
        // by them, and what is certain is that there is a pointer.
        let shape = decoded.ok().and_then(shape).or_else(arrow);
        self.place(number)?.clone_from(&shape);
        output.pointer(None, shape);
        Ok(())
    }

    fn place(&mut self, index: u16) -> Result<&mut Option<CursorShape>, Error> {
        let place = self.kept.get_mut(usize::from(index));
        place.ok_or(Error::PointerIndex { index })
    }
}

fn decode(
    update: &PointerUpdateData<'_>,
    colours: &[[u8; 3]; 256],
) -> Result<DecodedPointer, PointerError> {
    match update {
        PointerUpdateData::Color(new) => {
            DecodedPointer::decode_color_pointer_attribute(new, STRAIGHT)
        }
        PointerUpdateData::New(new) => {
            DecodedPointer::decode_pointer_attribute_with_palette(new, STRAIGHT, Some(colours))
        }
        PointerUpdateData::Large(new) => {
            DecodedPointer::decode_large_pointer_attribute_with_palette(
                new,
                STRAIGHT,
                Some(colours),
            )
        }
        _ => Ok(DecodedPointer::new_invisible()),
    }
}

/// A decoded pointer's shape: its pixels come as RGBA.
fn shape(pointer: DecodedPointer) -> Option<CursorShape> {
    let mut pixels = pointer.bitmap_data;
    for [r, _, b, _] in pixels.as_chunks_mut::<4>().0 {
        std::mem::swap(r, b);
    }
    let size = Size::new(u32::from(pointer.width), u32::from(pointer.height));
    let hot_spot = Point {
        x: i32::from(pointer.hotspot_x),
        y: i32::from(pointer.hotspot_y),
    };
    CursorShape::new(size, hot_spot, pixels)
}

fn hidden() -> Option<CursorShape> {
    drawn(&[])
}

/// What stands for the pointer of the client's system, which a server can ask for.
pub(crate) fn arrow() -> Option<CursorShape> {
    drawn(&[
        "#           ",
        "##          ",
        "#.#         ",
        "#..#        ",
        "#...#       ",
        "#....#      ",
        "#.....#     ",
        "#......#    ",
        "#.......#   ",
        "#........#  ",
        "#.....##### ",
        "#..#..#     ",
        "#.# #..#    ",
        "##  #..#    ",
        "#    #..#   ",
        "     #..#   ",
        "      ##    ",
    ])
}

/// A shape of black (`#`), white (`.`) and clear pixels, whose hot spot is its first.
fn drawn(rows: &[&str]) -> Option<CursorShape> {
    let side = |len: usize| u32::try_from(len).unwrap_or(0);
    let size = Size::new(
        side(rows.first().map_or(0, |row| row.len())),
        side(rows.len()),
    );
    let pixels = rows
        .iter()
        .flat_map(|row| row.bytes())
        .flat_map(|mark| match mark {
            b'#' => [0, 0, 0, 255],
            b'.' => [255; 4],
            _ => [0; 4],
        });
    CursorShape::new(size, Point::default(), pixels.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arrow_points_with_its_first_pixel() {
        let arrow = arrow().unwrap();
        assert_eq!(arrow.size(), Size::new(12, 17));
        assert_eq!(arrow.bgra().first_chunk(), Some(&[0, 0, 0, 255]));
    }

    #[test]
    fn a_hidden_pointer_has_no_pixels() {
        assert_eq!(hidden().unwrap().size(), Size::new(0, 0));
    }

    #[test]
    fn a_shape_is_told_in_blue_green_and_red() {
        let pointer = DecodedPointer {
            width: 1,
            height: 1,
            hotspot_x: 0,
            hotspot_y: 0,
            bitmap_data: vec![1, 2, 3, 4],
        };
        assert_eq!(shape(pointer).unwrap().bgra(), [3, 2, 1, 4]);
    }
}
