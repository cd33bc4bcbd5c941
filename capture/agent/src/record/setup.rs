//! What the sessions of one command have in common, and how each of them begins.

use std::{io::Write as _, path::Path};

use anyhow::{Context as _, anyhow};
use capture::SessionId;
use policy::Policy;
use serde_json::{Value, json};

use super::{
    announce::Announcer,
    child_process::Drivers,
    courier::Courier,
    driver, marks, probe,
    recorder::{Progress, Recorder, StopSignals},
    resume,
    unrecorded::Alarm,
};
use crate::{
    access::Access,
    cli, clock,
    delivery::{Places, Position},
    exit::{Failure, Kind},
    metrics::{Meter, endpoint},
    spool::{Claim, Disk, Folder, Room},
    wire::{Driven, Resume, Spec},
};

/// What sessions are recorded with.
pub(crate) struct Setup {
    /// What the command line says.
    pub(crate) options: cli::Record,
    /// Where recordings go.
    pub(crate) places: Places,
    /// How the source is opened.
    access: Access,
    /// The redaction policy's text.
    policy: Option<String>,
    marks: marks::Hub,
    driver: driver::Hub,
}

impl Setup {
    /// Reads what the options name, opens store and catalogue, and listens for marks.
    pub(crate) async fn new(options: cli::Record) -> Result<Self, Failure> {
        let text = options.policy.as_deref().map(read_policy).transpose()?;
        let (policy, text) = text.unzip();
        let access = options.secret.read();
        let access = access.map_err(|error| Kind::Usage.because(error))?;
        let places = Places::open(&options.places).await?;
        let marks = marks::Hub::new(&policy.unwrap_or_default());
        let driver = driver::Hub::new(marks.clone());
        listen_for_marks(&options, &marks).map_err(|error| Kind::Usage.because(error))?;
        listen_for_drivers(&options, &driver).map_err(|error| Kind::Usage.because(error))?;
        tell_numbers(&options, &places).map_err(|error| Kind::Usage.because(error))?;
        Ok(Self {
            options,
            places,
            access,
            policy: text,
            marks,
            driver,
        })
    }

    /// Finds out how the source, if it is to be driven, has to be connected to.
    pub(crate) async fn probe(&self) -> Result<Driven, Failure> {
        probe::probe(&self.options.source, &self.access).await
    }

    /// A recorder of a new session, which `drivers` drive.
    pub(crate) fn begin(
        &self,
        stop: StopSignals,
        drivers: Option<Drivers>,
    ) -> Result<Recorder, Failure> {
        if drivers.is_some() {
            self.refuse_without_room()?;
        }
        let unix_ms = u64::try_from(clock::wall().unix_ms()).unwrap_or(0);
        let random = clock::random().map_err(|error| Kind::Internal.because(error))?;
        let session = SessionId::new(unix_ms, random);
        let claim = Folder::of(&self.options.places.spool, session)
            .create()
            .context("creating the spool folder; choose one with --spool");
        let claim = claim.map_err(|error| Kind::Store.because(error))?;
        self.recorder(session, claim, None, stop, drivers)
    }

    /// Under fail-closed nobody is let in who would be cut off at once.
    fn refuse_without_room(&self) -> Result<(), Failure> {
        let spool = &self.options.places.spool;
        let fail_closed = self.options.fails_closed(true);
        let fail_closed = fail_closed.map_err(|error| Kind::Usage.because(error))?;
        let reserve = self.options.spool_reserve.unwrap_or_default();
        let room = Disk::of(spool).map(|disk| Room::Ample.now(disk, reserve));
        // A folder that is not there yet is made, or refused, later.
        if fail_closed && room.is_ok_and(|room| room == Room::None) {
            return Err(Kind::Policy.because(anyhow!(
                "a driver was not let in: there is no room to record in {}; free some, or see \
                 --spool-reserve and --unrecorded",
                spool.display()
            )));
        }
        Ok(())
    }

    /// A recorder that goes on with `session`.
    pub(super) async fn resume(
        &self,
        stop: StopSignals,
        session: SessionId,
    ) -> Result<Recorder, Failure> {
        let folder = Folder::of(&self.options.places.spool, session);
        let resumed = resume::resume(&self.places, &folder).await?;
        let claim = folder
            .claim()
            .map_err(|error| Kind::Internal.because(error))?;
        self.recorder(session, claim, Some(resumed), stop, None)
    }

