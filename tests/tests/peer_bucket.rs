//! Does a recording live in a bucket as it does in a folder? Recorded into ministack, verified,
//! played back, and found again by a rebuild.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;
use pipeline_tests::http;
use pipeline_tests::playhead::{Home, Server};
use pipeline_tests::process::Process;
use pipeline_tests::scene::Scene;

/// It may have to be installed first.
const START: Duration = Duration::from_secs(240);

/// An S3 service with one bucket, `recordings`.
struct Service {
    address: SocketAddr,
    _process: Process,
}

impl Service {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/ministack");
        let mut command = Command::new(script);
        command.arg(address.port().to_string());
        let mut process = Process::start("ministack", folder, &mut command)?;
        process.wait_until("ministack", START, || http::get(address, "/").is_ok())?;
        let bucket = format!("http://{address}/recordings");
        let made = Command::new("curl")
            .args(["--silent", "--fail", "--request", "PUT", &bucket])
            .status()?;
        ensure!(made.success(), "no bucket: {made}");
        Ok(Self {
            address,
            _process: process,
        })
    }
}

#[test]
fn peer_a_recording_in_a_bucket_plays_and_verifies() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let service = Service::start(folder.path())?;
    let url = format!("s3://recordings/team?endpoint=http://{}", service.address);
    let home = Home::new()?
        .with("PLAYHEAD_STORE", &url)
        .with("AWS_ACCESS_KEY_ID", "test")
        .with("AWS_SECRET_ACCESS_KEY", "hunter2");
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
            let told = bytes.windows(7).any(|window| window == b"hunter2");
            ensure!(!told, "{} holds the key", path.display());
        }
    }
    Ok(())
}
