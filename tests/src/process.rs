//! How does a test own a program? It starts it, may signal it, and ends it when it goes away.

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::clock::wait_for;

/// How long a program may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// A started program. It is ended when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its standard error in `FOLDER/NAME.log`, and its output in
    /// `FOLDER/NAME.out`.
    ///
    /// # Errors
    /// When a log cannot be written or the program cannot be started.
    pub fn start(name: &str, folder: &Path, command: &mut Command) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let out = folder.join(format!("{name}.out"));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&log)?)
            .spawn()
            .with_context(|| format!("cannot start {name}: {command:?}"))?;
        Ok(Self {
            child,
            name: name.to_owned(),
            log,
        })
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        signal_id(self.id(), signal).with_context(|| self.name.clone())
    }

    /// Waits for a condition, or the process's early end, whichever comes first.
    ///
    /// # Errors
    /// When the process ends, or `limit` passes, without the condition; with the log's end.
    pub fn wait_until(
        &mut self,
        what: &str,
        limit: Duration,
        mut condition: impl FnMut() -> bool,
    ) -> anyhow::Result<()> {
        wait_for(what, limit, || {
            if condition() {
                return Ok(Some(()));
            }
            let ended = self.child.try_wait()?;
            ensure!(ended.is_none(), "{} ended: {ended:?}", self.name);
            Ok(None)
        })
        .with_context(|| self.last_words())
    }

    /// Waits for the process's own end.
    ///
    /// # Errors
    /// When it still runs after `limit`.
    pub fn wait(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        let what = format!("end of {}", self.name);
        wait_for(&what, limit, || Ok(self.child.try_wait()?)).with_context(|| self.last_words())
    }

    /// What it wrote to standard error last.
    fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(8)..].join("\n");
        format!("{} said last:\n{tail}", self.name)
    }
}

impl Drop for Process {
    /// Asks it to end, so that it can tidy up, and kills it when it does not. A stopped process
    /// is continued, for else it would never hear.
    fn drop(&mut self) {
        let _ = self.signal(Signal::CONT);
        let _ = self.signal(Signal::TERM);
        if self.wait(PATIENCE).is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal to any process.
///
/// # Errors
/// When it is gone.
pub fn signal_id(id: u32, signal: Signal) -> anyhow::Result<()> {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    kill_process(pid.context("no process id")?, signal)?;
    Ok(())
}

/// The processes that `id` has started and that still run.
///
/// # Errors
/// When `id` is gone.
pub fn children_of(id: u32) -> anyhow::Result<Vec<u32>> {
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{id}/task"))? {
        // A thread may have ended by now.
        let listed = std::fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        for child in listed.split_whitespace() {
            children.push(child.parse()?);
        }
    }
    Ok(children)
}

/// The numbers, `FROM-TO`, that the variable `name` gives to a run beside another, or `usual`.
pub(crate) fn numbers(name: &str, usual: RangeInclusive<u16>) -> RangeInclusive<u16> {
    let set = std::env::var(name).ok();
    let set = set.as_deref().and_then(|text| text.split_once('-'));
    let set = set.and_then(|(from, to)| Some(from.parse().ok()?..=to.parse().ok()?));
    set.unwrap_or(usual)
}

/// The path of a program of this workspace, beside the running test.
///
/// # Errors
/// When it has not been built.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let path = test
        .ancestors()
        .nth(2)
        .context("a test lies in target/PROFILE/deps")?
        .join(name);
    ensure!(
        path.is_file(),
        "{} is missing: run cargo build --profile ci --workspace --bins",
        path.display()
    );
    Ok(path)
}
