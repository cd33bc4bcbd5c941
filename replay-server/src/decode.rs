//! From stored H.264 to a picture, without touching a file.

pub mod avc;
pub mod gop;
pub mod jpeg;
pub mod picture;
pub mod scale;

pub use gop::{Coding, DecodeError, decode_last};
pub use picture::{Picture, PictureFormat, View};
