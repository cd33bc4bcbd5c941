//! How does one kill go? A small desktop that is recorded, killed at its moment, and recovered.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::bar;
use pipeline_tests::bucket::{self, Line, Passage};
use pipeline_tests::clock::{pass_until_utc_ms, utc_ms, wait_for};
use pipeline_tests::desktop::{Desktop, Painter};
use pipeline_tests::marks::Marks;
use pipeline_tests::playhead::{Home, Recorder};
use pipeline_tests::process::{children_of, signal_id};
use pipeline_tests::pulse::Pulse;
use pipeline_tests::truth::LATE_MS;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::checks::{self, Lost, Recorded};
use crate::plan::{During, Finder, Kill, Place, Victim};

/// The painter's window, and little beside it.
const SIZE: (u16, u16) = (480, 256);
const PATIENCE: Duration = Duration::from_secs(60);
/// How long is recorded after a child was started again.
const AFTER_MS: u64 = 1_500;

/// A desktop for one kill after another.
#[derive(Debug)]
pub(crate) struct Stage {
    desktop: Desktop,
    folder: TempDir,
    service: SocketAddr,
}

impl Stage {
    /// A desktop whose recordings go to a folder, or to the bucket of `service`.
    pub(crate) fn build(service: SocketAddr) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Self {
            desktop: Desktop::start(folder.path(), SIZE)?,
            folder,
            service,
        })
    }

    /// Records, kills, recovers, and checks what is there.
    pub(crate) fn play(&self, kill: &Kill, pulse: &Pulse) -> anyhow::Result<Lost> {
        let store = Target::new(kill, self.service)?;
        self.play_in(kill, &store, pulse)
            .with_context(|| last_words(store.home.path()))
    }

    fn play_in(&self, kill: &Kill, store: &Target, pulse: &Pulse) -> anyhow::Result<Lost> {
        let home = &store.home;
        let idle: &[&str] = match kill.during {
            During::Rest => &["--idle", "1-600"],
            _ => &[],
        };
        let seed = kill.after_ms.to_string();
        let options = [&["--seconds", "600", "--seed", &seed], idle].concat();
        let painter = Painter::start(self.folder.path(), &self.desktop, &options)?;
        let socket = home.path().join("marks");
        let marks = format!("unix:{}", socket.display());
        let policy = home.policy(&format!(
            "{}from_mark = \"secret.begin\"\nto_mark = \"secret.end\"\n",
            bar::MASK
        ))?;
        let options = ["--policy", &policy, "--marks", &marks];
        let mut recorder = Recorder::start(home, &self.desktop.url(), &options)?;
        let ready = utc_ms();
        let session = fs::read_to_string(home.path().join("recording"))?;
        let session = session.trim().to_owned();
        let masked_from = match kill.during {
            During::Secret => {
                let told = Marks::at_socket(&socket)?.tell("secret.begin")?;
                ensure!(told["ok"] == true, "{told}");
                Some(told["t"].as_u64().context("no time of the mark")?)
            }
            _ => None,
        };
        if kill.during == During::Outage {
            store.cut()?;
        }
        pass_until_utc_ms(ready + kill.after_ms);

        let parent = recorder.process.id();
        let children = children_of(parent)?;
        let child = *children.first().context("the recorder has no child")?;
        match kill.victim {
            Victim::Child => signal_id(child, Signal::KILL)?,
            Victim::Parent => recorder.process.signal(Signal::KILL)?,
            Victim::Both => {
                recorder.process.signal(Signal::KILL)?;
                let _ = signal_id(child, Signal::KILL); // it may have gone with its parent
            }
        }
        let killed = utc_ms();

        let after = match kill.victim {
            Victim::Child => {
                let after = go_on(&mut recorder, &painter, kill)?;
                store.mend()?;
                recorder.close()?;
                Some(after)
            }
            Victim::Parent | Victim::Both => {
                recorder.process.wait(PATIENCE)?;
                if kill.finder != Finder::Resume {
                    recorder_is_gone(home, &session)?;
                }
                if kill.during == During::Outage {
                    stays_in_the_spool(home, &session)?;
                    store.mend()?;
                }
                self.recover(kill, home, &session, &painter)?
            }
        };
        let recorded = Recorded {
            home,
            store: &store.url,
            session,
            paints: painter.paints()?,
            killed,
            after,
            masked_from,
            pulse,
        };
        checks::it_plays(&recorded, self.folder.path())?;
        checks::nothing_is_left(&recorded)?;
        checks::at_most_a_second_is_lost(&recorded)
    }

    /// What a dead recorder left is found. Gives back a moment that was recorded since.
    fn recover(
        &self,
        kill: &Kill,
        home: &Home,
        session: &str,
        painter: &Painter,
    ) -> anyhow::Result<Option<u64>> {
        let url = self.desktop.url();
        match kill.finder {
            Finder::Flush => {
                let flushed = home.agent(&["flush"])?;
                ensure!(flushed.status.success(), "{flushed:?}");
                Ok(None)
            }
            Finder::Next => {
                let left = home.path().join("spool").join(session);
                let mut next = Recorder::start(home, &url, &[])?;
                next.process
                    .wait_until("the recovery", PATIENCE, || !left.exists())?;
                next.close()?;
                Ok(None)
            }
            Finder::Resume => {
                let policy = home.path().join("policy.toml");
                let policy = policy.to_string_lossy();
                let options = ["--session", session, "--policy", &policy];
                let next = Recorder::start(home, &url, &options)?;
                let after = record_on(painter, kill)?;
                next.close()?;
                Ok(Some(after))
            }
        }
    }
}

