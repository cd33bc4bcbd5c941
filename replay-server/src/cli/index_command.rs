//! `playhead index`: makes the catalogue again from the store, or compares the two.

use std::{io::IsTerminal, process::ExitCode};

use anyhow::Context;
use clap::Subcommand;
use index::rebuild::{Progress, RebuildReport, rebuild};

use super::{FAILED, Outcome, claim, say};
use crate::archive::Archive;

#[derive(Subcommand, Debug)]
pub(super) enum Index {
    /// Empty the catalogue and fill it from the store
    Rebuild,
    /// Compare the catalogue with what a rebuild would make
    Check,
}

impl Index {
    pub(super) async fn run(self, archive: &Archive) -> Outcome {
        match self {
            Self::Rebuild => {
                claim(archive).await?;
                let shown = std::io::stderr().is_terminal();
                let (store, catalog) = (&*archive.store, &*archive.catalog);
                let report = rebuild(store, catalog, |progress| {
                    if shown {
                        show(progress);
                    }
                });
                let report = report.await?;
                say(format_args!(
                    "{} sessions, {} objects, {} rows",
                    report.sessions, report.objects, report.rows
                ));
                Ok(unreadable(&report))
            }
            Self::Check => check(archive).await,
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a progress line is not the command's output"
)]
fn show(progress: Progress) {
    let Progress {
        sessions,
        sessions_done,
        logs,
        logs_done,
    } = progress;
    eprint!("\r{sessions_done} of {sessions} sessions, {logs_done} of {logs} logs");
    if sessions_done == sessions && logs_done == logs {
        eprintln!();
    }
}

/// Names what could not be read.
fn unreadable(report: &RebuildReport) -> ExitCode {
    for object in &report.unreadable {
        say(format_args!("{}: {}", object.key, object.problem));
    }
    if report.unreadable.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    }
}

/// Rebuilds beside the catalogue and compares each table.
async fn check(archive: &Archive) -> Outcome {
    let folder = tempfile::tempdir().context("cannot make a folder to rebuild in")?;
    let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
    let fresh = index::open_catalog(&url)?;
    let report = rebuild(&*archive.store, &*fresh, |_| {}).await?;
    let (made, kept) = (fresh.dump().await?, archive.catalog.dump().await?);
    let mut same = true;
    for (table, made) in &made {
        let kept = kept.get(table).map_or(&[][..], Vec::as_slice);
        let missing = made.iter().filter(|line| kept.binary_search(line).is_err());
        let extra = kept.iter().filter(|line| made.binary_search(line).is_err());
        let (missing, extra) = (missing.count(), extra.count());
        if missing + extra > 0 {
            same = false;
            say(format_args!(
                "{table}: {missing} rows are missing, {extra} have nothing in the store"
            ));
        }
    }
    let readable = unreadable(&report);
    if same {
        say("the catalogue is what a rebuild would make");
        Ok(readable)
    } else {
        say("run `playhead index rebuild`");
        Ok(ExitCode::from(FAILED))
    }
}
