//! Which picture does a moment show?

use serde_json::{Value, json};

use crate::{
    client::Client,
    fixture::session::{DURATION_MS, FIRST, SECOND, number_at},
};

#[tokio::test]
async fn peer_every_moment_shows_the_frame_recorded_then() {
    let client = Client::new().await;
    // Each change, the millisecond before it, and steps that fall into repeats and the gap.
    let steps = (0..DURATION_MS).step_by(271);
    let edges = [
        39, 40, 2_999, 3_000, 8_999, 9_000, 13_999, 14_000, 21_499, 29_999, 30_010,
    ];
    for t in steps.chain(edges) {
        let number = client.number(&format!("/frame?format=png&t={t}")).await;
        assert_eq!(number, number_at(t), "at {t}");
    }
}

#[tokio::test]
async fn peer_a_frame_says_when_it_was_and_that_there_was_a_gap() {
    let client = Client::new().await;
    let frame = client.ok("/frame?t=2500&format=webp").await;
    assert_eq!(frame.header("content-type"), "image/webp");
    assert_eq!(frame.header("x-playhead-frame-t"), "2200");
    assert_eq!(
        frame.header("x-playhead-frame-utc"),
        "2026-11-30T09:00:02.200Z"
    );
    assert_eq!(frame.header("x-playhead-error-ms"), "4");
    assert_eq!(frame.header("x-playhead-gap"), "");

    let gap = client.ok("/frame?t=25000").await;
    assert_eq!(gap.header("x-playhead-gap"), "disconnected; 21500; 30000");
    assert_eq!(gap.header("x-playhead-frame-t"), "21000");
}

#[tokio::test]
async fn peer_a_frame_can_be_cut_and_scaled_and_an_odd_screen_has_its_true_size() {
    let client = Client::new().await;
    let size = async |query: &str| {
        let file = client.ok(&format!("/frame?{query}")).await.body;
        let picture = image::load_from_memory(&file).unwrap();
        [picture.width(), picture.height()]
    };
    assert_eq!(size("t=0").await, [FIRST.w, FIRST.h]);
    assert_eq!(size("t=30000&format=png").await, [SECOND.w, SECOND.h]);
    assert_eq!(size("t=0&width=160").await, [160, 100]);
    assert_eq!(size("t=0&rect=10,20,30,40").await, [30, 40]);
    assert_eq!(size("t=0&rect=0,0,320,200&width=5000").await, [320, 200]);
}

#[tokio::test]
async fn peer_bad_times_and_parameters_each_have_their_answer() {
    let client = Client::new().await;
    for (query, status, code) in [
        ("t=32000", 400, "time_outside_session"),
        ("at=2026-11-30T08:59:59Z", 400, "time_outside_session"),
        ("at=2026-11-30T09:10:00Z", 400, "time_outside_session"),
        ("at=2026-11-30T09:00:15Z", 409, "ambiguous_time"),
        ("t=25000&gap=refuse", 409, "in_gap"),
        ("", 400, "bad_parameter"),
        ("t=1&at=2026-11-30T09:00:01Z", 400, "bad_parameter"),
        ("t=-1", 400, "bad_parameter"),
        ("t=1.5", 400, "bad_parameter"),
        ("at=noon", 400, "bad_parameter"),
        ("t=1&format=gif", 400, "bad_parameter"),
        ("t=1&width=0", 400, "bad_parameter"),
        ("t=1&rect=1,2,3", 400, "bad_parameter"),
        ("t=1&rect=300,0,50,10", 400, "bad_parameter"),
        ("t=1&side=after", 400, "bad_parameter"),
        ("t=1&with=0", 400, "bad_parameter"),
        ("event=none", 404, "unknown_event"),
    ] {
        let answer = client.get(&format!("/frame?{query}"), &[]).await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer.status.as_u16(), status, "{query}: {body}");
        assert_eq!(body["error"]["code"], code, "{query}: {body}");
        assert!(body["error"]["message"].is_string());
    }
    let answer = client.get("/frame?at=2026-11-30T09:00:15Z", &[]).await;
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["error"]["moments"], json!([15_000, 20_000]));
    let answer = client.get("/frame?t=99999", &[]).await;
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["error"]["range"], json!([0, DURATION_MS]));
}
