//! Spool records: what a recorder appends, one after another, to `{seq:08}.wal`.

use capture::{Anchor, GapReason, MediaTime, Rect, SessionId, Size, event::Event};
use serde::{Deserialize, Serialize};

mod codec;
mod reader;

pub(crate) use codec::Entry;
pub use codec::{EncodeError, MAX_BODY_BYTES, SampleRef};
pub use reader::{Damage, Fault, Reader};

/// One record of a spool file.
///
/// On disk: `len u32, crc32c u32, kind u8, body`, big-endian; `len` counts the body, the checksum
/// covers kind and body. A file begins with [`Record::Open`] and, if its recorder lived, ends with
/// [`Record::Close`]. What follows a torn or damaged record is dropped.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The file's first record.
    Open(Open),
    /// The parameters of the samples that follow; comes before the first sample, once.
    Init(InitRecord),
    /// One coded picture.
    Sample(Sample),
    /// Something that happened beside the picture.
    Event(Event),
    /// A reading of both clocks.
    Anchor(Anchor),
    /// A mask is in force from here on.
    Mask(MaskRecord),
    /// The mask of this rule and rectangle is no longer in force.
    Unmask(MaskRecord),
    /// There is no picture from here on.
    Gap(GapRecord),
    /// The picture is known to have stood until here.
    Tick(MediaTime),
    /// An earlier fragment's picture stands from here on.
    Repeat(RepeatRecord),
    /// The sprite sheet beside this file is complete and belongs to the object.
    Thumbs(ThumbsRecord),
    /// The object is complete.
    Close(Close),
}

/// The head of a spool file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The format's version: [`crate::manifest::FORMAT`].
    pub format: u32,
    /// The session.
    pub session: SessionId,
    /// The object's number.
    pub seq: u64,
    /// Which run of the recorder writes it.
    pub run: u32,
    /// Where the object begins: where the one before it ended.
    pub from: MediaTime,
}

/// What a decoder must know before the first sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitRecord {
    /// The coded size: even.
    pub coded: Size,
    /// The true screen within it, when its size is odd.
    pub crop: Option<Rect>,
    /// The `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15), as the encoder gave it.
    pub avcc: Vec<u8>,
}

/// One access unit in AVC format (4-byte lengths).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When its pixels were received.
    pub t: MediaTime,
    /// Whether it is an IDR picture: the start of a fragment.
    pub key: bool,
    /// The share of the screen that changed, in thousandths; 0 for a heartbeat. At least 1 for
    /// any change.
    pub changed_permille: u16,
    /// The access unit.
    pub bytes: Vec<u8>,
}

/// A mask as it comes or goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskRecord {
    /// From or until when.
    pub t: MediaTime,
    /// Where it was painted, in true screen pixels.
    pub rect: Rect,
    /// The name of the rule.
    pub rule: String,
    /// Why it applies: `fixed`, `mark` or `text`.
    pub kind: String,
}

/// The start of a gap; it lasts until the next sample, gap, repeat or the object's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapRecord {
    /// The last proven picture.
    pub from: MediaTime,
    /// Why there is none.
    pub reason: GapReason,
}

/// The start of a repetition; it lasts until the next sample, gap, repeat or the object's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatRecord {
    /// From when.
    pub from: MediaTime,
    /// The segment that holds the idle GOP.
    pub seq: u64,
    /// Which of its fragments it is.
    pub fragment: u32,
}

/// The sprite sheet written to `{seq:08}.jpg` beside the spool file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThumbsRecord {
    /// A picture's size in pixels.
    pub tile: Size,
    /// How many stand side by side.
    pub columns: u32,
    /// When each was taken, in reading order.
    pub times: Vec<MediaTime>,
}

/// The end of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Close {
    /// The first instant after it.
    pub to: MediaTime,
    /// Whether the session ends here.
    pub last: bool,
}
