//! Do the commands do what they say, with the exit codes they promise?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod fixture;

use std::process::{Command, Output};

use fixture::{
    h264::read_number,
    session::{Fixture, number_at},
};
use segment::key::SessionKeys;

struct Playhead {
    fixture: Fixture,
}

impl Playhead {
    async fn new() -> Self {
        Self {
            fixture: Fixture::record(vec![]).await,
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_playhead"))
            .args(args)
            .env("PLAYHEAD_HOME", self.fixture.folder.path())
            .current_dir(self.fixture.folder.path())
            .output()
            .unwrap()
    }

    /// Runs a command that must exit with `code`, and gives what it printed.
    fn exits(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let text = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}{error}");
        if code == 0 { text } else { text + &error }
    }

    fn exports(&self, code: i32, args: &[&str]) -> String {
        let id = self.id();
        self.exits(code, &[&["export", &*id][..], args].concat())
    }

    fn id(&self) -> String {
        self.fixture.session.to_string()
    }

    fn keys(&self) -> SessionKeys {
        let start = capture::WallTime::from_unix_ms(fixture::session::START_MS);
        SessionKeys::new(self.fixture.session, start)
    }

    /// The file of an object.
    fn object(&self, key: &str) -> std::path::PathBuf {
        self.fixture.folder.path().join("store").join(key)
    }
}

