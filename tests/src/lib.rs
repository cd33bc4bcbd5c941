//! What the end-to-end tests are made of: a painter whose every frame says when it was painted,
//! and handles on real servers, the agent and `playhead`.
//!
//! Nothing here knows how a recording is made; it knows only the commands, files and URLs that a
//! user has.

pub mod bar;
pub mod bucket;
pub mod certificate;
pub mod clipboard;
pub mod clock;
pub mod code;
pub mod cost;
pub mod desktop;
pub mod driver;
pub mod hostile_rdp;
pub mod hostile_server;
pub mod http;
pub mod mac;
pub mod marks;
pub mod numbers;
pub mod paint_log;
pub mod picture;
pub mod playhead;
pub mod process;
pub mod pulse;
pub mod rdp_client;
pub mod rdp_server;
pub mod rfb;
pub mod scene;
pub mod schedule;
pub mod secrets;
pub mod truth;
pub mod volume;
