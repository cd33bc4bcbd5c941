//! Tight rectangles (rfbproto, "Tight Encoding"): one colour, a JPEG picture, or filtered pixels in
//! one of four zlib streams that last until the server starts one anew.

mod filter;
mod jpeg;

use capture::Rect;

use self::filter::Filter;
use super::inflate::{Inflate, check_len};
use crate::{
    canvas::Canvas,
    error::Error,
    input::Input,
    layout::{Layout, Pixel},
    limits,
};

const STREAMS: usize = 4;

/// Filtered pixels shorter than this are sent as they are.
const MIN_COMPRESSED_BYTES: usize = 12;

/// The decoder of one connection.
pub(crate) struct Decoder {
    streams: [Inflate; STREAMS],
    /// The row being decoded.
    row: Vec<Pixel>,
}

/// A Tight rectangle being painted.
#[derive(Debug)]
pub(crate) struct Tight {
    rect: Rect,
    part: Part,
}

/// What of a rectangle comes next.
#[derive(Debug)]
enum Part {
    /// Which streams start anew, and how the pixels are written.
    Control,
    /// One colour.
    Fill,
    /// A JPEG picture behind its length.
    Jpeg,
    /// Which filter.
    FilterId { stream: usize },
    /// The colours of a palette behind their number.
    Palette { stream: usize },
    /// Filtered pixels as they are.
    Plain(Filter),
    /// Filtered pixels behind their compressed length.
    Length { stream: usize, filter: Filter },
    /// Filtered pixels in so many compressed bytes.
    Compressed {
        stream: usize,
        filter: Filter,
        left: usize,
    },
    /// Nothing.
    Done,
}

impl Tight {
    pub(crate) const fn new(rect: Rect) -> Self {
        let part = Part::Control;
        Self { rect, part }
    }

