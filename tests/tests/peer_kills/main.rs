//! What is lost when the recorder is killed? At most the last second, and the record says so.
//!
//! `PLAYHEAD_KILLS` sets how many random moments are tried (6 by default), and
//! `PLAYHEAD_KILL_SEED` which; the seed of each run is printed.

#![expect(clippy::print_stdout, reason = "a run tells its seed and its figures")]

mod checks;
mod plan;
mod stage;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::ensure;
use pipeline_tests::bucket::Service;
use pipeline_tests::clock::utc_ms;
use pipeline_tests::playhead::Server;
use pipeline_tests::pulse::Pulse;
use pipeline_tests::scene::Scene;
use pipeline_tests::truth::check_moment;

use crate::checks::Lost;
use crate::plan::Kill;
use crate::stage::Stage;

/// Every victim at every place once.
const KILLS: u64 = 6;
/// Small screens that are recorded at a time: more would measure the machine.
const STAGES: u64 = 3;

#[test]
fn peer_a_kill_at_any_moment_loses_at_most_a_second() -> anyhow::Result<()> {
    let kills = variable("PLAYHEAD_KILLS").unwrap_or(KILLS);
    let seed = variable("PLAYHEAD_KILL_SEED").unwrap_or_else(utc_ms);
    println!("PLAYHEAD_KILLS={kills} PLAYHEAD_KILL_SEED={seed}");
    let folder = tempfile::tempdir()?;
    let service = Service::start(folder.path())?;
    let pulse = Pulse::start(folder.path())?;
    // One after the other, so that no two choose the same display.
    let stages: Vec<Stage> = (0..STAGES.min(kills))
        .map(|_| Stage::build(service.address))
        .collect::<Result<_, _>>()?;
    let next = AtomicU64::new(0);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for stage in &stages {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if kills <= n {
                        return;
                    }
                    let kill = Kill::new(seed, n);
                    let outcome = stage.play(&kill, &pulse);
                    tell(&kill, &outcome);
                    let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                    outcomes.push((kill, outcome));
                }
            });
        }
    });
    let outcomes = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    report(&outcomes)
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn tell(kill: &Kill, outcome: &anyhow::Result<Lost>) {
    match outcome {
        Ok(Lost { lost_ms, busy_ms }) => {
            println!("{kill}: {lost_ms} ms lost, the machine {busy_ms} ms late");
        }
        Err(error) => println!("{kill}: {error:#}"),
    }
}

/// How much was lost, and that nothing else went wrong.
fn report(outcomes: &[(Kill, anyhow::Result<Lost>)]) -> anyhow::Result<()> {
    let well = outcomes
        .iter()
        .filter_map(|(_, outcome)| outcome.as_ref().ok());
    let mut lost: Vec<u64> = well.map(|outcome| outcome.lost_ms).collect();
    lost.sort_unstable();
    let share = |percent: usize| lost.get(lost.len() * percent / 100);
    if let (Some(p50), Some(p95), Some(most)) = (share(50), share(95), lost.last()) {
        println!(
            "{} of {} kills went well; lost: p50 {p50} ms, p95 {p95} ms, at most {most} ms",
            lost.len(),
            outcomes.len(),
        );
    }
    let failed: Vec<String> = outcomes
        .iter()
        .filter_map(|(kill, outcome)| Some(format!("{kill}: {:#}", outcome.as_ref().err()?)))
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

#[test]
fn peer_a_second_agent_leaves_a_living_spool_alone() -> anyhow::Result<()> {
    let scene = Scene::start((640, 480), &[])?;
    let before = scene.work(2_000)?;
    let flushed = scene.home.agent(&["flush"])?;
    ensure!(flushed.status.success(), "{flushed:?}");
    let after = scene.work(2_000)?;
    let (home, paints) = scene.close()?;

    let server = Server::start(&home)?;
    let session = server.only_session()?;
    check_moment(&session, before, &paints)?;
    check_moment(&session, after, &paints)?;
    ensure!(session.gaps()?.is_empty(), "{:?}", session.gaps()?);
    Ok(())
}
