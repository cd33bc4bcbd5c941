//! `playhead`: answers what was recorded. It lists sessions, serves their media, decodes the
//! picture of a moment, takes in event rows, and checks what is stored.

pub mod archive;
pub mod cache;
pub mod cli;
pub mod clip;
pub mod clock;
pub mod decode;
pub mod hls;
pub mod home;
pub mod http;
pub mod media;
pub mod metrics;
pub mod readiness;
pub mod recorded;
pub mod shot;
pub mod watch;
