//! Does a real player play what a real server serves?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod fixture;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use fixture::session::{FIRST_MS, Fixture, IDLE_MS, SECOND_MS};

/// `playhead serve`, ended with the test.
struct Server {
    process: Child,
    site: String,
}

impl Server {
    fn start(fixture: &Fixture) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_playhead"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("PLAYHEAD_HOME", fixture.folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let site = line.trim().trim_end_matches("/sessions").to_owned();
        assert!(site.starts_with("http://127.0.0.1:"), "{line}");
        Self { process, site }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
    }
}

#[tokio::test]
async fn ffmpeg_plays_the_playlist_to_its_end() {
    let fixture = Fixture::record(vec![]).await;
    let server = Server::start(&fixture);
    let playlist = format!(
        "{}/api/v1/sessions/{}/hls/index.m3u8",
        server.site, fixture.session
    );
    let output = Command::new("ffprobe")
        .args("-v error -select_streams v -show_entries packet=pts_time".split(' '))
        .args(["-of", "csv=p=0", &playlist])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.is_empty(), "{told}");
    let text = String::from_utf8(output.stdout).unwrap();
    let times_ms: Vec<f64> = text
        .lines()
        .map(|line| 1000.0 * line.trim_end_matches(',').parse::<f64>().unwrap())
        .collect();

    // FFmpeg goes by the time in each fragment, which is the session's: also past the gap.
    let [idle_from, idle_to] = IDLE_MS;
    let idle = (idle_from..idle_to).step_by(1_000);
    let recorded = FIRST_MS.into_iter().chain(idle).chain(SECOND_MS);
    let recorded: Vec<u32> = recorded.map(|t| u32::try_from(t).unwrap()).collect();
    assert_eq!(times_ms.len(), recorded.len(), "{times_ms:?}");
    for (played, recorded) in times_ms.iter().zip(recorded) {
        let played = played - times_ms[0];
        assert!(
            (played - f64::from(recorded)).abs() < 0.1,
            "{played} for {recorded}"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_asked_to_stop_ends_cleanly() {
    let fixture = Fixture::record(vec![]).await;
    let mut server = Server::start(&fixture);
    let pid = server.process.id().to_string();
    let asked = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(asked.success());
    assert!(server.process.wait().unwrap().success());
}
