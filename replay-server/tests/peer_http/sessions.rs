//! Sessions in lists, and what happened in them by second.

use axum::http::StatusCode;
use serde_json::json;

use crate::{
    client::Client,
    fixture::session::{DURATION_MS, IDLE_MS},
};

#[tokio::test]
async fn peer_a_session_is_listed_and_shown() {
    let client = Client::new().await;
    let list = client
        .json("//api/v1/sessions?q=fixture&actor=agent-1")
        .await;
    let listed = &list["sessions"][0];
    assert_eq!(listed["state"], "ended");
    assert_eq!(listed["duration_ms"], DURATION_MS);
    assert_eq!(listed["gaps"], 1);
    assert_eq!(list["facets"]["protocol"]["vnc"], 1);
    assert_eq!(
        client.json("//api/v1/sessions?q=absent").await["sessions"],
        json!([])
    );

    let session = client.json("").await;
    assert_eq!(session["id"], listed["id"]);
    assert_eq!(session["settled"], true);
    assert_eq!(session["rights"]["identity"], "local");
    assert_eq!(session["gaps"][0]["reason"], "disconnected");
    let run = client.json("//api/v1/runs/run-1").await;
    assert_eq!(run["sessions"][0]["id"], listed["id"]);
    assert_eq!(run["sessions"][0]["offset_ms"], 0);
}

#[tokio::test]
async fn peer_density_counts_in_lanes() {
    let client = Client::new().await;
    let density = client.json("/density?n=32").await;
    assert_eq!([&density["from"], &density["to"]], [0, DURATION_MS]);
    for lane in [
        "activity", "log", "recorded", "allowed", "asked", "blocked", "input",
    ] {
        assert_eq!(
            density["lanes"][lane].as_array().unwrap().len(),
            32,
            "{lane}"
        );
    }
    assert!(density["lanes"]["activity"][0].as_u64().unwrap() > 0);
    assert_eq!(
        density["lanes"]["activity"][usize::try_from(IDLE_MS[0]).unwrap() / 1000 + 1],
        0
    );
    assert_eq!(
        client.get("/density?n=0", &[]).await.status,
        StatusCode::BAD_REQUEST
    );
}
