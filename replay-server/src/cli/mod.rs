//! `playhead` on the command line: reads what is asked, runs it, and says how it went.

mod events;
mod export;
mod frame;
mod index_command;
mod policy_command;
mod resolve;
mod serve;
mod sessions;
mod show;
mod verify;

use std::{io::Write, process::ExitCode, sync::Arc};

use anyhow::Context;
use capture::SessionId;
use clap::{Parser, Subcommand};
use index::{Catalog, CatalogError, Stores, Timeline, catalog::SessionSummary};

use crate::{archive::Archive, clock, home::Places};

/// Makes recorded desktop sessions findable, watchable and provable.
#[derive(Parser, Debug)]
#[command(name = "playhead", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    places: Places,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Serve sessions and the viewer
    Serve(serve::Serve),
    /// List sessions
    Sessions(sessions::Sessions),
    /// Show a session, or what a segment file says about itself
    Show(show::Show),
    /// Save the picture of a moment
    Frame(frame::Frame),
    /// Save a part of a session as a video
    Export(export::Export),
    /// Find the moment of a trace, an event or a time
    Resolve(resolve::Resolve),
    /// Take in rows from other systems
    #[command(subcommand)]
    Events(events::Events),
    /// Check that what is stored is what was recorded
    Verify(verify::Verify),
    /// Look after the catalogue
    #[command(subcommand)]
    Index(index_command::Index),
    /// Look at redaction policies
    #[command(subcommand)]
    Policy(policy_command::Policy),
}

/// Why a command did not do as asked, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    error: anyhow::Error,
}

/// Something was not found, not accepted, or not right.
const FAILED: u8 = 1;
/// The command or its configuration is wrong.
const USAGE: u8 = 2;

impl Failure {
    /// The command or its configuration is wrong.
    fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            code: USAGE,
            error: error.into(),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            code: FAILED,
            error: error.into(),
        }
    }
}

/// What a command exits with when nothing stopped it.
type Outcome = Result<ExitCode, Failure>;

/// Runs `cli` and gives the process's exit code.
#[must_use]
#[expect(
    clippy::print_stderr,
    reason = "a command tells its user what went wrong"
)]
pub fn run(cli: Cli) -> ExitCode {
    match try_run(cli) {
        Ok(code) => code,
        Err(Failure { code, error }) => {
            eprintln!("playhead: {error:#}");
            ExitCode::from(code)
        }
    }
}

fn try_run(cli: Cli) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    let Cli { places, command } = cli;
    runtime.block_on(async {
        match command {
            Command::Serve(serve) => serve.run(&places).await,
            Command::Sessions(sessions) => sessions.run(&open(&places)?).await,
            Command::Show(show) => show.run(&places).await,
            Command::Frame(frame) => frame.run(&open(&places)?).await,
            Command::Export(export) => export.run(&open(&places)?).await,
            Command::Resolve(resolve) => resolve.run(&open(&places)?).await,
            Command::Events(events) => events.run(&open(&places)?).await,
            Command::Verify(verify) => verify.run(&places).await,
            Command::Index(index) => index.run(&places).await,
            Command::Policy(policy) => policy.run(),
        }
    })
}

/// Opens the archive at `places`.
fn open(places: &Places) -> Result<Archive, Failure> {
    open_with(places, index::open_catalog)
}

/// Opens the archive at `places`, whatever state its catalogue is in.
fn open_later(places: &Places) -> Result<Archive, Failure> {
    open_with(places, index::open_catalog_later)
}

fn open_with(
    places: &Places,
    open_catalog: fn(&str) -> Result<Arc<dyn Catalog>, CatalogError>,
) -> Result<Archive, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let (first, others) = places.stores(variable).map_err(Failure::usage)?;
    let catalog = places.catalog(variable).map_err(Failure::usage)?;
    let first = store::open_store(&first).map_err(Failure::usage)?;
    let others = others.iter().map(|url| store::open_store(url));
    let others: Vec<_> = others.collect::<Result<_, _>>().map_err(Failure::usage)?;
    let catalog = open_catalog(&catalog).map_err(Failure::usage)?;
    let stores = Stores::new(first, others, catalog.clone());
    Ok(Archive::over(stores, catalog, clock::now))
}

/// Makes sure that the catalogue belongs to the stores before anything is written.
async fn claim(archive: &Archive) -> Result<(), Failure> {
    let claimed = index::owner::claim(&archive.store, &*archive.catalog, clock::fresh()).await;
    claimed.map(drop).map_err(Failure::usage)
}

/// What is known of a session, and the session on one clock.
async fn session(
    archive: &Archive,
    id: SessionId,
) -> Result<(SessionSummary, Arc<Timeline>), Failure> {
    let unknown = || format!("there is no session {id}; `playhead sessions` lists all");
    let summary = archive.session(id).await?.with_context(unknown)?;
    let timeline = archive.timeline(&summary).await?.with_context(unknown)?;
    Ok((summary, timeline))
}

/// Writes a line to standard output. A reader that has seen enough, such as `head`, may be gone.
fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
