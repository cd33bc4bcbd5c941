//! Does a recording live in a bucket as it does in a folder? Recorded into ministack, verified,
//! played back, and found again by a rebuild.

use std::path::Path;

use anyhow::ensure;
use pipeline_tests::bucket::{self, KEY, Service};
use pipeline_tests::playhead::{Home, Server};
use pipeline_tests::scene::Scene;

#[test]
fn peer_a_recording_in_a_bucket_plays_and_verifies() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let service = Service::start(folder.path())?;
    let home = bucket::home(&bucket::url("team", service.address))?;
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
    ensure!(play(&home)? == (session, played), "it plays otherwise now");
    no_secret_is_told(home.path())
}

/// The session, and the picture one second in.
fn play(home: &Home) -> anyhow::Result<(String, Vec<u8>)> {
    let server = Server::start(home)?;
    let session = server.only_session()?;
    let picture = session.get("/frame?t=1000&format=png")?;
    ensure!(picture.status == 200, "{}", picture.text());
    Ok((session.id.clone(), picture.body))
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
