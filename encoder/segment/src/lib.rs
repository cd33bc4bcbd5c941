//! The recorded format: what a recorder spools, what an object in the store holds, and how each
//! is written and read. `FORMAT.md` beside this crate is its document.
//!
//! A recorder appends [records](record) to a spool file; at a cut the file is
//! [assembled](mod@assemble) into one object: a self-contained [MP4 segment](mp4), or an
//! [idle record](manifest::IdleRecord) when nothing was encoded. Both carry the same
//! [span](manifest::Span): where it lies in the session and what stands beside the picture.
//!
//! Pure: bytes in, values out.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod assemble;
pub mod end;
pub mod hash;
pub mod idle;
pub mod key;
pub mod manifest;
pub mod mend;
pub mod mp4;
pub mod packed;
pub mod record;

pub use assemble::{AssembleError, Assembled, Assembly, assemble};
pub use hash::Sha256;
pub use manifest::{IdleRecord, Manifest};
pub use record::Record;
