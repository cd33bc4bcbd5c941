//! The child as its parent sees it: a process that takes commands and gives reports.

use std::{os::fd::OwnedFd, process::Stdio};

use anyhow::Context as _;
use command_fds::{CommandFdExt as _, FdMapping};
use telemetry::log::LogFormat;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout},
};

use crate::wire::{Command, DRIVER_FD, Driven, LISTENER_FD, Report, Task};

/// A longer report means a child that no longer speaks our language.
const MAX_REPORT_BYTES: u64 = 64 << 10;

/// The sockets that a child is given of who drives its machine.
pub(crate) struct Drivers {
    /// The first driver's connection.
    pub(crate) first: OwnedFd,
    /// Where others connect that are served by the same child.
    pub(crate) listener: Option<OwnedFd>,
    /// How they drive the machine.
    pub(crate) driven: Driven,
}

impl Drivers {
    fn mappings(self) -> Vec<FdMapping> {
        let map = |parent_fd, child_fd| FdMapping {
            parent_fd,
            child_fd,
        };
        let listener = self.listener.map(|listener| map(listener, LISTENER_FD));
        let first = map(self.first, DRIVER_FD);
        std::iter::once(first).chain(listener).collect()
    }
}

/// A running child.
pub(super) struct ChildProcess {
    process: Child,
    commands: Option<ChildStdin>,
    reports: BufReader<ChildStdout>,
}

impl ChildProcess {
    /// Starts this program again as the child that does `task` and serves `drivers`.
    pub(super) async fn start(task: &Task, drivers: Option<Drivers>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut command = tokio::process::Command::new(program);
        command
            .arg("child")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // The child gets nothing it could use against the store or the catalogue. How it logs and
        // the places where libraries look for themselves and for roots are all it needs.
        command.env_clear();
        command.env("PLAYHEAD_LOG_FORMAT", LogFormat::started().as_str());
        let kept = [
            "PATH",
            "HOME",
            "PLAYHEAD_LOG",
            "LD_LIBRARY_PATH",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
        ];
        let kept_prefixes = ["GST_", "XDG_"];
        for (name, value) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if kept.contains(&&*text) || kept_prefixes.iter().any(|prefix| text.starts_with(prefix))
            {
                command.env(&name, value);
            }
        }
        // The cookies of displays are for their input alone.
        if let Task::Record(spec) = task
            && spec.input.is_some()
            && let Some(cookies) = std::env::var_os("XAUTHORITY")
        {
            command.env("XAUTHORITY", cookies);
        }
        // Ctrl-C reaches the whole foreground group; the parent alone decides when to stop.
        command.process_group(0);
        if let Some(drivers) = drivers {
            command.fd_mappings(drivers.mappings())?;
        }
        let mut process = command.spawn().context("starting the recording child")?;
        // With the command goes our hold on the driver's connection: it is the child's alone, so
        // that the driver sees at once when the child is gone.
        drop(command);
        let mut commands = process
            .stdin
            .take()
            .context("the child has no standard input")?;
        let reports = process
            .stdout
            .take()
            .context("the child has no standard output")?;
        let mut line = serde_json::to_vec(task)?;
        line.push(b'\n');
        commands
            .write_all(&line)
            .await
            .context("telling the child what to do")?;
        Ok(Self {
            process,
            commands: Some(commands),
            reports: BufReader::new(reports),
        })
    }

    /// How much memory the child holds, as the kernel counts it.
    pub(super) fn rss_bytes(&self) -> Option<u64> {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.process.id()?)).ok()?;
        let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages.saturating_mul(rustix::param::page_size() as u64))
    }

    /// Asks the child to do `command`; a child that is gone is noticed by [`report`](Self::report).
    pub(super) async fn tell(&mut self, command: Command) {
        if let Some(commands) = &mut self.commands
            && let Ok(mut line) = serde_json::to_vec(&command)
        {
            line.push(b'\n');
            if commands.write_all(&line).await.is_err() {
                self.commands = None;
            }
        }
    }

    /// The next report; `None` once the child is gone. `line` keeps what has arrived of it, which
    /// makes this cancel-safe.
    pub(super) async fn report(&mut self, line: &mut Vec<u8>) -> anyhow::Result<Option<Report>> {
        let room = MAX_REPORT_BYTES.saturating_sub(line.len() as u64);
        (&mut self.reports)
            .take(room)
            .read_until(b'\n', line)
            .await?;
        if line.last() != Some(&b'\n') {
            anyhow::ensure!(
                (line.len() as u64) < MAX_REPORT_BYTES,
                "child sent an endless report"
            );
            return Ok(None);
        }
        let report = serde_json::from_slice(line).context("reading the child's report");
        line.clear();
        report.map(Some)
    }

    /// Waits until the child is gone, killing it if it must.
    pub(super) async fn reap(mut self) {
        self.commands = None;
        let patience = std::time::Duration::from_secs(5);
        if tokio::time::timeout(patience, self.process.wait())
            .await
            .is_err()
        {
            let _ = self.process.kill().await; // it is gone already when this fails
        }
    }
}
