//! How fast is the catalogue made again from a file store? Closed sessions of ten minutes, then
//! with their rows, by `playhead index rebuild`; each time the tables come out as they were.

#[path = "../tests/made/mod.rs"]
mod made;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use pipeline_tests::clock::monotonic;
use pipeline_tests::playhead::Home;
use serde_json::json;

const SESSIONS: u16 = 200;
const SEGMENTS: u64 = 10;
const ROWS_OF_EACH: u64 = 1_000;
const SHAPE: made::Shape = made::Shape {
    segment_ms: 60_000,
    fragment_ms: 12_000,
    sample_ms: 200,
    sample_bytes: 2,
};

fn main() -> anyhow::Result<()> {
    let home = Home::new()?;
    let spool = home.path().join("spool");
    for n in 0..SESSIONS {
        made::spool(&spool, n, SEGMENTS, SHAPE)?;
    }
    succeeds(&home.agent(&["flush"])?)?;
    let sessions_took = rebuild(&home)?;
    import_rows(&home)?;
    let all_took = rebuild(&home)?;
    let sessions = f64::from(SESSIONS) / sessions_took.as_secs_f64();
    let rows = f64::from(SESSIONS) * f64::from(u32::try_from(ROWS_OF_EACH)?);
    let rows = rows / all_took.saturating_sub(sessions_took).as_secs_f64();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "15 rebuild: {sessions:.0} sessions (goal ≥ 500) and {rows:.0} rows (goal ≥ 100000) a second"
    )?;
    Ok(())
}

/// How long it takes to make the catalogue again, and that it comes out equal.
fn rebuild(home: &Home) -> anyhow::Result<Duration> {
    let before = tables(home)?;
    for entry in fs::read_dir(home.path())? {
        let path = entry?.path();
        if path.to_string_lossy().contains("catalog.db") {
            fs::remove_file(path)?;
        }
    }
    let began = monotonic();
    succeeds(&home.playhead(&["index", "rebuild"])?)?;
    let took = began.elapsed();
    let after = tables(home)?;
    for (table, was) in &before {
        let is = after.get(table).context(table.clone())?;
        let other = was.iter().zip(is).find(|(was, is)| was != is);
        ensure!(
            was == is,
            "{table} of {} rows and {}: {other:?}",
            was.len(),
            is.len()
        );
    }
    Ok(took)
}

/// All that the catalogue says but leases, and but whose store it is: a server says that.
fn tables(home: &Home) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let url = format!("sqlite://{}", home.path().join("catalog.db").display());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let catalog = index::open_catalog(&url)?;
    let mut tables = runtime.block_on(catalog.dump())?;
    tables.remove("store");
    Ok(tables)
}

fn import_rows(home: &Home) -> anyhow::Result<()> {
    let file = home.path().join("rows.ndjson");
    for n in 0..SESSIONS {
        let head = made::head(n);
        write_rows(&file, n, &head.start)?;
        let session = head.id.to_string();
        let file = file.to_string_lossy();
        succeeds(&home.playhead(&["events", "import", &file, "--session", &session])?)?;
    }
    Ok(())
}

fn write_rows(file: &Path, n: u16, start: &capture::WallTime) -> anyhow::Result<()> {
    let mut rows = String::new();
    for i in 0..ROWS_OF_EACH {
        let row = json!({
            "time": start.plus_ms(i64::try_from(i * 600)?),
            "text": format!("GET https://host-{i}.example/path"),
            "source": "proxy",
            "trace_id": format!("{:08x}{:024x}", n + 1, i / 4 + 1),
        });
        rows += &format!("{row}\n");
    }
    Ok(fs::write(file, rows)?)
}

fn succeeds(output: &Output) -> anyhow::Result<()> {
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}
