//! What is unknown, damaged or hostile, and what every answer carries.

use axum::http::StatusCode;
use index::owner;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    client::Client,
    fixture::session::{Fixture, START_MS},
};

#[tokio::test]
async fn peer_unknown_things_are_404_as_json() {
    let client = Client::new().await;
    let other = "01937f0e-7c1a-7b2c-9d3e-0123456789ab";
    for (path, code) in [
        (format!("//api/v1/sessions/{other}"), "unknown_session"),
        (
            format!("//api/v1/sessions/{other}/timeline"),
            "unknown_session",
        ),
        (
            format!("//api/v1/sessions/{other}/frame?t=0"),
            "unknown_session",
        ),
        (
            "//api/v1/sessions/..%2f..%2fetc".to_owned(),
            "unknown_session",
        ),
        ("//api/v1/runs/none".to_owned(), "unknown_run"),
        ("//api/v1/nothing".to_owned(), "unknown_call"),
        ("//api/v2/sessions".to_owned(), "unknown_call"),
        ("/media/7/init.mp4".to_owned(), "unknown_media"),
        ("/media/0/9.m4s".to_owned(), "unknown_media"),
        ("/media/0.g1/0.m4s".to_owned(), "unknown_media"),
        ("/media/1/init.mp4".to_owned(), "unknown_media"),
        ("/thumbs/2.jpg".to_owned(), "unknown_media"),
        ("//favicon.gif".to_owned(), "unknown_page"),
    ] {
        let answer = client.get(&path, &[]).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["error"]["code"], code, "{path}");
    }
}

#[tokio::test]
async fn peer_every_answer_carries_the_headers_that_keep_browsers_safe() {
    let client = Client::new().await;
    for path in [
        "",
        "/frame?t=0",
        "/media/0/0.m4s",
        "//sessions",
        "//nowhere",
        "//healthz",
    ] {
        let answer = client.get(path, &[]).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("object-src 'none'"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
    }
    let foreign = client.get("", &[("host", "rebound.example")]).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn peer_the_server_is_ready_while_its_store_is_there() {
    let fixture = Fixture::record(vec![]).await;
    let (store, catalog) = (&*fixture.archive.store, &*fixture.archive.catalog);
    let claimed = owner::claim(store, catalog, Uuid::from_u128(1)).await;
    claimed.unwrap();
    let client = Client::of(fixture);
    client.ok("//healthz").await;
    client.ok("//readyz").await;
}

#[tokio::test]
async fn peer_a_missing_or_damaged_object_is_told_and_no_picture_is_made_up() {
    let fixture = Fixture::record(vec![]).await;
    let start = capture::WallTime::from_unix_ms(START_MS);
    let key = segment::key::SessionKeys::new(fixture.session, start).segment(0);
    let file = fixture.folder.path().join("store").join(key);
    let mut bytes = std::fs::read(&file).unwrap();
    let manifest = segment::mp4::read_manifest(&bytes).unwrap();
    let fragment = manifest.fragments[1].byte_range();
    let middle = usize::try_from(fragment.start + (fragment.end - fragment.start) / 2).unwrap();
    bytes[middle..middle + 64].fill(0xa5);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, &bytes).unwrap();

    let client = Client::of(fixture);
    assert_eq!(client.number("/frame?t=0&format=png").await, 0);
    let damaged = client.get("/frame?t=3999", &[]).await;
    std::fs::remove_file(&file).unwrap();
    let missing = client.get("/media/0/2.m4s", &[]).await;
    for answer in [damaged, missing] {
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["error"]["code"], "recording_damaged");
    }
}

#[tokio::test]
async fn peer_no_address_makes_the_server_fail() {
    let client = Client::new().await;
    let hostile = [
        "",
        "0",
        "-1",
        "18446744073709551615",
        "99999999999999999999",
        "1e9",
        "NaN",
        "null",
        "%00",
        "%ff",
        "..%2f..%2fetc%2fpasswd",
        "%27%20OR%201=1--",
        "%F0%9F%92%A3",
        "[]",
        "{}",
        "2026-11-30T09:00:00Z",
        "9999-12-31T23:59:59.999Z",
        "0000-01-01T00:00:00Z",
        "a,b,c,d",
        "0,0,4294967295,4294967295",
        "4294967295,0,1,1",
    ];
    let calls = [
        "//api/v1/sessions?q=",
        "//api/v1/sessions?cursor=",
        "//api/v1/sessions?limit=",
        "//api/v1/sessions?from=",
        "//api/v1/sessions?label.x=",
        "//api/v1/sessions/",
        "//api/v1/runs/",
        "/density?n=",
        "/events?cursor=",
        "/events?from=",
        "/events?q=",
        "/events?kinds=",
        "/events?limit=",
        "/media/",
        "/media/0/",
        "/media/0/0.m4s?at=0&to=",
        "/media/0/0.m4s?to=18446744073709551615&at=",
        "/hls/index.m3u8?from=",
        "/hls/index.m3u8?to=",
        "/frame?t=",
        "/frame?at=",
        "/frame?event=",
        "/frame?t=0&width=",
        "/frame?t=0&rect=",
        "/frame?t=0&format=",
        "/clip.mp4?from=",
        "/clip.mp4?to=",
        "/thumbs/",
        "//api/v1/resolve?event=",
        "//api/v1/resolve?trace_id=",
        "//api/v1/resolve?run=run-1&at=",
        "//s/",
        "//assets/",
    ];
    for call in calls {
        for value in hostile {
            let path = format!("{call}{value}");
            let answer = client.get(&path, &[]).await;
            // 503 is the viewer's, where it is not built.
            let status = answer.status.as_u16();
            assert!(status < 500 || status == 503, "{path}: {status}");
        }
    }
}
