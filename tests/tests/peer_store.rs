//! Is the store the truth, and would it show a change? The catalogue is dropped and rebuilt;
//! every object is damaged in every way.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use pipeline_tests::playhead::{Home, Server};
use pipeline_tests::scene::Scene;
use pipeline_tests::truth::wall;
use serde_json::json;

/// A closed recording of two segments with some rows, all but one of which find it.
fn record() -> anyhow::Result<Home> {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let options = [
        "--run",
        "r-store",
        "--actor",
        "painter",
        "--traceparent",
        trace,
    ];
    let scene = Scene::start((1024, 768), &options)?;
    let first = scene.work(1_500)?;
    scene
        .desktop
        .run("xrandr", &["--output", "VNC-0", "--mode", "800x600"])?;
    let second = scene.work(1_500)?;
    let (home, _) = scene.close()?;
    let rows = [
        json!({"id": "e-1", "time": wall(first)?, "run": "r-store", "text": "asked", "outcome": "asked", "request": "q"}),
        json!({"id": "e-2", "time": wall(second)?, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
            "span_id": "00f067aa0ba902b8", "text": "blocked", "outcome": "blocked", "request": "q"}),
        json!({"id": "e-3", "time": wall(second)?, "run": "r-another", "text": "waits for its session"}),
    ];
    let file = home.path().join("rows.ndjson");
    fs::write(&file, rows.map(|row| row.to_string()).join("\n"))?;
    let imported = home.playhead(&["events", "import", &file.to_string_lossy()])?;
    ensure!(imported.status.success(), "{imported:?}");
    Ok(home)
}

#[test]
fn peer_a_rebuilt_catalogue_gives_the_same_answers() -> anyhow::Result<()> {
    let home = record()?;
    let before = answers(&home)?;
    for entry in fs::read_dir(home.path())? {
        let path = entry?.path();
        if path.to_string_lossy().contains("catalog.db") {
            fs::remove_file(path)?;
        }
    }
    let rebuilt = home.playhead(&["index", "rebuild"])?;
    ensure!(rebuilt.status.success(), "{rebuilt:?}");
    for ((path, was), (_, is)) in before.iter().zip(answers(&home)?) {
        ensure!(*was == is, "{path} was\n{was}\nand is\n{is}");
    }
    Ok(())
}

/// What the API says to everything that can be asked about the recording.
fn answers(home: &Home) -> anyhow::Result<Vec<(String, String)>> {
    let server = Server::start(home)?;
    let session = server.only_session()?;
    let parts = [
        "",
        "/timeline",
        "/density?n=256",
        "/events",
        "/events?kinds=log",
        "/thumbs.json",
        "/hls/index.m3u8",
        "/frame?t=1000&format=png",
    ];
    let of_session = parts.map(|part| format!("/api/v1/sessions/{}{part}", session.id));
    let of_all = [
        "/api/v1/sessions",
        "/api/v1/sessions?run=r-store",
        "/api/v1/sessions?outcome=blocked",
        "/api/v1/runs/r-store",
        "/api/v1/resolve?event=e-1",
        "/api/v1/resolve?event=e-3",
        "/api/v1/resolve?trace_id=4bf92f3577b34da6a3ce929d0e0e4736",
        "/api/v1/resolve?trace_id=4bf92f3577b34da6a3ce929d0e0e4736&span_id=00f067aa0ba902b8",
    ];
    let paths = of_session.into_iter().chain(of_all.map(str::to_owned));
    paths
        .map(|path| {
            let answer = server.get(&path)?;
            Ok((path, format!("{} {}", answer.status, answer.text())))
        })
        .collect()
}

#[test]
fn peer_verify_names_each_object_that_is_not_as_it_was() -> anyhow::Result<()> {
    let home = record()?;
    let server = Server::start(&home)?;
    let session = server.only_session()?.id;
    drop(server);
    let (code, said) = verify(&home, &session)?;
    ensure!(code == Some(0), "an untouched session: {code:?} {said}");

    let objects = evidence(&home, &session)?;
    ensure!(objects.len() >= 6, "too few objects: {objects:?}");
    for object in &objects {
        check(&home, &session, object, "flipped", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        })?;
        check(&home, &session, object, "truncated", |bytes| {
            bytes.truncate(bytes.len() - 1);
        })?;
        check(&home, &session, object, "dropped", Vec::clear)?;
    }
    for pair in objects
        .windows(2)
        .filter(|pair| pair[0].parent() == pair[1].parent())
    {
        swap(&pair[0], &pair[1])?;
        expect_fault(&home, &session, &pair[0], "swapped")?;
        swap(&pair[0], &pair[1])?;
    }
    let (code, said) = verify(&home, &session)?;
    ensure!(code == Some(0), "after all was put back: {code:?} {said}");
    Ok(())
}

/// The objects that the session's end lists, and the end itself.
fn evidence(home: &Home, session: &str) -> anyhow::Result<Vec<PathBuf>> {
    let all = home.objects("")?;
    let recorded = ["session.json", ".mp4", ".jpg", "end.json"];
    let of_session = all.into_iter().filter(|path| {
        let key = path.to_string_lossy();
        key.contains(session) && recorded.iter().any(|ending| key.ends_with(ending))
    });
    Ok(of_session.collect())
}

/// Damages one object, expects `verify` to say so by its name, and puts it back.
fn check(
    home: &Home,
    session: &str,
    object: &Path,
    how: &str,
    damage: impl Fn(&mut Vec<u8>),
) -> anyhow::Result<()> {
    let whole = fs::read(object)?;
    let mut bytes = whole.clone();
    damage(&mut bytes);
    // Stored objects are read-only: replacing one is what a forger would do.
    fs::remove_file(object)?;
    if !bytes.is_empty() {
        fs::write(object, &bytes)?;
    }
    let found = expect_fault(home, session, object, how);
    let _ = fs::remove_file(object);
    fs::write(object, whole)?;
    found
}

fn swap(one: &Path, other: &Path) -> anyhow::Result<()> {
    let aside = one.with_extension("aside");
    fs::rename(one, &aside)?;
    fs::rename(other, one)?;
    Ok(fs::rename(&aside, other)?)
}

fn expect_fault(home: &Home, session: &str, object: &Path, how: &str) -> anyhow::Result<()> {
    let name = object.file_name().context("no name")?.to_string_lossy();
    let (code, said) = verify(home, session)?;
    ensure!(
        code == Some(1),
        "{name} {how}: verify answers {code:?}: {said}"
    );
    ensure!(
        said.contains(&*name),
        "{name} {how}, but verify says {said}"
    );
    Ok(())
}

fn verify(home: &Home, session: &str) -> anyhow::Result<(Option<i32>, String)> {
    let output = home.playhead(&["verify", session])?;
    let said = [output.stdout, output.stderr].concat();
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}
