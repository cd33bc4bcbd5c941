//! How is the log written?

use std::sync::OnceLock;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// How the log is written to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// How this process's log is written.
static STARTED: OnceLock<LogFormat> = OnceLock::new();

impl LogFormat {
    /// Writes this process's log from now on: what `PLAYHEAD_LOG` asks for, else `usual`, a level
    /// such as `warn`.
    pub fn start(self, usual: &str) {
        let _ = STARTED.set(self); // the subscriber below refuses a second start
        let filter = EnvFilter::try_from_env("PLAYHEAD_LOG");
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(usual)))
            .with_writer(std::io::stderr);
        match self {
            Self::Text => log.init(),
            Self::Json => log.json().flatten_event(true).init(),
        }
    }

    /// How this process's log is written, for those that it starts.
    #[must_use]
    pub fn started() -> Self {
        STARTED.get().copied().unwrap_or_default()
    }

    /// As the command line names it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}
