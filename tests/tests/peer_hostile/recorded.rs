//! A recorder of a hostile server, and how it ends: by itself, for a stated reason, in little
//! memory, and without the recorder beside having noticed.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::monotonic;
use pipeline_tests::hostile_server::{HostileServer, Peer};
use pipeline_tests::playhead::Home;
use pipeline_tests::process::{Process, children_of};
use pipeline_tests::scene::Scene;
use serde_json::Value;

/// What the recorder and its child may each hold at their largest, whatever they are sent.
const PEAK_KIB: u64 = 150 * 1024;
/// The longest any attack takes: a flood is given up after 15 s, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A protocol that servers attack by.
pub(crate) struct Source<'a> {
    /// What stands before the address.
    pub(crate) at: &'a str,
    /// What a recorder is told besides.
    pub(crate) options: fn() -> Vec<String>,
    /// Lets the client in and shows it a picture that it has taken when this returns.
    pub(crate) show: fn(&mut Peer) -> io::Result<()>,
}

/// How a recording of a hostile server ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// What it told with `--json`.
    pub(crate) told: Vec<Value>,
    /// What it said on standard error.
    pub(crate) said: String,
    /// The most that it, or its child, ever held.
    peak_kib: u64,
}

impl Ended {
    /// The reason and the detail of the first gap.
    pub(crate) fn gap(&self) -> Option<(&str, &str)> {
        let opened = |event: &&Value| event["event"] == "gap" && event["reason"].is_string();
        let gap = self.told.iter().find(opened)?;
        Some((gap["reason"].as_str()?, gap["detail"].as_str()?))
    }

    /// Neither it nor its child took more memory than it may.
    pub(crate) fn check_memory(&self, what: &str) -> anyhow::Result<()> {
        ensure!(self.peak_kib < PEAK_KIB, "{what}: {} KiB", self.peak_kib);
        Ok(())
    }
}

impl Source<'_> {
    /// Records who plays `script` until the recorder leaves by itself.
    pub(crate) fn record(
        &self,
        options: &[&str],
        script: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> anyhow::Result<Ended> {
        let home = Home::new()?;
        let server = HostileServer::start(script)?;
        let url = format!("{}{}", self.at, server.address());
        let mut command = home.command("playhead-agent")?;
        command
            .args(["record", &url, "--json", "--give-up-after", "0"])
            .args((self.options)())
            .args(options);
        let mut recorder = Process::start("recorder", home.path(), &mut command)?;
        let id = recorder.id();
        let mut peak_kib = 0;
        let until = monotonic() + PATIENCE;
        let status = loop {
            let child = children_of(id).unwrap_or_default().first().copied();
            let peaks = [Some(id), child].into_iter().flatten().filter_map(peak_of);
            peak_kib = peaks.fold(peak_kib, u64::max);
            match recorder.wait(Duration::ZERO) {
                Ok(status) => break status,
                Err(error) if until < monotonic() => return Err(error),
                Err(_) => {}
            }
        };
        let read =
            |ending: &str| fs::read_to_string(home.path().join(format!("recorder.{ending}")));
        let lines = read("out")?;
        Ok(Ended {
            code: status.code(),
            told: lines.lines().flat_map(serde_json::from_str).collect(),
            said: read("log")?,
            peak_kib,
        })
    }

    /// A first connection that ends like this with an exit code and words.
    pub(crate) fn check_refused(
        &self,
        what: &str,
        (code, words): (i32, &str),
        script: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> anyhow::Result<()> {
        let ended = self.record(&[], script)?;
        ensure!(
            ended.code == Some(code) && ended.said.contains(words),
            "{what}: {:?}, expected {code} and {words:?}\n{}",
            ended.code,
            ended.said
        );
        ended.check_memory(what)
    }

    /// A session that has a picture and then a gap of that reason, told in these words; the recorder
    /// closes it cleanly.
    pub(crate) fn check_gap(
        &self,
        what: &str,
        (reason, words): (&str, &str),
        attack: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> anyhow::Result<()> {
        let show = self.show;
        let ended = self.record(&["--duration", "22s"], move |peer| {
            show(peer)?;
            attack(peer)
        })?;
        let told = format!("{:#?}\n{}", ended.told, ended.said);
        let (found, detail) = ended
            .gap()
            .with_context(|| format!("{what}: no gap: {told}"))?;
        ensure!(
            found == reason && detail.contains(words),
            "{what}: {found} ({detail}), expected {reason} ({words})"
        );
        ensure!(ended.code == Some(0), "{what}: {:?}: {told}", ended.code);
        ended.check_memory(what)
    }
}

fn peak_of(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Runs `attack` on each of `cases` at the same time: what takes long is waiting.
pub(crate) fn at_once<T: Send>(
    cases: impl IntoIterator<Item = T>,
    attack: impl Fn(T) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let attack = &attack;
    std::thread::scope(|scope| {
        let attacks: Vec<_> = cases
            .into_iter()
            .map(|case| scope.spawn(move || attack(case)))
            .collect();
        let ended = attacks.into_iter().map(|attack| attack.join());
        let ended = ended.map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)));
        let failed: Vec<String> = ended
            .filter_map(|ended| Some(format!("{:#}", ended.err()?)))
            .collect();
        ensure!(failed.is_empty(), "{}", failed.join("\n"));
        Ok(())
    })
}

/// Runs `attacks` while a good server is recorded beside, and checks that its recording never
/// noticed: one child, no gap, a clean end.
pub(crate) fn beside_a_good_session(
    attacks: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let scene = Scene::start((640, 480), &[])?;
    let parent = scene.recorder.process.id();
    let child = children_of(parent)?;
    attacks()?;
    ensure!(
        children_of(parent)? == child,
        "the recorder beside has another child"
    );
    scene.work(500)?;
    let (home, _) = scene.close()?;
    let told = fs::read_to_string(home.path().join("recorder.out"))?;
    let ended = told.lines().last().context("nothing told")?;
    let ended: Value = serde_json::from_str(ended)?;
    ensure!(ended["event"] == "ended" && ended["gaps"] == 0, "{told}");
    Ok(())
}
