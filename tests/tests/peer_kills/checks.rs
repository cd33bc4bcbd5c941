//! What must hold after a kill? The record reaches to the last second before it and says so,
//! plays, verifies, and nothing lies about.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use pipeline_tests::paint_log::Paint;
use pipeline_tests::picture::{self, Picture};
use pipeline_tests::playhead::{Home, Server, Session};
use pipeline_tests::pulse::Pulse;
use pipeline_tests::truth::{LATE_MS, check_moment_late};
use pipeline_tests::{bar, bucket};
use segment::key::{self, ObjectKind};
use segment::mp4;
use store::Store;

/// What may be lost.
const LOST_MS: u64 = 1_000;
/// A paint passes so many processes on its way to the disk, each of which may be kept waiting.
const HOPS: u64 = 4;
/// What was done this long before may still have waited for its turn.
const WAITING_MS: u64 = 2_000;
/// More than one session has.
const MAX_OBJECTS: usize = 1_000;

/// A recording after its recovery.
pub(crate) struct Recorded<'a> {
    pub(crate) home: &'a Home,
    /// Where it is.
    pub(crate) store: &'a str,
    pub(crate) session: String,
    pub(crate) paints: Vec<Paint>,
    /// When the kill was done, in ms since 1970.
    pub(crate) killed: u64,
    /// A moment after the gap, if the session went on.
    pub(crate) after: Option<u64>,
    /// From when on the bar is masked, in ms since the session's start.
    pub(crate) masked_from: Option<u64>,
    pub(crate) pulse: &'a Pulse,
}

impl Recorded<'_> {
    /// How late anything may be because the machine was, up to `utc_ms`: as writes became
    /// durable, and as paints were confirmed.
    fn busy_ms(&self, utc_ms: u64) -> u64 {
        let span = utc_ms - WAITING_MS..utc_ms;
        let within = self
            .paints
            .iter()
            .filter(|paint| span.contains(&paint.painted_ms));
        let painted = within.map(|paint| paint.painted_ms - paint.utc_ms).max();
        HOPS * self.pulse.late_ms(span).max(painted.unwrap_or(0))
    }
}

/// What a kill cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    /// From the last proven picture to the kill.
    pub(crate) lost_ms: u64,
    /// How much of that the machine may have been late.
    pub(crate) busy_ms: u64,
}

/// No spool, no half object, no process.
pub(crate) fn nothing_is_left(recorded: &Recorded<'_>) -> anyhow::Result<()> {
    let home = recorded.home.path();
    let spooled = files(&home.join("spool"))?;
    ensure!(spooled.is_empty(), "left in the spool: {spooled:?}");
    let folder = home.join("store/.tmp");
    if folder.exists() {
        let half = files(&folder)?;
        ensure!(half.is_empty(), "half objects: {half:?}");
    }
    let holders = holders_of(home)?;
    ensure!(holders.is_empty(), "still running: {holders:?}");
    Ok(())
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// The processes that hold a file below `folder`.
fn holders_of(folder: &Path) -> anyhow::Result<Vec<u32>> {
    let mut holders = Vec::new();
    for process in files(Path::new("/proc"))? {
        let name = process.file_name().and_then(|name| name.to_str());
        let Some(id) = name.and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // It may be gone by now.
        let held = files(&process.join("fd")).unwrap_or_default();
        let holds = |held: &PathBuf| fs::read_link(held).is_ok_and(|to| to.starts_with(folder));
        if held.iter().any(holds) {
            holders.push(id);
        }
    }
    Ok(holders)
}

/// Every object is one of the session's, every fragment decodes by itself, and `verify` agrees.
pub(crate) fn it_plays(recorded: &Recorded<'_>, scratch: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let store = store::open_store_with(recorded.store, |name| match name {
        "AWS_ACCESS_KEY_ID" => Some("test".to_owned()),
        "AWS_SECRET_ACCESS_KEY" => Some(bucket::KEY.to_owned()),
        _ => None,
    })?;
    runtime.block_on(fragments_play(recorded, store, scratch))?;
    let verified = recorded.home.playhead(&["verify", &recorded.session])?;
    ensure!(verified.status.success(), "{verified:?}");
    Ok(())
}

async fn fragments_play(
    recorded: &Recorded<'_>,
    store: Arc<dyn Store>,
    scratch: &Path,
) -> anyhow::Result<()> {
    let mut fragments = 0;
    for object in store.list("", None, MAX_OBJECTS).await? {
        let key = object.key;
        let Some((session, kind)) = key::parse(&key) else {
            ensure!(key == "v1/owner.json", "{key} is in the store");
            continue;
        };
        ensure!(kind != ObjectKind::Other, "{key} is in the store");
        if !matches!(kind, ObjectKind::Segment { .. }) || session.to_string() != recorded.session {
            continue;
        }
        let bytes = store.get(&key).await?;
        let manifest = mp4::check(&bytes).with_context(|| key.clone())?;
        let init = mp4::part(&bytes, manifest.init.byte_range())?;
        for fragment in &manifest.fragments {
            let file = scratch.join("fragment.mp4");
            let alone = [init, mp4::part(&bytes, fragment.byte_range())?].concat();
            fs::write(&file, alone)?;
            picture::plays_alone(&file).with_context(|| key.clone())?;
            fragments += 1;
        }
    }
    ensure!(0 < fragments, "no fragment of {}", recorded.session);
    Ok(())
}

/// Gives back how long before the kill the last proven picture was.
pub(crate) fn at_most_a_second_is_lost(recorded: &Recorded<'_>) -> anyhow::Result<Lost> {
    let server = Server::start(recorded.home)?;
    let session = server.session(&recorded.session);
    let head = session.head()?;
    ensure!(head["state"] == "ended", "{head}");
    let start = session.start_ms()?;
    let reached = start + reached(recorded, &session)?;
    let lost_ms = recorded.killed.saturating_sub(reached);
    let busy_ms = recorded.busy_ms(recorded.killed);
    ensure!(
        lost_ms <= LOST_MS + LATE_MS + busy_ms,
        "{lost_ms} ms are lost on a machine {busy_ms} ms late: {:?}",
        session.gaps()?
    );
    for (what, utc) in [
        ("before the kill", Some(reached - 1)),
        ("after", recorded.after),
    ] {
        let Some(utc) = utc else { continue };
        check_moment_late(&session, utc, &recorded.paints, recorded.busy_ms(utc)).context(what)?;
    }
    if let Some(masked) = recorded.masked_from {
        let end = head["duration_ms"].as_u64().context("duration_ms")?;
        let shown = [
            masked,
            reached - 1 - start,
            recorded.after.map_or(end, |utc| utc - start),
        ];
        for t in shown.into_iter().filter(|&t| masked <= t) {
            let t = t.min(end - 1);
            let picture = Picture::of(&session.get(&format!("/frame?format=png&t={t}"))?)?;
            ensure!(!bar::shows(&picture), "the secret shows at {t}");
        }
    }
    Ok(Lost { lost_ms, busy_ms })
}

/// Where the picture before the kill ends, in ms since the session's start.
fn reached(recorded: &Recorded<'_>, session: &Session<'_>) -> anyhow::Result<u64> {
    let gaps = session.gaps()?;
    if recorded.after.is_none() {
        ensure!(gaps.is_empty(), "{gaps:?}");
        let head = session.head()?;
        return head["duration_ms"].as_u64().context("duration_ms");
    }
    let [(from, _, reason)] = gaps.as_slice() else {
        anyhow::bail!("expected one gap: {gaps:?}");
    };
    ensure!(reason == "recorder-restarted", "the gap says {reason}");
    Ok(*from)
}