    fn start(&mut self, stream: usize, filter: Filter, layout: &Layout) {
        let bytes = filter
            .row_bytes(layout)
            .saturating_mul(self.rect.h as usize);
        self.part = if bytes < MIN_COMPRESSED_BYTES {
            Part::Plain(filter)
        } else {
            Part::Length { stream, filter }
        };
    }
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            streams: std::array::from_fn(|_| Inflate::new()),
            row: Vec::new(),
        }
    }

    /// Paints what has arrived of `tight`; true once it is whole.
    ///
    /// # Errors
    /// When the data is longer than so many pixels need, corrupt, or not exactly the rectangle's
    /// pixels.
    pub(crate) fn paint(
        &mut self,
        tight: &mut Tight,
        layout: &Layout,
        input: &mut Input<'_>,
        canvas: &mut Canvas<'_>,
    ) -> Result<bool, Error> {
        while !matches!(tight.part, Part::Done) {
            if !self.step(tight, layout, input, canvas)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the next part; false when more bytes must arrive first.
    fn step(
        &mut self,
        tight: &mut Tight,
        layout: &Layout,
        input: &mut Input<'_>,
        canvas: &mut Canvas<'_>,
    ) -> Result<bool, Error> {
        let rect = tight.rect;
        match &mut tight.part {
            Part::Control => {
                let Some([control]) = input.take_array() else {
                    return Ok(false);
                };
                self.control(tight, control, layout)?;
            }
            Part::Fill => {
                let Some(wire) = input.peek(layout.bytes()) else {
                    return Ok(false);
                };
                let (pixel, _) = layout.split(wire).unwrap_or_default();
                input.consume(layout.bytes());
                canvas.fill(rect, pixel);
                tight.part = Part::Done;
            }
            Part::Jpeg => {
                if !self.jpeg(rect, input, canvas)? {
                    return Ok(false);
                }
                tight.part = Part::Done;
            }
            Part::FilterId { stream } => {
                let stream = *stream;
                match input.take_array() {
                    None => return Ok(false),
                    Some([0]) => tight.start(stream, Filter::copy(rect), layout),
                    Some([1]) => tight.part = Part::Palette { stream },
                    Some([2]) => tight.start(stream, Filter::gradient(rect), layout),
                    Some([filter]) => return Err(Error::TightFilter { filter }),
                }
            }
            Part::Palette { stream } => {
                let stream = *stream;
                let Some([last]) = input.peek_array() else {
                    return Ok(false);
                };
                let mut colours = vec![Pixel::default(); usize::from(last).saturating_add(1)];
                let bytes = 1 + colours.len() * layout.bytes();
                let Some(wire) = input.peek(bytes) else {
                    return Ok(false);
                };
                layout.read(wire.get(1..).unwrap_or_default(), &mut colours);
                input.consume(bytes);
                tight.start(stream, Filter::palette(rect, colours), layout);
            }
            Part::Plain(filter) => {
                let bytes = filter.row_bytes(layout).saturating_mul(rect.h as usize);
                let Some(wire) = input.peek(bytes) else {
                    return Ok(false);
                };
                filter.paint(layout, wire, &mut self.row, canvas)?;
                input.consume(bytes);
                tight.part = Part::Done;
            }
            Part::Length { stream, filter } => {
                let Some((len_bytes, taken)) = compact_length(input) else {
                    return Ok(false);
                };
                input.consume(taken);
                tight.part = Part::Compressed {
                    stream: *stream,
                    filter: std::mem::take(filter),
                    left: check_len(rect, len_bytes)?,
                };
            }
            Part::Compressed {
                stream,
                filter,
                left,
            } => {
                let Some(inflate) = self.streams.get_mut(*stream) else {
                    return Ok(false);
                };
                let row = &mut self.row;
                let done = inflate.run(left, input, |inflated| {
                    filter.paint(layout, inflated, row, canvas)
                })?;
                if !done {
                    return Ok(false);
                }
                if !filter.is_done() {
                    return Err(Error::PixelsMissing);
                }
                tight.part = Part::Done;
            }
            Part::Done => {}
        }
        Ok(true)
    }

    fn control(&mut self, tight: &mut Tight, control: u8, layout: &Layout) -> Result<(), Error> {
        for (bit, stream) in self.streams.iter_mut().enumerate() {
            if control >> bit & 1 != 0 {
                *stream = Inflate::new();
            }
        }
        let kind = control >> 4;
        let stream = usize::from(kind & 3);
        match kind {
            0b1000 => tight.part = Part::Fill,
            0b1001 => tight.part = Part::Jpeg,
            0b0100..=0b0111 => tight.part = Part::FilterId { stream },
            0b0000..=0b0011 => tight.start(stream, Filter::copy(tight.rect), layout),
            _ => return Err(Error::TightKind { kind }),
        }
        Ok(())
    }

    fn jpeg(
        &mut self,
        rect: Rect,
        input: &mut Input<'_>,
        canvas: &mut Canvas<'_>,
    ) -> Result<bool, Error> {
        jpeg::check_place(rect, canvas)?;
        let Some((len_bytes, head)) = compact_length(input) else {
            return Ok(false);
        };
        let limit_bytes = u64::from(limits::JPEG_BYTES);
        if u64::from(len_bytes) > limit_bytes {
            return Err(Error::CompressedTooLong {
                len_bytes,
                limit_bytes,
            });
        }
        let whole = head.saturating_add(len_bytes as usize);
        let Some(wire) = input.peek(whole) else {
            return Ok(false);
        };
        let picture = wire.get(head..).unwrap_or_default();
        jpeg::paint(rect, picture, &mut self.row, canvas)?;
        input.consume(whole);
        Ok(true)
    }
}

/// Looks at a length of 7, 7 and 8 bits, low ones first; gives back how many bytes it takes too.
fn compact_length(input: &mut Input<'_>) -> Option<(u32, usize)> {
    let more = |byte: u8| byte & 0x80 != 0;
    let low = |byte: u8| u32::from(byte & 0x7f);
    let [first] = input.peek_array()?;
    if !more(first) {
        return Some((low(first), 1));
    }
    let [_, second] = input.peek_array()?;
    if !more(second) {
        return Some((low(first) | low(second) << 7, 2));
    }
    let [_, _, third] = input.peek_array()?;
    Some((low(first) | low(second) << 7 | u32::from(third) << 14, 3))
}
