//! Does the server answer what was recorded, over HTTP as a client sees it?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod fixture;

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use bytes::Bytes;
use fixture::{
    h264::read_number,
    session::{DURATION_MS, FIRST, Fixture, GAP_MS, IDLE_MS, SECOND, mask, number_at},
};
use http_body_util::BodyExt;
use replay_server::http::{LocalNames, router};
use segment::Record;
use serde_json::{Value, json};
use tower::ServiceExt;

struct Client {
    router: Router,
    base: String,
    _fixture: Fixture,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Client {
    async fn new() -> Self {
        Self::of(Fixture::record(vec![]).await)
    }

    fn of(fixture: Fixture) -> Self {
        Self {
            router: router(fixture.archive.clone(), LocalNames::loopback()),
            base: format!("/api/v1/sessions/{}", fixture.session),
            _fixture: fixture,
        }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    /// Gets `path`, below the session unless it is absolute.
    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let uri = if path.starts_with("//") {
            path[1..].to_owned()
        } else {
            format!("{}{path}", self.base)
        };
        let mut request = Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    async fn ok(&self, path: &str) -> Answer {
        let answer = self.get(path, &[]).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {:?}", answer.body);
        answer
    }

    async fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.ok(path).await.body).unwrap()
    }

    /// The number on the frame that `path` gives.
    async fn number(&self, path: &str) -> u32 {
        number_on(&self.ok(path).await.body)
    }

    async fn post(&self, rows: impl Into<Body>) -> (StatusCode, Value) {
        let request = Request::post("/api/v1/events").body(rows.into()).unwrap();
        let answer = self.send(request).await;
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }
}

fn number_on(file: &[u8]) -> u32 {
    let picture = image::load_from_memory(file).unwrap().into_rgb8();
    read_number(|x, y| picture.get_pixel_checked(x, y).map(|pixel| pixel.0))
}

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
    let client = Client::new().await;
    client.ok("//healthz").await;
    client.ok("//readyz").await;
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

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn row(seconds: &str, text: &str, more: &Value) -> String {
    let mut row = json!({ "time": format!("2026-11-30T09:00:{seconds}Z"), "text": text });
    let more = more.as_object().unwrap().clone();
    row.as_object_mut().unwrap().extend(more);
    format!("{row}\n")
}

#[tokio::test]
async fn peer_rows_come_in_once_and_lead_to_their_frame() {
    let client = Client::new().await;
    let session = client.json("").await["id"].clone();
    let asked = row(
        "03.100",
        "May I?",
        &json!({"session": session, "id": "ask-1", "outcome": "asked", "request": "q1",
                "trace_id": TRACE, "span_id": "00f067aa0ba902b7", "actor": "agent-1"}),
    );
    let blocked = row(
        "04.500",
        "No.",
        &json!({"session": session, "id": "ask-2", "outcome": "blocked", "request": "q1",
                "decided_by": "ann"}),
    );
    let rows = format!("{asked}{blocked}");
    let (status, report) = client.post(rows.clone()).await;
    assert_eq!(status, StatusCode::OK, "{report}");
    assert_eq!(
        report,
        json!({"accepted": 2, "duplicate": 0, "refused": []})
    );
    let (_, report) = client.post(rows).await;
    assert_eq!(
        report,
        json!({"accepted": 0, "duplicate": 2, "refused": []})
    );

    let found = client.json("//api/v1/resolve?event=ask-1").await;
    let moment = &found["candidates"][0];
    assert_eq!([&moment["t"], &moment["frame_t"]], [3_100, 3_033]);
    assert_eq!(moment["error_ms"], 4);
    let by_span = format!("//api/v1/resolve?trace_id={TRACE}&span_id=00f067aa0ba902b7");
    assert_eq!(client.json(&by_span).await, found);
    let before = client.number("/frame?event=ask-1&format=png").await;
    assert_eq!(before, number_at(3_100));
    let after = client
        .number("/frame?event=ask-1&side=after&format=png")
        .await;
    assert_eq!(after, number_at(3_500));

    let session = client.json("").await;
    assert_eq!(session["outcomes"]["blocked"], 1);
    let density = client.json("/density?n=32").await;
    assert_eq!(density["lanes"]["blocked"][4], 1);
    assert_eq!(density["lanes"]["log"][3], 1);
}

