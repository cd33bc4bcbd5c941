//! What does a process cost? CPU time and memory, as the kernel counts them.

use std::time::Duration;

use anyhow::Context as _;

use crate::process::children_of;

/// Clock ticks a second in `/proc`: fixed at 100 for user space on Linux.
const TICK: Duration = Duration::from_millis(10);
/// Where `utime` and `stime` stand after the program's name (proc_pid_stat(5)), and those of the
/// children that have ended.
const OWN: [usize; 2] = [11, 12];
const ENDED_CHILDREN: [usize; 2] = [13, 14];

/// CPU time that a process and its living children have used.
///
/// # Errors
/// When it is gone.
pub fn cpu(id: u32) -> anyhow::Result<Duration> {
    let own = ticks(&format!("/proc/{id}/stat"), OWN)?;
    children_of(id)?
        .into_iter()
        .try_fold(own, |sum, child| Ok(sum + cpu(child)?))
}

/// CPU time of the programs that this one has started, waited for, and seen end.
///
/// # Errors
/// When the kernel does not say.
pub fn ended_children_cpu() -> anyhow::Result<Duration> {
    ticks("/proc/self/stat", ENDED_CHILDREN)
}

fn ticks(stat: &str, fields: [usize; 2]) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(stat)?;
    // The name is in brackets and may hold anything, a bracket included.
    let (_, after_name) = stat.rsplit_once(')').context("no name in stat")?;
    let values: Vec<&str> = after_name.split_whitespace().collect();
    fields.into_iter().try_fold(Duration::ZERO, |sum, field| {
        let ticks: u32 = values.get(field).context("stat is too short")?.parse()?;
        Ok(sum + TICK * ticks)
    })
}

/// Resident memory of a process and its living children, in KiB.
///
/// # Errors
/// When it is gone.
pub fn resident_kib(id: u32) -> anyhow::Result<u64> {
    let own = own_resident_kib(id)?;
    children_of(id)?
        .into_iter()
        .try_fold(own, |sum: u64, child| Ok(sum + resident_kib(child)?))
}

/// Resident memory of a process alone, in KiB.
///
/// # Errors
/// When it is gone.
pub fn own_resident_kib(id: u32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let own = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(own.context("no VmRSS")?.parse()?)
}
