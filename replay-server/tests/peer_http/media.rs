//! Media as players fetch it: timeline, fragments, sprites, playlist.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{
    client::Client,
    fixture::session::{DURATION_MS, Fixture, GAP_MS, mask},
};

#[tokio::test]
async fn peer_the_timeline_lists_repetitions_where_they_are_shown() {
    let client = Client::new().await;
    let timeline = client.json("/timeline").await;
    assert_eq!(timeline["duration_ms"], DURATION_MS);
    assert_eq!(timeline["live"], false);
    let spans: Vec<Value> = timeline["fragments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| json!([f["seq"], f["fragment"], f["t"], f["dur"], f["at"], f["to"]]))
        .collect();
    let expected = json!([
        [0, 0, 0, 3_000, null, null],
        [0, 1, 3_000, 1_000, null, null],
        [0, 2, 4_000, 5_000, null, null],
        [0, 2, 9_000, 5_000, 9_000, 14_000],
        [0, 2, 14_000, 5_000, 14_000, 19_000],
        [0, 2, 19_000, 2_500, 19_000, 21_500],
        [2, 0, 30_000, 2_000, null, null],
    ]);
    assert_eq!(Value::from(spans), expected);
    let cut = &timeline["fragments"][5]["samples"];
    assert_eq!(*cut, json!([19_000, 20_000, 21_000]));
    let gap = json!([{"from": GAP_MS[0], "to": GAP_MS[1], "reason": "disconnected"}]);
    assert_eq!(timeline["gaps"], gap);
    assert_eq!(timeline["inits"][1]["crop"], json!([0, 0, 255, 101]));
    assert_eq!(timeline["anchors"][2]["step"], true);
}

#[tokio::test]
async fn peer_fragments_decode_after_their_init_and_a_repetition_is_moved() {
    let client = Client::new().await;
    let init = client.ok("/media/0/init.mp4").await;
    assert!(segment::mp4::read_init(&init.body).is_ok());
    let times = async |path: &str| {
        let bytes = client.ok(path).await.body;
        let samples = segment::mp4::fragment_samples(&bytes).unwrap();
        let ms = samples.iter().map(|sample| sample.t_ticks / 90);
        let end = samples.last().unwrap();
        let end_ms = (end.t_ticks + u64::from(end.duration_ticks)) / 90;
        ms.chain([end_ms]).collect::<Vec<u64>>()
    };
    assert_eq!(times("/media/0/1.m4s").await, [3_000, 3_033, 3_500, 4_000]);
    assert_eq!(
        times("/media/0/2.m4s?at=19000&to=21500").await,
        [19_000, 20_000, 21_000, 21_500]
    );
    for query in ["at=5", "to=5", "at=5&to=5", "at=9&to=5"] {
        let answer = client.get(&format!("/media/0/2.m4s?{query}"), &[]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}");
    }
}

#[tokio::test]
async fn peer_media_is_revalidated_and_answers_ranges() {
    let client = Client::new().await;
    let path = "/media/0/0.m4s";
    let whole = client.ok(path).await;
    assert_eq!(whole.header("cache-control"), "private, no-cache");
    assert_eq!(whole.header("accept-ranges"), "bytes");
    let etag = whole.header("etag").to_owned();
    assert!(etag.starts_with('"') && etag.ends_with('"'), "{etag}");

    let same = client.get(path, &[("if-none-match", &etag)]).await;
    assert_eq!(
        (same.status, same.body.len()),
        (StatusCode::NOT_MODIFIED, 0)
    );
    assert_eq!(same.header("etag"), etag);
    let other = client.get(path, &[("if-none-match", "\"x\"")]).await;
    assert_eq!(other.status, StatusCode::OK);

    let part = client.get(path, &[("range", "bytes=10-19")]).await;
    assert_eq!(part.status, StatusCode::PARTIAL_CONTENT);
    assert_eq!(part.body, whole.body.slice(10..20));
    let len = whole.body.len();
    assert_eq!(part.header("content-range"), format!("bytes 10-19/{len}"));
    let stale = [("range", "bytes=10-19"), ("if-range", "\"x\"")];
    assert_eq!(client.get(path, &stale).await.body, whole.body);
    let past = client.get(path, &[("range", "bytes=99999999-")]).await;
    assert_eq!(past.status, StatusCode::RANGE_NOT_SATISFIABLE);

    let moved = client.ok("/media/0/2.m4s?at=9000&to=14000").await;
    let cut = client.ok("/media/0/2.m4s?at=9000&to=13000").await;
    assert_ne!(moved.header("etag"), cut.header("etag"));
}

#[tokio::test]
async fn peer_a_masked_session_is_kept_by_no_client() {
    let client = Client::of(Fixture::record(vec![mask()]).await);
    for path in [
        "/media/0/0.m4s",
        "/media/0/init.mp4",
        "/frame?t=0",
        "/thumbs/0.jpg",
    ] {
        let answer = client.ok(path).await;
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
    }
    let session = client.json("").await;
    assert_eq!(session["masks"], json!([{"rule": "password", "count": 1}]));
    assert_eq!(session["mask_spans"][0]["rect"], json!([200, 100, 40, 20]));
}

#[tokio::test]
async fn peer_sprites_are_served_with_their_times() {
    let client = Client::new().await;
    let sheets = client.json("/thumbs.json").await;
    let sheet = &sheets["sheets"][0];
    assert_eq!(sheet["tile"], json!([32, 20]));
    assert_eq!(sheet["times"], json!([0, 3_000, 4_000]));
    let url = format!("/{}", sheet["url"].as_str().unwrap());
    let picture = client.ok(&url).await;
    assert_eq!(picture.header("content-type"), "image/jpeg");
    let picture = image::load_from_memory(&picture.body).unwrap();
    assert_eq!([picture.width(), picture.height()], [96, 20]);
}

#[tokio::test]
async fn peer_the_playlist_adds_up_to_the_timeline() {
    let client = Client::new().await;
    let playlist = client.ok("/hls/index.m3u8").await;
    assert_eq!(
        playlist.header("content-type"),
        "application/vnd.apple.mpegurl"
    );
    let text = String::from_utf8(playlist.body.to_vec()).unwrap();
    let total_ms: u64 = text
        .lines()
        .filter_map(|line| line.strip_prefix("#EXTINF:")?.strip_suffix(','))
        .map(|seconds| seconds.replace('.', "").parse::<u64>().unwrap())
        .sum();
    let [gap_from, gap_to] = GAP_MS;
    assert_eq!(total_ms, DURATION_MS - (gap_to - gap_from));
    for uri in text.lines().filter(|line| !line.starts_with('#')) {
        client.ok(&uri.replace("../", "/")).await;
    }
    assert!(text.ends_with("#EXT-X-ENDLIST\n"));
    let outside = client.get("/hls/index.m3u8?from=32000", &[]).await;
    assert_eq!(outside.status, StatusCode::BAD_REQUEST);
}
