//! `record`: the parent. It starts the child, watches it, delivers what it sealed and closes the
//! session; when the child dies it begins another run of the same session.

mod announce;
mod child_process;
mod courier;
mod recorder;
mod resume;

use std::path::Path;

use anyhow::Context as _;
use capture::SessionId;
use policy::Policy;

use self::{
    announce::Announcer,
    courier::Courier,
    recorder::{Progress, Recorder, StopSignals},
};
use crate::{
    cli, clock,
    delivery::Places,
    exit::{Failure, Kind},
    flush,
    spool::Folder,
    wire::Spec,
};

/// Records one machine until it is given up, the duration passes or a signal asks to stop.
pub(crate) async fn record(options: cli::Record) -> Result<(), Failure> {
    let policy = options.policy.as_deref().map(read_policy).transpose()?;
    let access = options.secret.read();
    let access = access.map_err(|error| Kind::Usage.because(error))?;
    let places = Places::open(&options.places).await?;
    let session = match options.session {
        Some(session) => session,
        None => new_session().map_err(|error| Kind::Internal.because(error))?,
    };
    let folder = Folder::of(&options.places.spool, session);
    let internal = |error: std::io::Error| Kind::Internal.because(error);
    let (claim, resume) = if options.session.is_some() {
        let resume = resume::resume(&places, &folder).await?;
        (folder.claim().map_err(internal)?, Some(resume))
    } else {
        let created = folder
            .create()
            .context("creating the spool folder; choose one with --spool");
        (created.map_err(|error| Kind::Store.because(error))?, None)
    };
    let recovery = flush::in_background(places.clone(), options.places.spool.clone());
    let spec = Spec {
        session,
        source: options.source,
        access,
        spool: std::path::absolute(folder.path()).map_err(internal)?,
        context: options.context.into(),
        policy,
        fps_max: options.fps_max,
        encoder: options.encoder,
        give_up: options.give_up_after,
        resume,
    };
    let announcer = Announcer::new(session, options.json);
    let recorder = Recorder {
        courier: Courier::new(places, folder.clone(), announcer),
        spec,
        folder,
        claim,
        duration: options.duration,
        ready_file: options.ready_file,
        stop: StopSignals::listen().map_err(internal)?,
        progress: Progress::default(),
    };
    let done = recorder.run().await;
    recovery.abort();
    done
}

fn read_policy(path: &Path) -> Result<String, Failure> {
    let refuse = |error: anyhow::Error| {
        let what = format!("policy {} refused, so nothing is recorded", path.display());
        Kind::Policy.because(error.context(what))
    };
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.into()))?;
    Policy::parse(&text).map_err(|error| refuse(error.into()))?;
    Ok(text)
}

fn new_session() -> std::io::Result<SessionId> {
    let unix_ms = u64::try_from(clock::wall().unix_ms()).unwrap_or(0);
    Ok(SessionId::new(unix_ms, clock::random()?))
}
