//! Does a recording live in a bucket as it does in a folder? Recorded into ministack, verified,
//! played back, and found again by a rebuild; older recordings beside it, where they are and moved.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use pipeline_tests::bucket::{self, KEY, Service};
use pipeline_tests::playhead::{Home, Server};
use pipeline_tests::scene::Scene;

#[test]
fn peer_a_recording_in_a_bucket_plays_and_verifies() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let service = Service::start(folder.path())?;
    let url = bucket::url("team", service.address);
    let home = bucket::home(&url)?;
    let scene = Scene::start_in(home, (800, 600), &[])?;
    scene.work(1_500)?;
    let (home, _) = scene.close()?;
    ensure!(!home.path().join("store").exists(), "a folder was used");

    let (session, played) = play(&home)?;
    let verified = home.playhead(&["verify", &session])?;
    ensure!(verified.status.success(), "{verified:?}");

    std::fs::remove_file(home.path().join("catalog.db"))?;
    let rebuilt = home.playhead(&["index", "rebuild"])?;
    ensure!(rebuilt.status.success(), "{rebuilt:?}");
    let played = (session, played);
    ensure!(play(&home)? == played, "it plays otherwise now");
    let home = older_recordings_play_beside_it(home, &service, &url, &played)?;
    no_secret_is_told(home.path())
}

/// What was recorded into a folder plays beside `played`, from there, and when it was moved.
fn older_recordings_play_beside_it(
    home: Home,
    service: &Service,
    url: &str,
    played: &(String, Vec<u8>),
) -> anyhow::Result<Home> {
    let old = home.path().join("old");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/recording");
    let copied = Command::new("cp")
        .arg("-r")
        .args([&sample, &old])
        .status()?;
    ensure!(copied.success(), "{copied}");
    let home = home.with("PLAYHEAD_STORE", &format!("{url} file://{}", old.display()));
    // It has a marker of its own: it was another catalogue's.
    let refused = home.playhead(&["serve"])?;
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(said.contains("belongs to another store"), "{said}");
    let rebuilt = home.playhead(&["index", "rebuild", "--adopt"])?;
    ensure!(rebuilt.stdout.starts_with(b"2 sessions"), "{rebuilt:?}");
    let checked = home.playhead(&["index", "check"])?;
    ensure!(checked.status.success(), "{checked:?}");
    let both = play_all(&home)?;
    ensure!(both.len() == 2 && both.contains(played), "others play");

    let mut folders = vec![old.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let key = path.strip_prefix(&old)?.display();
                service.put(&format!("recordings/moved/{key}"), &path)?;
            }
        }
    }
    std::fs::remove_dir_all(&old)?;
    let moved = bucket::url("moved", service.address);
    let home = home.with("PLAYHEAD_STORE", &format!("{url} {moved}"));
    ensure!(
        play_all(&home)? == both,
        "they play otherwise where they are now"
    );
    Ok(home)
}

/// The one session, and its picture one second in.
fn play(home: &Home) -> anyhow::Result<(String, Vec<u8>)> {
    let mut played = play_all(home)?;
    ensure!(played.len() == 1, "{} sessions play", played.len());
    played.pop().context("none plays")
}

/// Each session with its picture one second in.
fn play_all(home: &Home) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let server = Server::start(home)?;
    let listed = server.json("/api/v1/sessions?sort=oldest")?;
    let sessions = listed["sessions"].as_array().context("no sessions")?;
    let play = |session: &serde_json::Value| {
        let session = server.session(session["id"].as_str().context("no id")?);
        let picture = session.get("/frame?t=1000&format=png")?;
        ensure!(picture.status == 200, "{}", picture.text());
        Ok((session.id.clone(), picture.body))
    };
    sessions.iter().map(play).collect()
}

/// What the programs have said and kept does not hold the key.
fn no_secret_is_told(folder: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            let bytes = std::fs::read(&path)?;
            let told = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
            ensure!(!told, "{} holds the key", path.display());
        }
    }
    Ok(())
}
