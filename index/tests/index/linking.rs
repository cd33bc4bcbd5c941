//! Rows find their session whenever it appears, and their moment whenever the clock is known.

use capture::{MediaTime, SessionId, session::RunContext};

use crate::home::{
    Home, SPAN, TRACE, anchor, at, close, eight_seconds, end_body, head, init, ms, open, row,
    sample,
};

fn traced() -> RunContext {
    RunContext {
        traceparent: Some(format!("00-{TRACE}-{SPAN}-01").parse().unwrap()),
        ..RunContext::default()
    }
}

fn by(run: &str, actor: &str) -> RunContext {
    RunContext {
        run: Some(run.into()),
        actor: Some(actor.into()),
        ..RunContext::default()
    }
}

async fn check(home: &Home, id: &str, session: Option<SessionId>, t: Option<u64>) {
    let row = home.catalog.event(id).await.unwrap().unwrap();
    let found = (row.session, row.t.map(MediaTime::ms));
    assert_eq!(found, (session, t), "row {id}");
}

#[tokio::test]
async fn rows_of_every_tie_wait_for_their_session() {
    let home = Home::new();
    let (a, b) = (head(0, traced()), head(20, by("r-b", "bob")));
    home.import(&[
        row(1000, &format!(r#""id":"named","session":"{}""#, a.id)),
        row(2000, &format!(r#""id":"traced","trace_id":"{TRACE}""#)),
        row(21_000, r#""id":"run","run":"r-b""#),
        row(22_000, r#""id":"actor","actor":"bob""#),
        row(3000, r#""id":"none","actor":"eve""#),
    ])
    .await;
    for id in ["named", "traced", "run", "actor", "none"] {
        check(&home, id, None, None).await;
    }
    home.record(&a, vec![], None).await;
    home.record(&b, vec![], None).await;
    check(&home, "named", Some(a.id), Some(1000)).await;
    check(&home, "traced", Some(a.id), Some(2000)).await;
    check(&home, "run", Some(b.id), Some(1000)).await;
    check(&home, "actor", Some(b.id), Some(2000)).await;
    check(&home, "none", None, None).await;
}

#[tokio::test]
async fn a_named_row_ties_its_whole_trace_to_the_session() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), None).await;
    let trace = format!(r#""trace_id":"{TRACE}""#);
    home.import(&[row(1000, &format!(r#""id":"log",{trace}"#))])
        .await;
    check(&home, "log", None, None).await;
    let named = format!(r#""id":"span",{trace},"session":"{}""#, head.id);
    home.import(&[row(900, &named)]).await;
    check(&home, "log", Some(head.id), Some(1000)).await;
    let links = home
        .catalog
        .trace_links(TRACE.parse().unwrap())
        .await
        .unwrap();
    assert_eq!(links.len(), 1);
    assert_eq!((links[0].rows, links[0].told), (2, true));
    assert_eq!(links[0].moments, Some((ms(900), ms(1000))));
}

#[tokio::test]
async fn a_named_session_that_is_unknown_is_waited_for_whatever_else_agrees() {
    let home = Home::new();
    let (here, other) = (head(0, by("r", "ann")), head(9, by("r", "ann")));
    home.record(&here, eight_seconds(&here), None).await;
    let fields = format!(
        r#""id":"x","session":"{}","run":"r","actor":"ann""#,
        other.id
    );
    home.import(&[row(1000, &fields)]).await;
    check(&home, "x", None, None).await;
}

#[tokio::test]
async fn two_sessions_of_one_actor_at_once_get_no_row_until_one_ends() {
    let home = Home::new();
    let (a, b) = (head(0, by("r-a", "ann")), head(2, by("r-b", "ann")));
    let entries = home.record(&a, eight_seconds(&a), None).await;
    home.import(&[row(1000, r#""id":"before","actor":"ann""#)])
        .await;
    home.import(&[row(9000, r#""id":"after","actor":"ann""#)])
        .await;
    check(&home, "after", Some(a.id), Some(9000)).await;
    home.record(&b, vec![], None).await;
    check(&home, "before", Some(a.id), Some(1000)).await;
    check(&home, "after", None, None).await;
    let keys = segment::key::SessionKeys::new(a.id, a.start);
    let end = end_body(&a, 8000, entries);
    let (store, catalog) = (home.store.as_ref(), home.catalog.as_ref());
    index::commit::commit_end(store, catalog, &keys, &end)
        .await
        .unwrap();
    check(&home, "after", Some(b.id), Some(7000)).await;
    let found = home.catalog.session(a.id, at(0)).await.unwrap().unwrap();
    assert_eq!(found.outcomes, [("recorded".into(), 1)].into());
}

#[tokio::test]
async fn moments_follow_the_clock_as_its_anchors_become_known() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    let hour = 3_600_000;
    let rows: Vec<_> = [5_000, 12_000, hour + 12_000, hour + 60_000]
        .iter()
        .map(|&t| row(t, &format!(r#""id":"{t}","session":"{}""#, head.id)))
        .collect();
    home.record(&head, vec![], None).await;
    home.import(&rows).await;
    check(&home, "12000", Some(head.id), Some(12_000)).await;
    check(&home, "3612000", Some(head.id), Some(3_612_000)).await;

    // After 10 s the wall clock jumps an hour ahead.
    let object = |seq, from, utc, step| {
        vec![
            open(&head, seq, from),
            anchor(from, utc, step),
            init(),
            sample(from, true),
            close(from + 10_000),
        ]
    };
    let first = object(0, 0, at(0), false);
    let second = object(1, 10_000, at(hour + 10_000), true);
    home.record(&head, vec![first, second], None).await;
    check(&home, "5000", Some(head.id), Some(5_000)).await;
    check(&home, "12000", Some(head.id), Some(10_000)).await;
    check(&home, "3612000", Some(head.id), Some(12_000)).await;
    check(&home, "3660000", Some(head.id), Some(60_000)).await;
}
