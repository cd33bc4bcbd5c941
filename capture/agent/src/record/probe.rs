//! Does a machine keep two connections at once? A child finds out: this process never reads what a
//! machine says.

use anyhow::anyhow;

use super::child_process::ChildProcess;
use crate::{
    access::Access,
    exit::{Failure, Kind},
    source::Source,
    wire::{Driven, Report, Task},
};

/// Asks `source` for two connections, and tells how it has to be connected to.
pub(super) async fn probe(source: &Source, access: &Access) -> Result<Driven, Failure> {
    let internal = |error: anyhow::Error| Kind::Internal.because(error);
    let task = Task::Probe {
        source: source.clone(),
        access: access.clone(),
    };
    let mut child = ChildProcess::start(&task, None).await.map_err(internal)?;
    let report = child.report(&mut Vec::new()).await.map_err(internal)?;
    child.reap().await;
    match report {
        Some(Report::Probed { driven }) => Ok(driven),
        Some(Report::Refused { refusal, detail }) => {
            Err(Kind::from(refusal).because(anyhow!(detail)))
        }
        Some(Report::Failed { detail }) => Err(internal(anyhow!(detail))),
        _ => Err(internal(anyhow!(
            "the child that probes the source stopped"
        ))),
    }
}
