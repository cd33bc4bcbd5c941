//! Do `playhead index check` and `rebuild` find and mend what is wrong, and say so by their exit
//! codes?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use std::process::{Command, Output};

use capture::{
    SessionId, Size, WallTime,
    session::{RunContext, SessionHead},
    source::Protocol,
};
use index::{commit::commit_head, open_catalog};
use tempfile::TempDir;

const START_MS: u64 = 1_800_000_000_000;

/// A home whose store holds two sessions that the catalogue `name` knows.
async fn home(name: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let store = store::open_store(&format!("file://{}/store", home.path().display())).unwrap();
    let catalog = open_catalog(&format!("sqlite://{}/{name}", home.path().display())).unwrap();
    for n in 1..=2 {
        let head = SessionHead {
            format: SessionHead::FORMAT,
            id: SessionId::new(START_MS, [n; 10]),
            start: WallTime::from_unix_ms(i64::try_from(START_MS).unwrap()),
            protocol: Protocol::Vnc,
            source: "vnc://127.0.0.1:5901".into(),
            server_name: "desk".into(),
            size: Size::new(64, 48),
            fps_max: 15,
            policy: None,
            recorder: "test".into(),
            context: RunContext::default(),
        };
        commit_head(&*store, &*catalog, &head).await.unwrap();
    }
    home
}

fn index(home: &TempDir, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_playhead"))
        .arg("index")
        .args(args)
        .env("PLAYHEAD_HOME", home.path())
        .output()
        .unwrap()
}

/// The command ends with `code` and says `said`.
fn check(home: &TempDir, args: &[&str], code: i32, said: &str) {
    let output = index(home, args);
    let all = [output.stdout, output.stderr].concat();
    let all = String::from_utf8(all).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {all}");
    assert!(all.contains(said), "{args:?}: {all}");
}

#[tokio::test]
async fn a_lost_catalogue_is_found_and_made_again() {
    let home = home("elsewhere.db").await;
    check(&home, &["check"], 1, "stored, but not in the catalogue");
    check(&home, &["rebuild"], 0, "2 sessions, 0 objects, 0 rows");
    check(&home, &["check"], 0, "is what a rebuild would make");
    let json = index(&home, &["check", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        (&json["agrees"], &json["sessions"]),
        (&true.into(), &2.into())
    );
}

#[tokio::test]
async fn a_check_needs_no_marker_and_writes_none() {
    let home = home("catalog.db").await;
    check(&home, &["check"], 0, "is what a rebuild would make");
    assert!(!home.path().join("store/v1/owner.json").exists());
}

#[tokio::test]
async fn a_session_that_is_no_longer_stored_and_one_that_differs_are_named() {
    let home = home("catalog.db").await;
    index(&home, &["rebuild"]);
    let session = |n: u8| {
        let id = SessionId::new(START_MS, [n; 10]);
        home.path()
            .join(format!("store/v1/2027/01/15/{id}/session.json"))
    };
    std::fs::remove_file(session(1)).unwrap();
    check(&home, &["check"], 1, "in the catalogue, but not stored");
    let head = std::fs::read_to_string(session(2)).unwrap();
    std::fs::write(session(2), head.replace("desk", "mesa")).unwrap();
    check(&home, &["check"], 1, "not as stored");
    std::fs::write(session(2), "no head").unwrap();
    check(&home, &["check"], 1, "session.json: ");
}

#[tokio::test]
async fn a_catalogue_of_another_store_is_taken_over_only_when_asked() {
    let home = home("elsewhere.db").await;
    let url = format!("sqlite://{}/catalog.db", home.path().display());
    open_catalog(&url)
        .unwrap()
        .set_store_ids(&["another".to_owned()])
        .await
        .unwrap();
    check(&home, &["rebuild"], 2, "--adopt");
    check(&home, &["rebuild", "--adopt"], 0, "2 sessions");
    check(&home, &["check"], 0, "is what a rebuild would make");
}

#[tokio::test]
async fn what_cannot_be_checked_is_no_fault() {
    let home = home("elsewhere.db").await;
    std::fs::write(home.path().join("catalog.db"), vec![b'x'; 8192]).unwrap();
    check(&home, &["check"], 2, "damaged");
    check(&home, &["rebuild"], 0, "2 sessions");
    check(&home, &["check"], 0, "is what a rebuild would make");
}
