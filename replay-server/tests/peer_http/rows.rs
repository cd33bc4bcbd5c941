//! Rows from other systems: taken in, listed beside recorded events, and resolved to moments.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{client::Client, fixture::session::number_at};

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
