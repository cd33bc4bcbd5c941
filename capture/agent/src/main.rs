//! `playhead-agent`: connects to a machine, records it, and commits what was recorded.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool speaks there"
)]

mod access;
mod child;
mod cli;
mod clock;
mod delivery;
mod doctor;
mod duration;
mod entrance;
mod exit;
mod flush;
mod home;
mod input;
mod keymap;
mod metrics;
mod proxy;
mod record;
mod source;
mod spool;
mod wire;

use std::process::ExitCode;

use clap::Parser as _;

use crate::exit::{Failure, Kind};

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    cli.log_format.start("warn");
    let done = match cli.command {
        cli::Command::Child => child::run().map_err(|error| Kind::Internal.because(error)),
        cli::Command::Record(options) => in_runtime(record::record(*options)),
        cli::Command::Proxy(options) => in_runtime(proxy::proxy(*options)),
        cli::Command::Flush(places) => in_runtime(flush::flush(places)),
        cli::Command::Doctor(options) => in_runtime(doctor::doctor(*options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn in_runtime(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime
        .map_err(|error| Kind::Internal.because(error))?
        .block_on(work)
}
