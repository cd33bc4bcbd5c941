//! `record`: the parent. It starts the child, watches it, delivers what it sealed and closes the
//! session; when the child dies it begins another run of the same session.

mod announce;
mod carrier;
mod child_process;
mod courier;
pub(crate) mod driver;
mod lines;
pub(crate) mod marks;
mod probe;
mod recorder;
mod resume;
mod setup;
pub(crate) mod unrecorded;

pub(crate) use self::{
    child_process::Drivers,
    recorder::{Outcome, Recorder, StopSignals},
    setup::Setup,
};
use crate::{
    cli,
    exit::{Failure, Kind},
    flush,
};

/// Records one machine until it is given up, the duration passes or a signal asks to stop.
pub(crate) async fn record(options: cli::Record) -> Result<(), Failure> {
    let setup = Setup::new(options).await?;
    let stop = StopSignals::listen().map_err(|error| Kind::Internal.because(error))?;
    let recorder = match setup.options.session {
        Some(session) => setup.resume(stop, session).await?,
        None => setup.begin(stop, None)?,
    };
    let recovery = flush::in_background(setup.places.clone(), setup.options.places.spool.clone());
    let done = recorder.run().await;
    recovery.abort();
    done.map(|_| ())
}
