//! Does a real player play what a real server serves?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod fixture;

use std::process::Command;

use fixture::{
    server::Server,
    session::{
        DURATION_MS, FIRST_MS, Fixture, GAP_MS, IDLE_MS, SECOND_MS, START_MS, STEP_MS, number_at,
    },
};

/// The address of the session's playlist.
fn playlist(server: &Server, fixture: &Fixture) -> String {
    let Server { site, .. } = server;
    format!("{site}/api/v1/sessions/{}/hls/index.m3u8", fixture.session)
}

#[tokio::test]
async fn peer_ffmpeg_plays_the_playlist_to_its_end() {
    let fixture = Fixture::record(vec![]).await;
    let server = Server::start(&fixture);
    let playlist = playlist(&server, &fixture);
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
async fn peer_a_server_that_is_asked_to_stop_ends_cleanly() {
    let fixture = Fixture::record(vec![]).await;
    let mut server = Server::start(&fixture);
    let pid = server.process.id().to_string();
    let asked = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(asked.success());
    assert!(server.process.wait().unwrap().success());
}

/// Moments whose UTC came once, each beside what hls.js must show then.
const SEEKS_MS: [u64; 14] = [
    1_499, 1_500, 0, 12_999, 30_000, 4_000, 39, 30_010, 3_033, 9_000, 31_500, 3_032, 8_999, 700,
];

#[tokio::test]
async fn peer_hls_js_seeks_to_the_exact_picture_and_plays_over_the_gap() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hls.mjs");
    let fixture = Fixture::record(vec![]).await;
    let server = Server::start(&fixture);
    let playlist = playlist(&server, &fixture);
    let utc = |t: u64| {
        // The clock was set back by 5 s on the way.
        let back = if STEP_MS <= t { 5_000 } else { 0 };
        START_MS + i64::try_from(t).unwrap() - back
    };
    let output = Command::new("node")
        .args([script, &playlist])
        .args(SEEKS_MS.map(|t| utc(t).to_string()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["faults"], serde_json::json!([]));
    let shown: Vec<_> = found["seeks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|seek| seek["number"].clone())
        .collect();
    assert_eq!(shown, SEEKS_MS.map(number_at));
    let played = found["played"].as_array().unwrap();
    assert_eq!(played.last(), Some(&number_at(DURATION_MS - 1).into()));
    assert!(played.contains(&number_at(GAP_MS[0]).into()), "{played:?}");
}
