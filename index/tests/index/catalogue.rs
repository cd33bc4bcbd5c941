//! What every catalogue promises. Each test runs on every back end there is: SQLite.

use capture::session::RunContext;
use index::{
    CatalogError,
    catalog::{Cursor, EventQuery, SessionQuery, Sort, State},
    density::density,
    row::{Kind, Outcome},
};
use segment::key::SessionKeys;

use crate::home::{Home, SPAN, TRACE, at, eight_seconds, head, ms, row};

fn named(run: &str, actor: &str) -> RunContext {
    RunContext {
        run: Some(run.into()),
        actor: Some(actor.into()),
        labels: [("team".to_owned(), "blue".to_owned())].into(),
        ..RunContext::default()
    }
}

#[tokio::test]
async fn a_sessions_summary_tells_its_whole_story() {
    let home = Home::new();
    let head = head(0, named("r-1", "ann"));
    let entries = home.record(&head, eight_seconds(&head), Some(8000)).await;
    home.import(&[
        row(
            100,
            &format!(r#""session":"{}","outcome":"blocked""#, head.id),
        ),
        row(
            200,
            &format!(r#""session":"{}","trace_id":"{TRACE}""#, head.id),
        ),
    ])
    .await;
    let now = at(8000 + 59_999);
    let found = home.catalog.session(head.id, now).await.unwrap().unwrap();
    assert_eq!((found.state, found.duration_ms), (State::Ended, 8000));
    assert_eq!((found.gaps, found.masks, found.size), (2, 1, [64, 48]));
    assert_eq!(found.end_reason.as_deref(), Some("stopped"));
    assert_eq!(found.end, Some(at(8000)));
    assert_eq!(
        found.outcomes,
        [("blocked".into(), 1), ("recorded".into(), 1)].into()
    );
    assert_eq!(found.trace_ids, [TRACE.parse().unwrap()]);
    let keys = SessionKeys::new(head.id, head.start);
    let end = home.store.head(&keys.end()).await.unwrap().unwrap();
    let objects: u64 = entries.iter().map(|entry| entry.bytes).sum();
    assert_eq!(found.bytes, objects + end.bytes);
    assert!(!found.settled, "late rows have a minute");
    let settled = home.catalog.session(head.id, at(68_000)).await.unwrap();
    assert!(settled.unwrap().settled);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["state"], "ended");
    assert_eq!(json["labels"]["team"], "blue");
}

#[tokio::test]
async fn writing_anything_again_changes_nothing() {
    let home = Home::new();
    let head = head(0, named("r-1", "ann"));
    home.record(&head, eight_seconds(&head), Some(8000)).await;
    let rows = [row(100, r#""actor":"ann""#), row(200, "")];
    let first = home.import(&rows).await;
    assert_eq!((first.accepted, first.duplicate), (2, 0));
    let before = home.catalog.dump().await.unwrap();
    home.record(&head, eight_seconds(&head), Some(8000)).await;
    let again = home.import(&rows).await;
    assert_eq!((again.accepted, again.duplicate), (0, 2));
    assert_eq!(home.catalog.dump().await.unwrap(), before);
}

#[tokio::test]
async fn another_object_under_a_known_name_is_a_conflict() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, vec![], None).await;
    let mut other = head.clone();
    other.recorder = "another".into();
    let stored = index::catalog::Stored::of(b"another");
    let refused = home.catalog.put_head(&other, stored).await;
    assert!(matches!(refused, Err(CatalogError::Conflict { .. })));
    let unknown = crate::home::head(9, RunContext::default()).id;
    let refused = home.catalog.renew(unknown, at(0)).await;
    assert!(matches!(refused, Err(CatalogError::UnknownSession { .. })));
}

#[tokio::test]
async fn a_session_is_live_while_its_agent_is_heard_and_lost_after_a_minute() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, vec![], None).await;
    let state = async |now| {
        let found = home.catalog.session(head.id, at(now)).await.unwrap();
        found.unwrap().state
    };
    assert_eq!(state(59_999).await, State::Live);
    assert_eq!(state(60_000).await, State::Lost);
    home.catalog.renew(head.id, at(50_000)).await.unwrap();
    assert_eq!(state(109_999).await, State::Live);
    home.catalog
        .put_interrupted(head.id, 1, at(50_000))
        .await
        .unwrap();
    assert_eq!(state(109_999).await, State::Live);
    assert_eq!(state(110_000).await, State::Interrupted);
    let keys = SessionKeys::new(head.id, head.start);
    let body = crate::home::end_body(&head, 0, vec![]);
    let (store, catalog) = (home.store.as_ref(), home.catalog.as_ref());
    index::commit::commit_end(store, catalog, &keys, &body)
        .await
        .unwrap();
    assert_eq!(state(110_000).await, State::Ended);
}

