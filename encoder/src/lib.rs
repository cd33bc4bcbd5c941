//! Frames to masked, time-exact H.264 samples.
//!
//! A [`Track`] is told what was received when. It converts damaged rectangles into its
//! [`Canvas`], has the [`Redactor`] paint the [policy](policy::Policy)'s masks, and hands the
//! [`RedactedFrame`] — the only form in which pixels go on — to a [`Codec`] and to the
//! [thumbnails](thumbs). What comes out are spool [records](segment::Record).

mod canvas;
pub mod h264;
mod i420;
pub mod redact;
pub mod thumbs;
pub mod track;

pub use canvas::{Canvas, PaintError};
pub use h264::{Codec, CodecError, CodedFrame, Encoder, OpenCodec};
pub use redact::{RedactedFrame, Redactor};
pub use track::{Output, Track, TrackConfig, TrackError};