/// Waits until neither process of the recorder holds the spool any more.
fn recorder_is_gone(home: &Home, session: &str) -> anyhow::Result<()> {
    let lock = File::open(home.path().join("spool").join(session).join("lock"))?;
    wait_for("the end of the recorder", PATIENCE, || {
        Ok(lock.try_lock().is_ok().then_some(()))
    })
}

/// While the store is away nothing can be sent, and nothing goes.
fn stays_in_the_spool(home: &Home, session: &str) -> anyhow::Result<()> {
    let refused = home.agent(&["flush"])?;
    ensure!(refused.status.code() == Some(5), "{refused:?}");
    let head = home.path().join("spool").join(session).join("session.json");
    ensure!(head.exists(), "the spool is gone: {refused:?}");
    Ok(())
}

/// Waits until a new child records, and records on.
fn go_on(recorder: &mut Recorder, painter: &Painter, kill: &Kill) -> anyhow::Result<u64> {
    wait_for("the picture after the gap", PATIENCE, || {
        let gaps = recorder.events("gap")?;
        Ok(gaps.iter().any(|gap| gap["to"].is_u64()).then_some(()))
    })?;
    record_on(painter, kill)
}

/// Records for some time. Gives back a moment that must then be in the record.
fn record_on(painter: &Painter, kill: &Kill) -> anyhow::Result<u64> {
    let until = utc_ms() + AFTER_MS;
    let moment = if kill.during == During::Rest {
        until
    } else {
        let painted = wait_for("a paint after the gap", PATIENCE, || {
            let last = painter.paints()?.last().copied();
            Ok(last.filter(|last| until <= last.utc_ms))
        })?;
        painted.painted_ms + LATE_MS
    };
    pass_until_utc_ms(moment + LATE_MS);
    Ok(moment)
}

/// Where one kill records to.
struct Target {
    home: Home,
    url: String,
    line: Option<Line>,
}

impl Target {
    fn new(kill: &Kill, service: SocketAddr) -> anyhow::Result<Self> {
        match kill.place {
            Place::Folder => {
                let home = Home::new()?;
                let url = format!("file://{}", home.path().join("store").display());
                Ok(Self {
                    home,
                    url,
                    line: None,
                })
            }
            Place::Bucket => {
                let line = Line::to(service)?;
                let prefix = format!("kill-{}", kill.n);
                Ok(Self {
                    home: bucket::home(&bucket::url(&prefix, line.address))?,
                    url: bucket::url(&prefix, service),
                    line: Some(line),
                })
            }
        }
    }

    fn folder(&self) -> (PathBuf, PathBuf) {
        let at = |name| self.home.path().join(name);
        (at("store"), at("store-away"))
    }

    /// The store is away: nothing answers, or a file is where the folder was.
    fn cut(&self) -> anyhow::Result<()> {
        if let Some(line) = &self.line {
            line.set(Passage::Refused);
            return Ok(());
        }
        let (store, away) = self.folder();
        fs::rename(&store, away)?;
        Ok(fs::write(store, "")?)
    }

    /// It is back, if it was away.
    fn mend(&self) -> anyhow::Result<()> {
        if let Some(line) = &self.line {
            line.set(Passage::Open);
        }
        let (store, away) = self.folder();
        if away.exists() {
            fs::remove_file(&store)?;
            fs::rename(away, store)?;
        }
        Ok(())
    }
}

/// What the recorder said last.
fn last_words(home: &Path) -> String {
    let said = fs::read_to_string(home.join("recorder.log")).unwrap_or_default();
    let lines: Vec<&str> = said.lines().rev().take(5).collect();
    format!("the recorder said: {}", lines.join(" | "))
}
