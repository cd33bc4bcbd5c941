//! From a trace, a row or a clock time to the exact frame.

use capture::session::RunContext;
use index::{
    At,
    resolve::{Candidate, ResolveError, by_event, by_run, by_session, by_trace, viewer_url},
};

use crate::home::{
    Home, SPAN, TRACE, anchor, at, close, eight_seconds, head, init, ms, open, row, sample,
};

const ENDED: i64 = 1_000_000;

/// Moments with their frames.
fn frames(found: Result<Vec<Candidate>, ResolveError>) -> Vec<(u64, Option<u64>)> {
    let found = found.unwrap();
    found
        .iter()
        .map(|c| (c.t.ms(), c.frame_t.map(|t| t.ms())))
        .collect()
}

/// A session whose wall clock goes back 30 s after 60 s of two minutes.
async fn stepping_back(home: &Home) -> capture::SessionId {
    let head = head(
        0,
        RunContext {
            run: Some("r".into()),
            ..RunContext::default()
        },
    );
    let object = |seq, from, utc, step| {
        vec![
            open(&head, seq, from),
            anchor(from, utc, step),
            init(),
            sample(from, true),
            close(from + 60_000),
        ]
    };
    let objects = vec![
        object(0, 0, at(0), false),
        object(1, 60_000, at(30_000), true),
    ];
    home.record(&head, objects, Some(120_000)).await;
    head.id
}

#[tokio::test]
async fn a_utc_that_occurs_twice_gives_both_moments() {
    let home = Home::new();
    let session = stepping_back(&home).await;
    let (catalog, now) = (home.catalog.as_ref(), at(ENDED));
    let found = by_session(catalog, session, At::Utc(at(45_000)), now).await;
    assert_eq!(frames(found), [(45_000, Some(0)), (75_000, Some(60_000))]);
    let found = by_session(catalog, session, At::Utc(at(29_999)), now).await;
    assert_eq!(frames(found), [(29_999, Some(0))]);
    home.import(&[row(45_000, &format!(r#""id":"x","session":"{session}""#))])
        .await;
    let found = by_event(catalog, "x", now).await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].url, format!("/s/{session}?t=45.000&e=x"));
    assert_eq!((found[1].utc, found[1].error_ms), (at(45_000), Some(2)));
    let found = by_run(catalog, "r", At::Media(ms(45_000)), now).await;
    assert_eq!(frames(found).len(), 2);
}

#[tokio::test]
async fn a_time_in_a_gap_gives_the_last_frame_and_the_gap() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), Some(8000)).await;
    let (catalog, now) = (home.catalog.as_ref(), at(ENDED));
    let found = by_session(catalog, head.id, At::Media(ms(5500)), now)
        .await
        .unwrap();
    assert_eq!(found[0].frame_t, Some(ms(4000)));
    let gap = found[0].gap.unwrap();
    assert_eq!((gap.from, gap.to), (ms(4500), ms(6000)));
    let json = serde_json::to_value(&found[0]).unwrap();
    assert_eq!(json["gap"]["reason"], "stalled");
    assert_eq!((&json["t"], &json["frame_t"]), (&5500.into(), &4000.into()));
}

#[tokio::test]
async fn a_time_outside_tells_the_range_or_to_wait() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), None).await;
    let catalog = home.catalog.as_ref();
    let live = by_session(catalog, head.id, At::Media(ms(8000)), at(8000)).await;
    assert!(matches!(live, Err(ResolveError::NotYet { committed, .. }) if committed == ms(8000)));
    for at_ in [At::Media(ms(8000)), At::Utc(at(8000)), At::Utc(at(-1))] {
        let lost = by_session(catalog, head.id, at_, at(ENDED)).await;
        let Err(ResolveError::Outside {
            duration,
            start,
            end,
            ..
        }) = lost
        else {
            panic!("{lost:?}");
        };
        assert_eq!((duration, start, end), (ms(8000), at(0), at(8000)));
    }
}

#[tokio::test]
async fn a_trace_gives_the_frame_of_each_of_its_rows() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), Some(8000)).await;
    let fields = format!(r#""session":"{}","trace_id":"{TRACE}""#, head.id);
    home.import(&[
        row(1700, &format!(r#"{fields},"span_id":"{SPAN}""#)),
        row(500, &fields),
        row(9000, &fields),
    ])
    .await;
    let (catalog, trace, now) = (home.catalog.as_ref(), TRACE.parse().unwrap(), at(ENDED));
    let found = by_trace(catalog, trace, None, now).await;
    assert_eq!(frames(found), [(500, Some(400)), (1700, Some(1600))]);
    let span = Some(SPAN.parse().unwrap());
    let found = by_trace(catalog, trace, span, now).await;
    assert_eq!(frames(found), [(1700, Some(1600))]);
}

#[tokio::test]
async fn a_trace_that_only_the_head_carries_gives_the_start() {
    let home = Home::new();
    let traceparent = Some(format!("00-{TRACE}-{SPAN}-01").parse().unwrap());
    let head = head(
        0,
        RunContext {
            traceparent,
            ..RunContext::default()
        },
    );
    home.record(&head, eight_seconds(&head), Some(8000)).await;
    let found = by_trace(
        home.catalog.as_ref(),
        TRACE.parse().unwrap(),
        None,
        at(ENDED),
    )
    .await;
    assert_eq!(frames(found), [(0, Some(0))]);
}

#[tokio::test]
async fn what_is_unknown_is_told_by_name() {
    let home = Home::new();
    home.import(&[row(1, r#""id":"waits""#)]).await;
    let (catalog, now) = (home.catalog.as_ref(), at(0));
    let session = head(5, RunContext::default()).id;
    let start = At::Media(ms(0));
    for (error, text) in [
        (
            by_event(catalog, "gone", now).await,
            "\"gone\" is not known",
        ),
        (
            by_event(catalog, "waits", now).await,
            "belongs to no recorded session",
        ),
        (
            by_trace(catalog, TRACE.parse().unwrap(), None, now).await,
            TRACE,
        ),
        (
            by_session(catalog, session, start, now).await,
            "is not known",
        ),
        (by_run(catalog, "r-9", start, now).await, "\"r-9\""),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn event_ids_are_escaped_in_links() {
    let session = head(0, RunContext::default()).id;
    let url = viewer_url(session, ms(61_005), Some("a&b=c#d"));
    assert_eq!(url, format!("/s/{session}?t=61.005&e=a%26b%3Dc%23d"));
}