#[tokio::test]
async fn peer_good_rows_beside_bad_ones_are_kept() {
    let client = Client::new().await;
    let good = row("01.000", "fine", &json!({}));
    let (status, report) = client
        .post(format!("{good}\n{{\"time\":1}}\nnot json\n"))
        .await;
    assert_eq!(status, StatusCode::MULTI_STATUS);
    assert_eq!(report["accepted"], 1);
    let refused = report["refused"].as_array().unwrap();
    assert_eq!([&refused[0]["line"], &refused[1]["line"]], [3, 4]);
    assert_eq!(refused[0]["field"], "time");

    let (status, report) = client.post("nothing\n").await;
    assert_eq!(
        (status, &report["accepted"]),
        (StatusCode::BAD_REQUEST, &json!(0))
    );
    let (status, report) = client.post(vec![b' '; (8 << 20) + 1]).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(report["error"]["code"], "body_too_large");
}

#[tokio::test]
async fn peer_events_of_both_sources_page_in_one_order() {
    let client = Client::new().await;
    let id = client.json("").await["id"].clone();
    let rows: String = (0..5)
        .map(|n| {
            row(
                "03.200",
                &format!("row {n}"),
                &json!({"session": id, "id": format!("r{n}")}),
            )
        })
        .collect();
    assert_eq!(client.post(rows).await.0, StatusCode::OK);

    let all = client.json("/events").await;
    assert_eq!(all["columns"][1], "t");
    let texts = |answer: &Value| -> Vec<String> {
        let rows = answer["rows"].as_array().unwrap();
        rows.iter()
            .map(|row| format!("{}@{}", row[3].as_str().unwrap(), row[1]))
            .collect()
    };
    let expected = [
        "size@0",
        "log@3200",
        "log@3200",
        "log@3200",
        "log@3200",
        "log@3200",
        "health@3200",
    ];
    assert_eq!(texts(&all), expected);
    assert_eq!(all["next"], Value::Null);

    let (mut paged, mut path) = (Vec::new(), "/events?limit=2".to_owned());
    loop {
        let page = client.json(&path).await;
        paged.extend(page["rows"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => path = format!("/events?limit=2&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(Value::from(paged), all["rows"]);

    assert_eq!(
        texts(&client.json("/events?kinds=size,mark").await),
        ["size@0"]
    );
    assert_eq!(texts(&client.json("/events?q=ROW%203").await), ["log@3200"]);
    assert_eq!(texts(&client.json("/events?from=1&to=3200").await), [""; 0]);
    for query in ["kinds=keys", "limit=0", "limit=20001", "cursor=x", "form=1"] {
        let answer = client.get(&format!("/events?{query}"), &[]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}");
    }
}

/// An event of `kind` at `t_ms`, as the recorder writes it.
fn recorded(t_ms: u64, kind: &str, data: Value) -> Record {
    let mut event = data;
    event["t"] = t_ms.into();
    event["kind"] = kind.into();
    event["origin"] = "wire".into();
    Record::Event(serde_json::from_value(event).unwrap())
}

fn key(t_ms: u64, name: &str, down: bool) -> Record {
    recorded(t_ms, "key", json!({"name": name, "down": down}))
}

/// All rows below `path`, read in pages of `limit`.
async fn paged(client: &Client, path: &str, limit: usize) -> Vec<Value> {
    let first = format!("{path}&limit={limit}");
    let (mut rows, mut next) = (Vec::new(), Some(first.clone()));
    while let Some(asked) = next {
        let page = client.json(&asked).await;
        rows.extend(page["rows"].as_array().unwrap().clone());
        let cursor = page["next"].as_str();
        next = cursor.map(|cursor| format!("{first}&cursor={cursor}"));
    }
    rows
}

#[tokio::test]
async fn peer_input_is_in_time_order_even_where_it_was_stored_late() {
    // The objects are cut at 9 000 and 21 500 ms. A run is stored when it ends.
    let run = |t_ms, text: &str, to: u64| {
        let keys = text.len();
        recorded(
            t_ms,
            "text_run",
            json!({"text": text, "keys": keys, "to": to}),
        )
    };
    let extra = [
        vec![
            key(2_000, "Return", true),
            key(2_000, "Return", false),
            key(8_500, "o", true),
        ],
        vec![
            key(9_100, "n", true),
            run(8_500, "on", 9_100),
            recorded(
                9_000,
                "pointer",
                json!({"action": "path", "path": [[0, 1, 2]]}),
            ),
            key(21_000, "z", true),
        ],
        vec![
            recorded(
                21_600,
                "pointer",
                json!({"action": "down", "button": "left", "at": [3, 4]}),
            ),
            run(9_501, "as late as can be", 20_000),
            recorded(30_500, "mark", json!({"name": "step.2"})),
        ],
    ];
    let client = Client::of(Fixture::with(extra).await);
    let path = "/events?kinds=key,text_run,pointer,mark";
    let all = client.json(path).await["rows"].clone();
    let told = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().unwrap().iter();
        let line = |row: &Value| format!("{} {}", row[1], row[5].as_str().unwrap());
        rows.map(line).collect()
    };
    let expected = [
        "2000 Return",
        "2000 Return up",
        "8500 o",
        "8500 on",
        "9000 move to 1,2",
        "9100 n",
        "9501 as late as can be",
        "21000 z",
        "21600 left down at 3,4",
        "30500 step.2",
    ];
    assert_eq!(told(&all), expected);
    for limit in 1..=expected.len() {
        let rows = paged(&client, path, limit).await;
        assert_eq!(Value::from(rows), all, "in pages of {limit}");
    }
    // A span finds what began in it, wherever that was stored.
    let span = client.json(&format!("{path}&from=8500&to=9502")).await;
    assert_eq!(told(&span["rows"]), expected[2..7]);
    let runs = client.json("/events?kinds=text_run&to=9000").await;
    assert_eq!(told(&runs["rows"]), ["8500 on"]);

    let density = client.json("/density?n=4").await;
    assert_eq!(density["lanes"]["input"], json!([1, 3, 2, 0]));
}

#[tokio::test]
async fn peer_a_page_of_large_events_is_cut_by_its_size() {
    let paste = |t_ms: u64| {
        let text = "x".repeat(1 << 20);
        let data = json!({"direction": "to-machine", "types": ["text"], "bytes": 1 << 20,
            "text": text});
        recorded(t_ms, "clipboard", data)
    };
    let extra = [
        (0..20).map(|n| paste(n * 10)).collect(),
        vec![paste(21_000)],
        vec![paste(30_600)],
    ];
    let client = Client::of(Fixture::with(extra).await);
    let page = client.json("/events?kinds=clipboard").await;
    assert_eq!(page["rows"].as_array().unwrap().len(), 20);
    let rows = paged(&client, "/events?kinds=clipboard", 1_000).await;
    let times: Vec<_> = rows.iter().filter_map(|row| row[1].as_u64()).collect();
    let expected: Vec<_> = (0..20).map(|n| n * 10).chain([21_000, 30_600]).collect();
    assert_eq!(times, expected);
}

#[tokio::test]
async fn peer_resolving_answers_each_way_of_asking() {
    let client = Client::new().await;
    let id = client.json("").await["id"].as_str().unwrap().to_owned();
    let twice = format!("//api/v1/resolve?session={id}&at=2026-11-30T09:00:15Z");
    let times: Vec<Value> = client.json(&twice).await["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|moment| moment["t"].clone())
        .collect();
    assert_eq!(times, [15_000, 20_000]);
    let in_gap = client
        .json(&format!("//api/v1/resolve?session={id}&at=25"))
        .await;
    assert_eq!(in_gap["candidates"][0]["gap"]["reason"], "disconnected");
    assert_eq!(in_gap["candidates"][0]["url"], format!("/s/{id}?t=25.000"));
    for (query, status, code) in [
        (format!("trace_id={TRACE}"), 404, "unknown_trace"),
        ("trace_id=00".to_owned(), 400, "bad_parameter"),
        (format!("trace_id={}", "0".repeat(32)), 400, "bad_parameter"),
        ("event=none".to_owned(), 404, "unknown_event"),
        (format!("session={id}&at=40"), 400, "time_outside_session"),
        (format!("session={id}"), 400, "bad_parameter"),
        ("run=none&at=1".to_owned(), 404, "unknown_run"),
        (String::new(), 400, "bad_parameter"),
    ] {
        let answer = client.get(&format!("//api/v1/resolve?{query}"), &[]).await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer.status.as_u16(), status, "{query}: {body}");
        assert_eq!(body["error"]["code"], code, "{query}");
    }
}

#[tokio::test]
async fn peer_a_missing_or_damaged_object_is_told_and_no_picture_is_made_up() {
    let fixture = Fixture::record(vec![]).await;
    let start = capture::WallTime::from_unix_ms(fixture::session::START_MS);
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