#[tokio::test]
async fn peer_sessions_are_listed_and_shown() {
    let playhead = Playhead::new().await;
    let id = playhead.id();
    assert!(playhead.exits(0, &["sessions"]).contains(&id));
    let line = playhead.exits(0, &["sessions", "fixture", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(json["id"], id);
    let shown = playhead.exits(0, &["show", &id]);
    assert!(
        shown.contains("0:00:21.500 to 0:00:30.000: disconnected"),
        "{shown}"
    );
    let file = playhead.object(&playhead.keys().segment(0));
    let shown = playhead.exits(0, &["show", file.to_str().unwrap()]);
    assert!(shown.contains("segment 0 run 1"), "{shown}");
    playhead.exits(2, &["show", "neither"]);
    playhead.exits(1, &["show", "01937f0e-7c1a-7b2c-9d3e-0123456789ab"]);
}

#[tokio::test]
async fn peer_a_frame_is_saved_by_each_way_to_write_its_time() {
    let playhead = Playhead::new().await;
    let id = playhead.id();
    for (at, t) in [
        ("3.1", 3_100),
        ("0:00:12.500", 12_500),
        ("2026-11-30T09:00:01.600Z", 1_600),
    ] {
        playhead.exits(0, &["frame", &id, "--at", at, "-o", "frame.png"]);
        let file = playhead.fixture.folder.path().join("frame.png");
        let picture = image::open(file).unwrap().into_rgb8();
        let number = read_number(|x, y| picture.get_pixel_checked(x, y).map(|pixel| pixel.0));
        assert_eq!(number, number_at(t), "at {at}");
    }
    let gap = playhead.exits(0, &["frame", &id, "--at", "25", "-o", "gap.webp"]);
    assert!(gap.contains("disconnected"), "{gap}");
    let outside = playhead.exits(1, &["frame", &id, "--at", "40", "-o", "f.png"]);
    assert!(outside.contains("outside the session"), "{outside}");
    playhead.exits(2, &["frame", &id, "--at", "noon", "-o", "f.png"]);
    playhead.exits(2, &["frame", &id, "--at", "1", "-o", "f.gif"]);
}

#[tokio::test]
async fn peer_a_clip_is_saved_whole_or_not_at_all() {
    let playhead = Playhead::new().await;
    let folder = playhead.fixture.folder.path();
    let from_utc = "2026-11-30T09:00:01.100Z";
    let told = playhead.exports(0, &["--from", from_utc, "--to", "8.6", "-o", "clip.mp4"]);
    let length = "clip.mp4: 0:00:07.500 from 0:00:01.100 (2026-11-30T09:00:01.100Z)";
    assert!(told.starts_with(length), "{told}");
    let probe = Command::new("ffprobe")
        .args("-v error -show_entries format=duration -of csv=p=0 clip.mp4".split(' '))
        .current_dir(folder)
        .output()
        .unwrap();
    assert_eq!(probe.stdout, b"7.500000\n");

    let gap = playhead.exports(0, &["--from", "20", "-o", "gap.mp4"]);
    assert!(
        gap.contains("0:00:21.500 to 0:00:30.000 (disconnected)"),
        "{gap}"
    );

    let clip = std::fs::read(folder.join("clip.mp4")).unwrap();
    let told = playhead.exports(2, &["-o", "clip.mp4"]);
    assert!(told.contains("--force"), "{told}");
    assert_eq!(std::fs::read(folder.join("clip.mp4")).unwrap(), clip);
    playhead.exports(0, &["--to", "1", "-o", "clip.mp4", "--force"]);
    assert_ne!(std::fs::read(folder.join("clip.mp4")).unwrap(), clip);

    for args in [
        ["--to", "40", "-o", "f.mp4"],
        ["--from", "32", "-o", "f.mp4"],
        ["--to", "0", "-o", "f.mp4"],
    ] {
        playhead.exports(1, &args);
    }
    playhead.exports(2, &["-o", "f.avi"]);
    playhead.exports(2, &["--from", "noon", "-o", "f.mp4"]);

    // A recording that is damaged on the way leaves nothing behind.
    replace(&playhead.object(&playhead.keys().segment(2)), None);
    playhead.exports(1, &["-o", "f.mp4"]);
    let left = std::fs::read_dir(folder).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    let strange = |name: &&std::ffi::OsString| {
        let name = name.to_string_lossy();
        name.starts_with(".playhead") || name == "f.mp4"
    };
    assert_eq!(left.iter().find(strange), None);
}

#[tokio::test]
async fn peer_rows_are_imported_and_found() {
    let playhead = Playhead::new().await;
    let id = playhead.id();
    let rows = playhead.fixture.folder.path().join("rows.ndjson");
    let good = r#"{"id":"e1","time":"2026-11-30T09:00:03.100Z","text":"GET /"}"#;
    std::fs::write(&rows, format!("{good}\nbroken\n")).unwrap();
    let told = playhead.exits(1, &["events", "import", "rows.ndjson", "--session", &id]);
    assert!(told.contains("line 2: not JSON"), "{told}");
    assert!(
        told.contains("1 accepted, 0 known already, 1 refused"),
        "{told}"
    );
    std::fs::write(&rows, good).unwrap();
    let told = playhead.exits(0, &["events", "import", "rows.ndjson", "--session", &id]);
    assert!(told.contains("0 accepted, 1 known already"), "{told}");
    let found = playhead.exits(0, &["resolve", "--event", "e1"]);
    assert!(
        found.contains("0:00:03.100") && found.contains("/s/"),
        "{found}"
    );
    playhead.exits(0, &["resolve", "--session", &id, "--at", "0:05"]);
    playhead.exits(1, &["resolve", "--event", "none"]);
    playhead.exits(2, &["resolve"]);
}

#[tokio::test]
async fn peer_an_untouched_session_verifies_and_each_fault_is_named() {
    let playhead = Playhead::new().await;
    let id = playhead.id();
    let store = playhead.fixture.folder.path().join("store");
    playhead.exits(0, &["verify", &id]);
    playhead.exits(0, &["verify", store.to_str().unwrap()]);
    let folder = store.join(playhead.keys().prefix());
    playhead.exits(0, &["verify", folder.to_str().unwrap(), "--json"]);
    playhead.exits(2, &["verify", "nothing-here"]);
    playhead.exits(2, &["verify", "01937f0e-7c1a-7b2c-9d3e-0123456789ab"]);

    let keys = playhead.keys();
    for key in [
        keys.head(),
        keys.segment(0),
        keys.idle(1),
        keys.thumb(0),
        keys.end(),
    ] {
        let file = playhead.object(&key);
        let whole = std::fs::read(&file).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        replace(&file, Some(&flipped));
        assert!(
            playhead.exits(1, &["verify", &id]).contains(&key),
            "{key} flipped"
        );
        replace(&file, Some(&whole[..whole.len() - 1]));
        assert!(
            playhead.exits(1, &["verify", &id]).contains(&key),
            "{key} cut"
        );
        replace(&file, None);
        assert!(
            playhead.exits(1, &["verify", &id]).contains(&key),
            "{key} gone"
        );
        replace(&file, Some(&whole));
    }
    playhead.exits(0, &["verify", &id]);
    let file = playhead.object(&keys.segment(0));
    playhead.exits(0, &["verify", file.to_str().unwrap()]);
}

/// Stored files are read-only; this puts another in the place of one.
fn replace(file: &std::path::Path, bytes: Option<&[u8]>) {
    std::fs::remove_file(file).unwrap_or_default();
    if let Some(bytes) = bytes {
        std::fs::write(file, bytes).unwrap();
    }
}

#[tokio::test]
async fn peer_a_rebuilt_catalogue_is_equal() {
    let playhead = Playhead::new().await;
    let before = playhead.exits(0, &["sessions", "--json"]);
    playhead.exits(0, &["index", "check"]);
    let rebuilt = playhead.exits(0, &["index", "rebuild"]);
    assert!(
        rebuilt.contains("1 sessions, 3 objects, 0 rows"),
        "{rebuilt}"
    );
    assert_eq!(playhead.exits(0, &["sessions", "--json"]), before);
}

#[tokio::test]
async fn peer_a_server_that_others_can_reach_is_refused() {
    let playhead = Playhead::new().await;
    let told = playhead.exits(2, &["serve", "--listen", "0.0.0.0:0"]);
    assert!(told.contains("[auth]"), "{told}");
    playhead.exits(2, &["serve", "--store", "ftp://x"]);
    playhead.exits(2, &["no-such-command"]);
}
