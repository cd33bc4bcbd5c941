//! The `playhead` command.

use std::process::ExitCode;

use clap::Parser;
use replay_server::cli;

fn main() -> ExitCode {
    cli::run(cli::Cli::parse())
}
