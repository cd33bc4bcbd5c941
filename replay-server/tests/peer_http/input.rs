//! Recorded input among the events.

use segment::Record;
use serde_json::{Value, json};

use crate::{client::Client, fixture::session::Fixture};

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
