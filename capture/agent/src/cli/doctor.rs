//! The options of `doctor`.

use clap::Args;

use super::{Places, Secret, secret::SourceParser};
use crate::source::Source;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// A source to try, such as vnc://127.0.0.1:5901
    #[arg(value_parser = SourceParser, env = "PLAYHEAD_SOURCE", hide_env_values = true)]
    pub(crate) url: Option<Source>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) secret: Secret,
}
