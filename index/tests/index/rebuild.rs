//! The catalogue can be dropped and comes out equal.

use capture::session::RunContext;
use index::{
    CatalogError,
    catalog::State,
    commit::{self, CommitError, Interrupted, commit_interrupted},
    rebuild::{Progress, rebuild},
    scan::{self, ScanError, Unreadable},
};
use segment::key::SessionKeys;

use crate::home::{Home, SPAN, TRACE, assembled, at, eight_seconds, head, row};

/// Sessions ended, open and interrupted, with rows that came before and after them.
async fn busy_home() -> Home {
    let home = Home::new();
    let by = |run: &str| RunContext {
        run: Some(run.into()),
        actor: Some("ann".into()),
        traceparent: (run == "r-0").then(|| format!("00-{TRACE}-{SPAN}-01").parse().unwrap()),
        labels: [("team".to_owned(), run.to_owned())].into(),
        ..RunContext::default()
    };
    home.import(&[
        row(500, r#""run":"r-0","source":"a""#),
        row(700, &format!(r#""trace_id":"{TRACE}","source":"b""#)),
        row(900, r#""actor":"eve""#),
    ])
    .await;
    for n in 0..3u8 {
        let head = head(n * 4, by(&format!("r-{n}")));
        home.record(&head, eight_seconds(&head), (n == 0).then_some(8000))
            .await;
        home.catalog.renew(head.id, at(77_000)).await.unwrap();
        let t = i64::from(n) * 4000 + 1000;
        home.import(&[
            row(
                t,
                &format!(r#""session":"{}","outcome":"asked","request":"q""#, head.id),
            ),
            row(t + 100, r#""actor":"ann""#),
            row(
                t + 4500,
                r#""actor":"ann","trace_id":"00000000000000000000000000000007""#,
            ),
        ])
        .await;
        if n == 1 {
            let keys = SessionKeys::new(head.id, head.start);
            let note = Interrupted {
                format: 1,
                session: head.id,
                n: 1,
                at: at(6000),
            };
            let (store, catalog) = (home.store.as_ref(), home.catalog.as_ref());
            commit_interrupted(store, catalog, &keys, &note)
                .await
                .unwrap();
        }
    }
    home
}

#[tokio::test]
async fn a_rebuilt_catalogue_equals_the_one_that_grew() {
    let home = busy_home().await;
    let grown = home.catalog.dump().await.unwrap();
    assert!(
        grown.values().filter(|lines| !lines.is_empty()).count() >= 12,
        "{grown:#?}"
    );
    let other = home.empty_catalog();
    let mut seen = Vec::new();
    let report = rebuild(home.store.as_ref(), other.as_ref(), &[], |progress| {
        seen.push(progress);
    })
    .await
    .unwrap();
    assert_eq!((report.sessions, report.objects, report.rows), (3, 12, 12));
    assert_eq!(report.unreadable, []);
    assert_eq!(other.dump().await.unwrap(), grown);
    let last = seen.last().copied().unwrap();
    let Progress {
        sessions,
        sessions_done,
        logs,
        logs_done,
        rows,
    } = last;
    assert_eq!((sessions_done, logs_done, rows), (sessions, logs, 12));
}

#[tokio::test]
async fn rebuilding_in_place_keeps_the_answers() {
    let home = busy_home().await;
    let grown = home.catalog.dump().await.unwrap();
    rebuild(home.store.as_ref(), home.catalog.as_ref(), &[], |_| {})
        .await
        .unwrap();
    assert_eq!(home.catalog.dump().await.unwrap(), grown);
    // And it still takes what comes.
    home.import(&[row(1, r#""source":"later""#)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_recorded_meanwhile_is_there_afterwards() {
    let home = busy_home().await;
    let second = home.second_catalog();
    let (store, catalog) = (home.store.as_ref(), second.as_ref());
    let meanwhile = async {
        for n in 100..130 {
            let head = head(n, RunContext::default());
            let keys = SessionKeys::new(head.id, head.start);
            let first = commit::commit_head(store, catalog, &head).await.unwrap();
            let mut prev = first.sha256;
            for records in eight_seconds(&head) {
                // A recorder whose session was swapped away tries again, until it is known.
                loop {
                    let (object, sheet) = assembled(&records, prev);
                    match commit::commit_object(store, catalog, &keys, object, sheet).await {
                        Err(CommitError::Catalog(CatalogError::UnknownSession { .. })) => {}
                        done => break prev = done.unwrap().unwrap().entry.sha256,
                    }
                }
            }
        }
    };
    let rebuilding = rebuild(store, home.catalog.as_ref(), &[], |_| {});
    let (rebuilt, ()) = tokio::join!(rebuilding, meanwhile);
    assert_eq!(rebuilt.unwrap().unreadable, []);
    let other = home.empty_catalog();
    rebuild(store, other.as_ref(), &[], |_| {}).await.unwrap();
    assert_eq!(catalog.dump().await.unwrap(), other.dump().await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_that_fails_leaves_the_catalogue_as_it_was() {
    let home = busy_home().await;
    let grown = home.catalog.dump().await.unwrap();
    let other = rusqlite::Connection::open(home.folder.path().join("catalog.db")).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let rebuilt = rebuild(home.store.as_ref(), home.catalog.as_ref(), &[], |_| {}).await;
    assert!(rebuilt.is_err());
    assert_eq!(home.catalog.dump().await.unwrap(), grown);
}

#[tokio::test]
async fn a_damaged_catalogue_is_put_aside_and_made_again() {
    let home = busy_home().await;
    let grown = home.catalog.dump().await.unwrap();
    let path = home.folder.path().join("damaged.db");
    std::fs::write(&path, vec![b'x'; 8192]).unwrap();
    let url = format!("sqlite://{}", path.display());
    let damaged = index::open_catalog_later(&url).unwrap();
    rebuild(
        home.store.as_ref(),
        damaged.as_ref(),
        &["s".to_owned()],
        |_| {},
    )
    .await
    .unwrap();
    let mut made = damaged.dump().await.unwrap();
    assert_eq!(damaged.store_ids().await.unwrap(), ["s"]);
    made.remove("store");
    assert_eq!(made, grown);
    assert!(path.with_extension("db.damaged").exists());
    assert!(!path.with_extension("db.rebuild").exists());
}

#[tokio::test]
async fn recorders_that_live_are_live_after_a_rebuild() {
    let home = busy_home().await;
    let live = head(8, RunContext::default()).id;
    home.catalog.renew(live, at(500_000)).await.unwrap();
    rebuild(home.store.as_ref(), home.catalog.as_ref(), &[], |_| {})
        .await
        .unwrap();
    let found = home.catalog.session(live, at(501_000)).await.unwrap();
    assert_eq!(found.unwrap().state, State::Live);
}

#[tokio::test]
async fn unreadable_objects_are_told_and_the_rest_is_there() {
    let home = busy_home().await;
    let root = home.folder.path().join("store");
    let id = head(0, RunContext::default()).id;
    let session = root.join(format!("v1/2027/01/15/{id}"));
    std::fs::write(session.join("segment/00000002.mp4"), b"rubbish").unwrap();
    std::fs::write(session.join("idle/00000003.json.zst"), b"").unwrap();
    std::fs::write(root.join("v1/rows/rubbish.ndjson.zst"), b"rubbish").unwrap();
    let id = head(4, RunContext::default()).id;
    std::fs::write(root.join(format!("v1/2027/01/15/{id}/session.json")), b"{}").unwrap();
    let report = rebuild(home.store.as_ref(), home.catalog.as_ref(), &[], |_| {})
        .await
        .unwrap();
    let named: Vec<_> = report
        .unreadable
        .iter()
        .map(|object| object.key.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(
        named,
        [
            "00000002.mp4",
            "00000003.json.zst",
            "session.json",
            "rubbish.ndjson.zst"
        ]
    );
    assert_eq!(report.sessions, 2);
}

#[tokio::test]
async fn a_scan_lists_what_the_end_record_will() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    let entries = home.record(&head, eight_seconds(&head), None).await;
    let found = scan::find(home.store.as_ref(), head.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.entries(), entries);
}

#[tokio::test]
async fn a_session_without_its_head_is_told_and_holds_up_no_other() {
    let home = busy_home().await;
    let headless = head(4, RunContext::default());
    let key = SessionKeys::new(headless.id, headless.start).head();
    std::fs::remove_file(home.folder.path().join("store").join(&key)).unwrap();
    let other = home.empty_catalog();
    let report = rebuild(home.store.as_ref(), other.as_ref(), &[], |_| {}).await;
    let report = report.unwrap();
    let missing = Unreadable {
        key: key.clone(),
        problem: "missing".to_owned(),
    };
    assert_eq!(
        (report.sessions, report.unreadable),
        (2, vec![missing.clone()])
    );
    // Who asks for it by its id hears the same, not that there is no such session.
    let found = scan::find(home.store.as_ref(), headless.id).await;
    let Err(ScanError::Head { key, problem }) = found else {
        panic!("{found:?}");
    };
    assert_eq!(Unreadable { key, problem }, missing);
}
