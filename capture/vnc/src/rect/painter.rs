//! A rectangle of pixels in any encoding, painted as its bytes arrive.

use capture::{Framebuffer, Rect, Size, pixels::PixelFormat};

use super::{copy, hextile::Hextile, raw::Raw, tight, tight::Tight, zrle, zrle::Zrle};
use crate::{
    canvas::{Canvas, ColourMap},
    encoding,
    error::Error,
    input::Input,
    layout::{Layout, Layouts, Pixel},
};

/// A rectangle under way.
#[derive(Debug)]
pub(crate) struct Pixels {
    pub(crate) rect: Rect,
    encoded: Encoded,
}

#[derive(Debug)]
enum Encoded {
    Raw(Raw),
    Copy(Rect),
    Hextile(Hextile),
    Tight(Tight),
    Zrle(Zrle),
}

impl Pixels {
    /// Pixels of `rect`; `None` when `encoding` is none of pixels.
    pub(crate) fn new(rect: Rect, encoding: i32) -> Option<Self> {
        let encoded = match encoding {
            encoding::RAW => Encoded::Raw(Raw::new(rect)),
            encoding::COPY_RECT => Encoded::Copy(rect),
            encoding::HEXTILE => Encoded::Hextile(Hextile::new(rect)),
            encoding::TIGHT => Encoded::Tight(Tight::new(rect)),
            encoding::ZRLE => Encoded::Zrle(Zrle::new(rect)),
            _ => return None,
        };
        Some(Self { rect, encoded })
    }
}

/// What decoding needs to remember from one rectangle to the next.
pub(crate) struct Painter {
    layouts: Layouts,
    map: Option<ColourMap>,
    tight: tight::Decoder,
    zrle: zrle::Decoder,
}

impl Painter {
    /// For a screen of `size` whose pixels come as `format`.
    ///
    /// # Errors
    /// When pixels cannot come so.
    pub(crate) fn new(size: Size, format: PixelFormat) -> Result<Self, Error> {
        let layouts = Layouts::new(format)?;
        Ok(Self {
            map: layouts.indexed.then(|| ColourMap::new(size)),
            layouts,
            tight: tight::Decoder::new(),
            zrle: zrle::Decoder::new(),
        })
    }

    /// Paints what has arrived of `pixels` on a screen of `size`; true once it is whole.
    ///
    /// # Errors
    /// When it is not what its encoding says.
    pub(crate) fn paint(
        &mut self,
        pixels: &mut Pixels,
        size: Size,
        input: &mut Input<'_>,
        framebuffer: &mut Framebuffer,
    ) -> Result<bool, Error> {
        let canvas = &mut Canvas {
            framebuffer,
            map: self.map.as_mut(),
        };
        let layouts = &self.layouts;
        match &mut pixels.encoded {
            Encoded::Raw(raw) => Ok(raw.paint(&layouts.pixel, input, canvas)),
            Encoded::Copy(rect) => copy::paint(*rect, size, input, canvas),
            Encoded::Hextile(hextile) => hextile.paint(&layouts.pixel, input, canvas),
            Encoded::Tight(tight) => self.tight.paint(tight, &layouts.tight, input, canvas),
            Encoded::Zrle(zrle) => self.zrle.paint(zrle, &layouts.compact, input, canvas),
        }
    }

    /// The screen is black and of another size.
    pub(crate) fn resized(&mut self, size: Size) {
        if let Some(map) = &mut self.map {
            map.resize(size);
        }
    }

    /// The colour map, if pixels are its indices.
    pub(crate) const fn map_mut(&mut self) -> Option<&mut ColourMap> {
        self.map.as_mut()
    }

    /// How a single pixel is written.
    pub(crate) const fn layout(&self) -> &Layout {
        &self.layouts.pixel
    }

    /// The colour of a decoded pixel.
    pub(crate) fn colour(&self, pixel: Pixel) -> Pixel {
        let [index, ..] = pixel;
        self.map.as_ref().map_or(pixel, |map| map.colour(index))
    }
}
