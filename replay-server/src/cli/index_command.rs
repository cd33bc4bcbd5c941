//! `playhead index`: makes the catalogue again from the store, or compares the two.

use std::{io::IsTerminal, process::ExitCode};

use anyhow::Context;
use clap::{Args, Subcommand};
use index::{
    check::{Difference, Kind, compare},
    owner::{self, ClaimError},
    rebuild::{Progress, RebuildReport, rebuild},
    scan::Unreadable,
};
use serde_json::json;

use super::{FAILED, Failure, Outcome, open, open_later, say};
use crate::{clock, home::Places};

#[derive(Subcommand, Debug)]
pub(super) enum Index {
    /// Make the catalogue again from the store, beside the one in use until it is whole
    Rebuild(Rebuild),
    /// Compare the catalogue with the store: exits 0 when they agree, 1 when not, 2 when that
    /// cannot be told
    Check(Check),
}

#[derive(Args, Debug)]
pub(super) struct Rebuild {
    /// Take over a catalogue that belongs to other stores; what it says of those is lost
    #[arg(long)]
    adopt: bool,
}

#[derive(Args, Debug)]
pub(super) struct Check {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Index {
    pub(super) async fn run(self, places: &Places) -> Outcome {
        match self {
            Self::Rebuild(rebuild) => rebuild.run(places).await,
            Self::Check(check) => {
                let checked = check.run(places).await;
                // Whatever keeps it from being checked is no proof of a fault.
                checked.map_err(|failure| Failure::usage(failure.error))
            }
        }
    }
}

impl Rebuild {
    async fn run(self, places: &Places) -> Outcome {
        let archive = open_later(places)?;
        let (store, catalog) = (&*archive.store, &*archive.catalog);
        let owners = owner::owners(store, catalog, clock::fresh(), self.adopt).await;
        let owners = owners.map_err(|error| match error {
            ClaimError::Store(_) | ClaimError::Catalog(_) => error.into(),
            unfit => Failure::usage(unfit),
        })?;
        let shown = std::io::stderr().is_terminal();
        let report = rebuild(store, catalog, &owners, |progress| {
            if shown {
                show(progress);
            }
        });
        let report = report.await?;
        store.note_again().await;
        let RebuildReport {
            sessions,
            objects,
            rows,
            ref unreadable,
        } = report;
        say(format_args!(
            "{sessions} sessions, {objects} objects, {rows} rows"
        ));
        tell(unreadable);
        Ok(code(unreadable.is_empty()))
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
        rows,
    } = progress;
    eprint!(
        "\r{sessions_done} of {sessions} sessions, {logs_done} of {logs} logs, {rows} rows\x1b[K"
    );
    if sessions_done == sessions && logs_done == logs {
        eprintln!();
    }
}

impl Check {
    /// Makes a catalogue elsewhere and compares each table.
    async fn run(self, places: &Places) -> Outcome {
        let archive = open(places)?;
        match owner::check(&archive.store, &*archive.catalog).await {
            // A check binds nothing, and what is not bound yet may agree all the same.
            Ok(()) | Err(ClaimError::Unclaimed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = tempfile::tempdir().context("cannot make a folder to rebuild in")?;
        let url = format!("sqlite://{}", folder.path().join("catalog.db").display());
        let fresh = index::open_catalog(&url)?;
        let owners = archive.catalog.store_ids().await?;
        let report = rebuild(&*archive.store, &*fresh, &owners, |_| {}).await?;
        let differences = compare(&*fresh, &*archive.catalog).await?;
        let agrees = differences.is_empty() && report.unreadable.is_empty();
        if self.json {
            let unreadable = report.unreadable.iter();
            let unreadable: Vec<_> = unreadable
                .map(|object| json!({ "key": object.key, "problem": object.problem }))
                .collect();
            say(json!({
                "agrees": agrees, "sessions": report.sessions, "objects": report.objects,
                "rows": report.rows, "differences": differences, "unreadable": unreadable,
            }));
        } else {
            tell(&report.unreadable);
            differences.iter().for_each(describe);
            say(if differences.is_empty() {
                "the catalogue is what a rebuild would make"
            } else {
                "run `playhead index rebuild`"
            });
        }
        Ok(code(agrees))
    }
}

fn describe(difference: &Difference) {
    let Difference {
        table,
        kind,
        count,
        rows,
    } = difference;
    let wrong = match kind {
        Kind::Missing => "stored, but not in the catalogue",
        Kind::Extra => "in the catalogue, but not stored",
        Kind::Differs => "not as stored",
    };
    for row in rows {
        say(format_args!("{table} {row}: {wrong}"));
    }
    if *count > rows.len() {
        say(format_args!("{table}: {} more {wrong}", count - rows.len()));
    }
}

/// Names what could not be read.
fn tell(unreadable: &[Unreadable]) {
    for object in unreadable {
        say(format_args!("{}: {}", object.key, object.problem));
    }
}

fn code(good: bool) -> ExitCode {
    ExitCode::from(if good { 0 } else { FAILED })
}