#[tokio::test]
async fn the_timeline_is_that_of_the_objects() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), None).await;
    let timeline = home
        .catalog
        .timeline(head.id, at(0))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((timeline.duration, timeline.live), (ms(8000), true));
    let spans: Vec<_> = timeline
        .fragments
        .iter()
        .map(|p| (p.at.ms(), p.to.ms()))
        .collect();
    assert_eq!(
        spans,
        [
            (0, 1000),
            (1000, 2000),
            (2000, 3000),
            (3000, 4000),
            (4000, 4500),
            (6000, 7000)
        ]
    );
    let gaps: Vec<_> = timeline
        .gaps
        .iter()
        .map(|gap| (gap.from.ms(), gap.to.ms()))
        .collect();
    assert_eq!(gaps, [(4500, 6000), (7000, 8000)]);
    assert_eq!(timeline.frame_at(ms(3999)).unwrap().t, ms(3600));
    assert_eq!(timeline.clock.anchors().len(), 2);
    assert_eq!(
        (
            timeline.inits.len(),
            timeline.thumbs.len(),
            timeline.masks.len()
        ),
        (2, 1, 1)
    );
    let unknown = crate::home::head(9, RunContext::default()).id;
    assert_eq!(home.catalog.timeline(unknown, at(0)).await.unwrap(), None);
}

#[tokio::test]
async fn an_objects_row_finds_its_parts() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    let entries = home.record(&head, eight_seconds(&head), Some(8000)).await;
    let objects = home.catalog.objects(head.id).await.unwrap();
    let keys: Vec<_> = objects
        .iter()
        .flat_map(|object| object.thumb.iter().map(|(key, _)| key).chain([&object.key]))
        .collect();
    let listed: Vec<_> = entries.iter().skip(1).map(|entry| &entry.key).collect();
    assert_eq!(keys, listed);
    let first = home.catalog.object(head.id, 0).await.unwrap().unwrap();
    let media = first.media.unwrap();
    assert_eq!(media.fragments.len(), 2);
    let range = media.fragments[1].byte_range();
    let moof = home.store.get_range(&first.key, range).await.unwrap();
    assert_eq!(&moof[4..8], b"moof");
    assert!(objects[1].media.is_none());
    assert_eq!(home.catalog.object(head.id, 4).await.unwrap(), None);
}

