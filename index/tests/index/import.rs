//! Taking rows in: what is stored, what is refused, what is known.

use capture::session::RunContext;
use index::{import::MAX_REFUSALS, log};

use crate::home::{Home, TRACE, head, row};

async fn keys(home: &Home, prefix: &str) -> Vec<String> {
    let listed = home.store.list(prefix, None, 100).await.unwrap();
    listed.into_iter().map(|listed| listed.key).collect()
}

#[tokio::test]
async fn good_rows_of_a_mixed_body_are_kept_and_bad_ones_named() {
    let home = Home::new();
    let body = [
        row(1, ""),
        String::new(),
        "{".into(),
        row(2, r#""trace_id":"00""#),
        row(3, r#""outcom":"blocked""#),
        row(4, ""),
        row(1, ""),
    ];
    let report = home.import_text(&body.join("\r\n")).await;
    assert_eq!((report.accepted, report.duplicate), (2, 1));
    let refused: Vec<_> = report
        .refused
        .iter()
        .map(|r| (r.line, r.field.as_str()))
        .collect();
    assert_eq!(refused, [(3, ""), (4, "trace_id"), (5, "outcom")]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["refused"][1]["line"], 4);
    assert!(json.get("refused_more").is_none());
}

#[tokio::test]
async fn a_body_of_rubbish_is_counted_within_bounds() {
    let home = Home::new();
    let report = home.import_text(&"x\n".repeat(MAX_REFUSALS + 5)).await;
    assert_eq!(
        (report.refused.len(), report.refused_more),
        (MAX_REFUSALS, 5)
    );
    assert_eq!(keys(&home, "v1/").await, Vec::<String>::new());
}

#[tokio::test]
async fn rows_are_stored_by_session_and_source() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, vec![], None).await;
    let named = format!(r#""session":"{}""#, head.id);
    home.import(&[
        row(1, &format!(r#"{named},"source":"egress""#)),
        row(2, &format!(r#"{named},"source":"egress""#)),
        row(3, &format!(r#"{named},"source":"vault""#)),
        row(4, &format!(r#""source":"egress","trace_id":"{TRACE}""#)),
    ])
    .await;
    let logs = keys(&home, &format!("v1/2027/01/15/{}/log/", head.id)).await;
    let egress = log::slug(Some("egress"));
    assert_eq!(logs.len(), 2);
    assert!(logs[0].contains(&egress) && logs[1].contains("/vault-"));
    let waiting = keys(&home, "v1/rows/").await;
    assert_eq!(waiting.len(), 1);
    assert!(waiting[0].starts_with(&format!("v1/rows/2027/01/15/{egress}/")));
    let stored = log::unpack(&home.store.get(&logs[0]).await.unwrap()).unwrap();
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[1].source.as_deref(), Some("egress"));
}

#[tokio::test]
async fn known_rows_store_nothing() {
    let home = Home::new();
    home.import(&[row(1, "")]).await;
    let before = keys(&home, "v1/").await;
    let report = home.import_text(&format!("{}\n", row(1, ""))).await;
    assert_eq!((report.accepted, report.duplicate), (0, 1));
    assert_eq!(keys(&home, "v1/").await, before);
}

#[tokio::test]
async fn a_large_import_is_taken_in_bounded_batches() {
    let home = Home::new();
    let rows: Vec<_> = (0..2500).map(|n| row(n, "")).collect();
    assert_eq!(home.import(&rows).await.accepted, 2500);
    assert_eq!(keys(&home, "v1/rows/").await.len(), 3);
}