    fn recorder(
        &self,
        session: SessionId,
        claim: Claim,
        resumed: Option<(Resume, Position)>,
        stop: StopSignals,
        drivers: Option<Drivers>,
    ) -> Result<Recorder, Failure> {
        let (resume, delivered) = resumed.unzip();
        let internal = |error: std::io::Error| Kind::Internal.because(error);
        let options = &self.options;
        let fail_closed = options
            .fails_closed(drivers.is_some())
            .map_err(|error| Kind::Usage.because(error))?;
        let folder = Folder::of(&options.places.spool, session);
        let (open, marks) = self.marks.join();
        let spec = Spec {
            session,
            source: options.source.clone(),
            access: self.access.clone(),
            spool: std::path::absolute(folder.path()).map_err(internal)?,
            context: options.context.clone().into(),
            policy: self.policy.clone(),
            fps_max: options.fps_max,
            encoder: options.encoder,
            give_up: options.give_up_after,
            resume,
            input: options.input.clone(),
            marks: open,
            driven: drivers.as_ref().map(|drivers| drivers.driven.clone()),
            operated: options.driver.is_some(),
            reserve: options.spool_reserve.unwrap_or_default(),
            fail_closed,
        };
        let announcer = Announcer::new(session, options.json);
        Ok(Recorder {
            courier: Courier::new(
                self.places.clone(),
                folder.clone(),
                announcer,
                delivered.unwrap_or(Position::START),
            ),
            spec,
            folder,
            claim,
            duration: options.duration,
            ready_file: options.ready_file.clone(),
            stop,
            marks,
            driver: self.driver.join(),
            drivers,
            alarm: Alarm::new(options.on_unrecorded.clone()),
            meter: Meter::new(options.source.to_string()),
            progress: Progress::default(),
        })
    }
}

fn listen_for_marks(options: &cli::Record, hub: &marks::Hub) -> anyhow::Result<()> {
    if let Some(address) = &options.marks {
        let token = match &options.marks_token_file {
            Some(file) => {
                let text = std::fs::read_to_string(file).context("reading --marks-token-file")?;
                Some(text.lines().next().unwrap_or_default().to_owned())
            }
            None => std::env::var("PLAYHEAD_MARKS_TOKEN").ok(),
        };
        marks::listen(address, token.as_deref(), hub).context("--marks")?;
    }
    Ok(())
}

/// Takes drivers on, and says where.
fn listen_for_drivers(options: &cli::Record, hub: &driver::Hub) -> anyhow::Result<()> {
    let Some(socket) = &options.driver else {
        return Ok(());
    };
    let socket = std::path::absolute(socket).context("--driver")?;
    let listening = driver::listen(&socket, hub);
    listening.with_context(|| format!("--driver {}", socket.display()))?;
    announce(
        options.json,
        &json!({ "event": "driver", "socket": socket }),
        &format!("Waiting at {} for drivers", socket.display()),
    );
    Ok(())
}

/// Answers whoever asks for numbers, and says where.
fn tell_numbers(options: &cli::Record, places: &Places) -> anyhow::Result<()> {
    let Some(cli::Listen(address)) = options.metrics else {
        return Ok(());
    };
    let spool = options.places.spool.clone();
    let reserve = options.spool_reserve.unwrap_or_default();
    let bound = endpoint::listen(address, places.clone(), spool, reserve);
    let bound = bound.with_context(|| format!("--metrics {address}"))?;
    announce(
        options.json,
        &json!({ "event": "metrics", "address": bound }),
        &format!("Numbers at http://{bound}/metrics"),
    );
    Ok(())
}

/// Says where something is listened for.
fn announce(as_json: bool, event: &Value, text: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever read it may be gone, which is no reason to stop.
    let _ = if as_json {
        writeln!(out, "{event}")
    } else {
        writeln!(out, "{text}")
    };
}

fn read_policy(path: &Path) -> Result<(Policy, String), Failure> {
    let refuse = |error: anyhow::Error| {
        let what = format!("policy {} refused, so nothing is recorded", path.display());
        Kind::Policy.because(error.context(what))
    };
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.into()))?;
    let policy = Policy::parse(&text).map_err(|error| refuse(error.into()))?;
    Ok((policy, text))
}
