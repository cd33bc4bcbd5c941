//! The command line of `playhead-agent`. Every option can also be set by its `PLAYHEAD_*` variable.

mod context;
mod doctor;
mod places;
mod proxy;
mod record;
mod secret;

use clap::{Parser, Subcommand};
use telemetry::log::LogFormat;

pub(crate) use self::{
    context::Context,
    doctor::Doctor,
    places::Places,
    proxy::{Proxy, Upstream},
    record::{Listen, Record},
    secret::Secret,
};

/// Records desktop sessions and commits what was recorded.
#[derive(Debug, Parser)]
#[command(name = "playhead-agent", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// How the log is written to standard error; PLAYHEAD_LOG=info says more
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "PLAYHEAD_LOG_FORMAT"
    )]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a machine until it is given up, --duration passes, or SIGINT or SIGTERM arrives
    Record(Box<Record>),
    /// Stand between a machine and its drivers, and record what they see and do: one session for
    /// each connection
    Proxy(Box<Proxy>),
    /// Send what earlier, dead recorders left in the spool
    Flush(Places),
    /// Check encoder, store, catalogue, clock and, if given, a source, and say what to fix
    Doctor(Box<Doctor>),
    /// One recorded machine; started by `record`, never by hand
    #[command(hide = true)]
    Child,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    /// A file with that text; it lasts as long as what is given back.
    pub(super) fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }
}
