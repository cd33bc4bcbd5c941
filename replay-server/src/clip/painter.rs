//! How do pictures that cannot be copied get into a clip? They are laid on its canvas pixel by
//! pixel and coded anew, under a parameter set number that recorded fragments do not use.

use std::sync::Arc;

use capture::{MediaTime, Size};
use ffmpeg::{format::Pixel, frame::Video};
use ffmpeg_next as ffmpeg;
use segment::mp4::{Coded, ReadError, WriteError, clip_fragment};

use crate::decode::{
    DecodeError,
    avc::{AvcConfig, units},
    gop,
};

/// The quantiser: the second coding costs less than the first did, so that text stays as it was
/// (`tests/peer_clip.rs` states the bound).
const QUANTISER: &str = "16";
/// The nominal frame rate, which says nothing about when pictures are shown: only the file does.
const FRAME_RATE: i32 = 15;

/// Why a picture was not painted.
#[derive(Debug, thiserror::Error)]
pub enum PaintError {
    /// FFmpeg was built without x264.
    #[error("this FFmpeg has no libx264, which clips are coded with")]
    NoEncoder,
    /// The encoder refused.
    #[error("the encoder failed")]
    Codec(#[from] ffmpeg::Error),
    /// The encoder did not give one picture for one.
    #[error("the encoder gave {found} pictures for {given}")]
    Count {
        /// How many it was given.
        given: usize,
        /// How many came out.
        found: usize,
    },
    /// The encoder stated no parameters.
    #[error("the encoder gave no parameter sets")]
    NoParameters,
    /// The recorded bytes are not a fragment.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The recorded fragment does not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The fragment cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Codes pictures for one clip.
#[derive(Clone, Debug)]
pub(super) struct Painter {
    canvas: Size,
    number: u8,
    config: Arc<AvcConfig>,
}

impl Painter {
    /// One for a canvas of an even size, its parameter sets numbered `number`.
    pub(super) fn new(canvas: Size, number: u8) -> Result<Self, PaintError> {
        let mut easel = Easel::new(canvas, number)?;
        easel.show(&mut blank(canvas), 1)?;
        let stream = easel.stream()?;
        let set = |kind| {
            let mut sets = stream.iter().flat_map(|stream| units(stream));
            sets.find(|unit| kind_of(unit) == kind)
        };
        let config = set(SEQUENCE_SET).zip(set(PICTURE_SET));
        let config = config.and_then(|(sequence, picture)| AvcConfig::of(sequence, picture));
        Ok(Self {
            canvas,
            number,
            config: Arc::new(config.ok_or(PaintError::NoParameters)?),
        })
    }

    /// The parameters that its pictures are coded with.
    pub(super) fn config(&self) -> &AvcConfig {
        &self.config
    }

    /// The size of its canvas.
    pub(super) const fn canvas(&self) -> Size {
        self.canvas
    }

    /// An easel for one fragment.
    pub(super) fn easel(&self) -> Result<Easel, PaintError> {
        Easel::new(self.canvas, self.number)
    }
}

/// Pictures of one fragment on their way: the first becomes an IDR picture.
pub(super) struct Easel {
    canvas: Size,
    encoder: ffmpeg::encoder::video::Encoder,
    /// What smaller pictures are laid on.
    ground: Video,
    /// How long each picture so far is shown, and its byte stream once it came.
    durations_ms: Vec<u64>,
    coded: Vec<Vec<u8>>,
}

impl Easel {
    fn new(canvas: Size, number: u8) -> Result<Self, PaintError> {
        gop::hush();
        let codec = ffmpeg::encoder::find_by_name("libx264").ok_or(PaintError::NoEncoder)?;
        let context = ffmpeg::codec::Context::new_with_codec(codec);
        let mut encoder = context.encoder().video()?;
        encoder.set_width(canvas.w);
        encoder.set_height(canvas.h);
        encoder.set_format(Pixel::YUV420P);
        encoder.set_time_base((1, FRAME_RATE));
        let x264 = format!("sps-id={number}:scenecut=0:keyint=infinite");
        // The colours of the recorder's canvas: BT.709 in limited range, each shared by four pixels.
        let options = [
            ("preset", "veryfast"),
            ("tune", "zerolatency"),
            ("threads", "1"),
            ("qp", QUANTISER),
            ("colorspace", "bt709"),
            ("color_primaries", "bt709"),
            ("color_trc", "bt709"),
            ("color_range", "tv"),
            ("chroma_sample_location", "center"),
            ("x264-params", &x264),
        ];
        Ok(Self {
            canvas,
            encoder: encoder.open_as_with(codec, options.into_iter().collect())?,
            ground: blank(canvas),
            durations_ms: Vec::new(),
            coded: Vec::new(),
        })
    }

    /// Shows `picture` for that long: as it is, or in the middle of the canvas when it is smaller.
    pub(super) fn show(&mut self, picture: &mut Video, ms: u64) -> Result<(), PaintError> {
        let whole = Size::new(picture.width(), picture.height()) == self.canvas;
        if !whole {
            lay(picture, &mut self.ground);
        }
        let shown = if whole { picture } else { &mut self.ground };
        shown.set_kind(ffmpeg::picture::Type::None);
        shown.set_pts(i64::try_from(self.durations_ms.len()).ok());
        self.encoder.send_frame(shown)?;
        self.durations_ms.push(ms);
        self.take()
    }

    /// The fragment at `at` of what was shown.
    pub(super) fn fragment(mut self, at: MediaTime) -> Result<Vec<u8>, PaintError> {
        let durations_ms = std::mem::take(&mut self.durations_ms);
        let (given, stream) = (durations_ms.len(), self.stream()?);
        if stream.len() != given {
            let found = stream.len();
            return Err(PaintError::Count { given, found });
        }
        let samples = stream.iter().map(|stream| to_sample(stream));
        let pictures: Vec<Coded> = durations_ms.into_iter().zip(samples).collect();
        Ok(clip_fragment(at, &pictures)?)
    }

    /// The byte stream of each picture.
    fn stream(mut self) -> Result<Vec<Vec<u8>>, PaintError> {
        self.encoder.send_eof()?;
        self.take()?;
        Ok(self.coded)
    }

    fn take(&mut self) -> Result<(), PaintError> {
        let mut packet = ffmpeg::Packet::empty();
        loop {
            match self.encoder.receive_packet(&mut packet) {
                Ok(()) => self.coded.push(packet.data().unwrap_or_default().to_vec()),
                Err(gop::AGAIN | ffmpeg::Error::Eof) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Types of units (H.264, table 7-1).
const SLICE: u8 = 1;
const IDR_SLICE: u8 = 5;
const SEQUENCE_SET: u8 = 7;
const PICTURE_SET: u8 = 8;

fn kind_of(unit: &[u8]) -> u8 {
    unit.first().map_or(0, |header| header & 0b1_1111)
}

/// The slices of a byte stream as MP4 holds them: parameter sets stand in the file's head, and
/// what the encoder says about itself stays out.
fn to_sample(stream: &[u8]) -> Vec<u8> {
    let mut sample = Vec::with_capacity(stream.len());
    let slices = units(stream).filter(|unit| matches!(kind_of(unit), SLICE | IDR_SLICE));
    for unit in slices {
        let length = u32::try_from(unit.len()).unwrap_or(u32::MAX);
        sample.extend(length.to_be_bytes());
        sample.extend(unit);
    }
    sample
}

/// Luma of black, and chroma of no colour, in limited range.
const BLACK: [u8; 3] = [16, 128, 128];

/// A black picture.
pub(super) fn blank(size: Size) -> Video {
    let mut picture = Video::new(Pixel::YUV420P, size.w, size.h);
    for (plane, level) in BLACK.into_iter().enumerate() {
        picture.data_mut(plane).fill(level);
    }
    picture
}

/// Lays `picture` in the middle of the larger `ground`, on an even place, so that no colour sample
/// is shared. Where a ground is narrower than the picture, the picture is cut.
fn lay(picture: &Video, ground: &mut Video) {
    let middle = |whole: u32, part: u32| (whole.saturating_sub(part) / 2) as usize & !1;
    let left = middle(ground.width(), picture.width());
    let top = middle(ground.height(), picture.height());
    for plane in 0..3 {
        let halves = usize::from(plane > 0);
        let (left, top) = (left >> halves, top >> halves);
        let (width, height) = (picture.plane_width(plane), picture.plane_height(plane));
        let (from_stride, stride) = (picture.stride(plane), ground.stride(plane));
        let from = picture.data(plane).chunks(from_stride);
        let rows = ground.data_mut(plane).chunks_mut(stride).skip(top);
        for (row, from) in rows.zip(from.take(height as usize)) {
            let row = row.get_mut(left..).unwrap_or_default();
            let len = (width as usize).min(row.len()).min(from.len());
            row[..len].copy_from_slice(&from[..len]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_picture_lies_in_the_middle_on_black() {
        let mut picture = blank(Size::new(16, 20));
        for plane in 0..3 {
            picture.data_mut(plane).fill(200);
        }
        let mut ground = blank(Size::new(30, 32));
        lay(&picture, &mut ground);
        let level = |plane, x: usize, y: usize| ground.data(plane)[y * ground.stride(plane) + x];
        // 30 - 16 leaves 7 on the left, made even.
        assert_eq!([5, 6, 21, 22].map(|x| level(0, x, 10)), [16, 200, 200, 16]);
        assert_eq!([5, 6, 25, 26].map(|y| level(0, 10, y)), [16, 200, 200, 16]);
        assert_eq!([2, 3, 10, 11].map(|x| level(1, x, 5)), [128, 200, 200, 128]);
    }

    #[test]
    fn parameter_sets_have_the_number_that_was_asked_for() {
        for number in [0, 1, 31] {
            let painter = Painter::new(Size::new(64, 48), number).unwrap();
            let free = painter.config().free_number();
            assert_eq!(free, Some(u8::from(number == 0)), "{number}");
        }
    }
}