#[tokio::test]
async fn lists_filter_sort_count_and_go_page_by_page() {
    let home = Home::new();
    for n in 0..5 {
        let actor = if n % 2 == 0 { "ann" } else { "Bob_B" };
        let head = head(n, named(&format!("r-{n}"), actor));
        let objects = eight_seconds(&head)
            .into_iter()
            .take(usize::from(n))
            .collect();
        home.record(&head, objects, (n == 0).then_some(0)).await;
    }
    home.import(&[row(3500, r#""run":"r-3","outcome":"asked""#)])
        .await;
    let now = at(5000);
    let list = async |query: SessionQuery| {
        let page = home.catalog.sessions(&query, now).await.unwrap();
        let runs: Vec<_> = page
            .sessions
            .iter()
            .map(|s| s.run.clone().unwrap())
            .collect();
        (runs, page.facets, page.next)
    };
    let (runs, facets, next) = list(SessionQuery::default()).await;
    assert_eq!(runs, ["r-4", "r-3", "r-2", "r-1", "r-0"]);
    assert_eq!(next, None);
    assert_eq!(
        facets["actor"],
        [("ann".into(), 3), ("Bob_B".into(), 2)].into()
    );
    assert_eq!(
        facets["state"],
        [("live".into(), 4), ("ended".into(), 1)].into()
    );
    assert_eq!(facets["outcome"], [("asked".into(), 1)].into());
    let query = SessionQuery::default;
    let text = |s: &str| Some(s.to_owned());
    for (query, expected) in [
        (
            SessionQuery {
                q: text("bob_ R-3"),
                ..query()
            },
            vec!["r-3"],
        ),
        (
            SessionQuery {
                q: text("bob%"),
                ..query()
            },
            vec![],
        ),
        (
            SessionQuery {
                actor: text("Bob_B"),
                ..query()
            },
            vec!["r-3", "r-1"],
        ),
        (
            SessionQuery {
                os: text("windows"),
                ..query()
            },
            vec![],
        ),
        (
            SessionQuery {
                outcome: Some(Outcome::Asked),
                ..query()
            },
            vec!["r-3"],
        ),
        (
            SessionQuery {
                live: Some(false),
                ..query()
            },
            vec!["r-0"],
        ),
        (
            SessionQuery {
                from: Some(at(9000)),
                ..query()
            },
            vec!["r-4", "r-3"],
        ),
        (
            SessionQuery {
                to: Some(at(1000)),
                ..query()
            },
            vec!["r-0"],
        ),
        (
            SessionQuery {
                sort: Sort::Longest,
                limit: 2,
                ..query()
            },
            vec!["r-4", "r-3"],
        ),
        (
            SessionQuery {
                labels: [("team".into(), "red".into())].into(),
                ..query()
            },
            vec![],
        ),
    ] {
        assert_eq!(list(query.clone()).await.0, expected, "{query:?}");
    }
    for sort in [Sort::Newest, Sort::Oldest, Sort::Longest, Sort::Largest] {
        let whole = list(SessionQuery { sort, ..query() }).await.0;
        let (mut paged, mut cursor) = (Vec::new(), None);
        loop {
            let (runs, _, next) = list(SessionQuery {
                sort,
                cursor,
                limit: 2,
                ..query()
            })
            .await;
            paged.extend(runs);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(paged, whole, "{sort:?}");
    }
    let cursor = Some(Cursor("nonsense".into()));
    let refused = home
        .catalog
        .sessions(&SessionQuery { cursor, ..query() }, now)
        .await;
    assert!(matches!(refused, Err(CatalogError::Cursor)));
}

#[tokio::test]
async fn a_sessions_rows_come_in_time_order_page_by_page() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), Some(8000)).await;
    let session = format!(r#""session":"{}""#, head.id);
    let rows: Vec<_> = [5000, -700, 100, 100, 9999, 250]
        .iter()
        .enumerate()
        .map(|(n, &t)| {
            let kind = if n == 5 { "policy" } else { "log" };
            row(t, &format!(r#"{session},"id":"row.{n}","kind":"{kind}""#))
        })
        .collect();
    home.import(&rows).await;
    let list = async |query: EventQuery| {
        let page = home.catalog.events(head.id, &query).await.unwrap();
        let ids: Vec<_> = page.rows.iter().map(|row| row.row.id.clone()).collect();
        (ids, page.next)
    };
    let all = ["row.1", "row.2", "row.3", "row.5", "row.0", "row.4"];
    assert_eq!(
        list(EventQuery::default()).await,
        (all.map(String::from).to_vec(), None)
    );
    let (mut paged, mut cursor) = (Vec::new(), None);
    loop {
        let query = EventQuery {
            cursor,
            limit: 1,
            ..EventQuery::default()
        };
        let (ids, next) = list(query).await;
        paged.extend(ids);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged, all);
    let query = EventQuery::default;
    for (query, expected) in [
        (
            EventQuery {
                from: Some(ms(250)),
                ..query()
            },
            vec!["row.5", "row.0", "row.4"],
        ),
        (
            EventQuery {
                to: Some(ms(250)),
                ..query()
            },
            vec!["row.1", "row.2", "row.3"],
        ),
        (
            EventQuery {
                kinds: vec![Kind::Policy, Kind::Mark],
                ..query()
            },
            vec!["row.5"],
        ),
        (
            EventQuery {
                q: Some("AT 5".into()),
                ..query()
            },
            vec!["row.0"],
        ),
    ] {
        assert_eq!(list(query.clone()).await.0, expected, "{query:?}");
    }
    let before = home.catalog.event("row.1").await.unwrap().unwrap();
    assert_eq!(
        (before.session, before.t),
        (Some(head.id), None),
        "before the start"
    );
}

#[tokio::test]
async fn a_row_comes_back_as_it_was_sent() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), Some(8000)).await;
    let sent = row(
        1234,
        &format!(
            r#""id":"x","session":"{}","run":"r","trace_id":"{TRACE}","span_id":"{SPAN}",
            "source":"egress","kind":"artifact","request":"q","outcome":"asked","actor":"a",
            "on_behalf_of":"b","decided_by":"c","artifact":{{"name":"n","bytes":1}},
            "attributes":{{"z":[1,"ü"]}}"#,
            head.id
        )
        .replace('\n', ""),
    );
    home.import(std::slice::from_ref(&sent)).await;
    let found = home.catalog.event("x").await.unwrap().unwrap();
    assert_eq!(found.row, index::row::parse(sent.as_bytes(), 1).unwrap());
    assert_eq!((found.session, found.t), (Some(head.id), Some(ms(1234))));
    let (trace, span) = (TRACE.parse().unwrap(), Some(SPAN.parse().unwrap()));
    assert_eq!(home.catalog.by_trace(trace, span).await.unwrap(), [found]);
    let other = Some("00f067aa0ba902b8".parse().unwrap());
    assert_eq!(home.catalog.by_trace(trace, other).await.unwrap(), []);
}

#[tokio::test]
async fn density_counts_rows_by_outcome_and_shows_activity() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), Some(8000)).await;
    let fields = format!(r#""session":"{}","outcome":"blocked""#, head.id);
    let rows: Vec<_> = [0, 999, 2000, 7999, 8000, -5]
        .map(|t| row(t, &fields))
        .to_vec();
    home.import(&rows).await;
    let found = density(home.catalog.as_ref(), head.id, 8, at(0))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.lanes["blocked"], [2, 0, 1, 0, 0, 0, 0, 1]);
    assert_eq!(found.lanes["activity"].len(), 8);
    assert!(found.lanes["activity"][0] > 0 && found.lanes["activity"][3] == 0);
}
