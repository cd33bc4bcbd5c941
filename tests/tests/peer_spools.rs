//! Does one bad spool hold up fifty good ones? Whole sessions that dead recorders left, sent by
//! `flush` and at the start of the next `record`.

mod made;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use pipeline_tests::playhead::{Home, Recorder};
use pipeline_tests::rfb::ScriptedServer;

const GOOD: u16 = 50;
/// The one that is damaged lies in their middle.
const BAD: u16 = GOOD / 2;
const PATIENCE: Duration = Duration::from_secs(120);
const SHAPE: made::Shape = made::Shape {
    segment_ms: 2_000,
    fragment_ms: 1_000,
    sample_ms: 500,
    sample_bytes: 200,
};

/// The spools of all, and the folder of the bad one.
fn leave_spools(home: &Home) -> anyhow::Result<PathBuf> {
    let spool = home.path().join("spool");
    let folders = (0..=GOOD).map(|n| made::spool(&spool, n, 2, SHAPE));
    let folders: Vec<PathBuf> = folders.collect::<Result<_, _>>()?;
    Ok(folders[usize::from(BAD)].clone())
}

/// The good ones are in the store and nowhere else, and the bad one is set aside.
fn check_sent(home: &Home, bad: &Path, ended: usize) -> anyhow::Result<()> {
    let ends = home.objects("end.json")?;
    ensure!(ends.len() == ended, "{} have ended", ends.len());
    let left: Vec<PathBuf> = fs::read_dir(home.path().join("spool"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    let aside = home.path().join("spool/set-aside");
    ensure!(left == [aside.clone()], "left in the spool: {left:?}");
    let kept = aside.join(bad.file_name().unwrap_or_default());
    ensure!(kept.is_dir(), "{} is not there", kept.display());
    Ok(())
}

#[test]
fn peer_flush_sends_fifty_good_spools_and_sets_the_bad_one_aside_once() -> anyhow::Result<()> {
    let home = Home::new()?;
    let bad = leave_spools(&home)?;
    fs::write(bad.join("session.json"), "{\"format\":1,")?;

    let flushed = home.agent(&["flush"])?;
    let said = String::from_utf8_lossy(&flushed.stderr);
    ensure!(flushed.status.code() == Some(5), "{flushed:?}");
    ensure!(said.matches("set aside as").count() == 1, "{said}");
    ensure!(said.contains("1 set aside; the rest is sent"), "{said}");
    check_sent(&home, &bad, usize::from(GOOD))?;

    let again = home.agent(&["flush"])?;
    ensure!(again.status.success(), "{again:?}");
    ensure!(
        again.stdout.is_empty() && again.stderr.is_empty(),
        "{again:?}"
    );
    Ok(())
}

#[test]
fn peer_record_sends_fifty_good_spools_and_tells_of_the_bad_one_once() -> anyhow::Result<()> {
    let home = Home::new()?;
    let bad = leave_spools(&home)?;
    let first = bad.join("00000000.wal");
    let mut wal = fs::read(&first)?;
    wal[12] ^= 1;
    fs::write(&first, wal)?;

    let server = ScriptedServer::start(false)?;
    let mut recorder = Recorder::start(&home, &server.url(), &[])?;
    let spool = home.path().join("spool");
    recorder
        .process
        .wait_until("the spools' end", PATIENCE, || {
            // The folder of what is set aside, and the recorder's own.
            fs::read_dir(&spool).is_ok_and(|left| left.count() == 2)
        })?;
    recorder.close()?;
    let said = fs::read_to_string(home.path().join("recorder.log"))?;
    ensure!(said.matches("Set aside").count() == 1, "{said}");
    // All have a record, the bad one with a gap for what could not be read.
    check_sent(&home, &bad, usize::from(GOOD) + 2)
}
