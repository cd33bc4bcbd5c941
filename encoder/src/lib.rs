//! Frames to masked, time-exact H.264 samples.

mod canvas;
pub mod h264;
mod i420;
pub mod policy;
pub mod redact;
pub mod thumbs;

pub use canvas::{Canvas, PaintError};
pub use h264::{Codec, CodecError, CodedFrame, Encoder, OpenCodec};
pub use policy::{Policy, PolicyError};
pub use redact::{RedactedFrame, Redactor};
