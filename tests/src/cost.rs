//! What does a process cost? CPU time and memory, as the kernel counts them.

use std::time::Duration;

use anyhow::Context as _;

use crate::process::children_of;

/// Clock ticks a second in `/proc`: fixed at 100 for user space on Linux.
const TICK: Duration = Duration::from_millis(10);
/// Where `utime` and `stime` stand after the program's name (proc_pid_stat(5)).
const UTIME: usize = 11;
const STIME: usize = 12;

/// CPU time that a process and its living children have used.
///
/// # Errors
/// When it is gone.
pub fn cpu(id: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The name is in brackets and may hold anything, a bracket included.
    let (_, after_name) = stat.rsplit_once(')').context("no name in stat")?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |field: usize| -> anyhow::Result<u32> {
        Ok(fields.get(field).context("stat is too short")?.parse()?)
    };
    let own = TICK * (ticks(UTIME)? + ticks(STIME)?);
    children_of(id)?
        .into_iter()
        .try_fold(own, |sum, child| Ok(sum + cpu(child)?))
}

/// Resident memory of a process and its living children, in KiB.
///
/// # Errors
/// When it is gone.
pub fn resident_kib(id: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let own = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .context("no VmRSS")?
        .parse()?;
    children_of(id)?
        .into_iter()
        .try_fold(own, |sum: u64, child| Ok(sum + resident_kib(child)?))
}
