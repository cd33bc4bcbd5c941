//! The recorded format end to end: records in, a stored object out, and everything read back.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod ffmpeg;
mod golden;
mod hostile;
mod place;
mod recording;
mod round_trip;
