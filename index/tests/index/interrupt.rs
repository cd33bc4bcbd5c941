//! A recorder that goes silent is given up, on a clock of the test's own.

use capture::{SessionId, WallTime, session::RunContext};
use index::{
    Catalog, Stores,
    catalog::State,
    commit::{Interrupted, commit_end},
    interrupt::{GivenUp, InterruptError, Watch},
    owner,
};
use segment::{
    end::{EndBody, EndReason},
    key::SessionKeys,
};
use store::Store;
use uuid::Uuid;

use crate::home::{Home, at, eight_seconds, end_body, head};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// A claimed home with one session of 8 s that never ended, last heard of at `seen_ms`.
async fn silent_home(seen_ms: Option<i64>) -> (Home, SessionId) {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), None).await;
    if let Some(seen) = seen_ms {
        home.catalog.renew(head.id, at(seen)).await.unwrap();
    }
    claim(&home).await;
    (home, head.id)
}

async fn claim(home: &Home) {
    let (stores, catalog) = (home.stores(), &*home.catalog);
    owner::claim(&stores, catalog, Uuid::from_u128(1))
        .await
        .unwrap();
}

/// One look at `now_ms`: what was given up.
async fn look(watch: &mut Watch, home: &Home, now_ms: i64) -> Vec<GivenUp> {
    let looked = watch.look(&home.stores(), &*home.catalog, at(now_ms)).await;
    looked.unwrap().into_iter().map(Result::unwrap).collect()
}

async fn state(
    catalog: &dyn Catalog,
    session: SessionId,
    now_ms: i64,
) -> (State, Option<WallTime>) {
    let found = catalog.session(session, at(now_ms)).await.unwrap().unwrap();
    (found.state, found.end)
}

async fn notes(store: &dyn Store, session: SessionId) -> Vec<Interrupted> {
    let keys = SessionKeys::new(session, at(0));
    let prefix = format!("{}interrupted/", keys.prefix());
    let mut notes = Vec::new();
    for object in store.list(&prefix, None, 10).await.unwrap() {
        let bytes = store.get(&object.key).await.unwrap();
        notes.push(serde_json::from_slice(&bytes).unwrap());
    }
    notes
}

#[tokio::test]
async fn a_silent_session_is_lost_after_a_minute_and_interrupted_after_an_hour() {
    let (home, session) = silent_home(Some(10_000)).await;
    let mut watch = Watch::new(HOUR);
    let heard = 10_000;
    for now in [heard, heard + MINUTE, heard + HOUR - 1] {
        assert_eq!(look(&mut watch, &home, now).await, []);
    }
    assert_eq!(
        state(&*home.catalog, session, heard + MINUTE).await,
        (State::Lost, None)
    );
    let now = heard + HOUR;
    // The end is the last moment that is proven, not the last time the recorder was heard of.
    let given_up = GivenUp::Interrupted(session, at(8_000));
    assert_eq!(look(&mut watch, &home, now).await, [given_up]);
    assert_eq!(
        state(&*home.catalog, session, now).await,
        (State::Interrupted, Some(at(8_000)))
    );
    let timeline = home.catalog.timeline(session, at(now)).await.unwrap();
    assert_eq!(timeline.unwrap().duration.ms(), 8_000);
    assert!(home.catalog.end(session).await.unwrap().is_none());
    // And only once.
    assert_eq!(look(&mut watch, &home, now + HOUR).await, []);
    assert_eq!(notes(&*home.store, session).await.len(), 1);
}

#[tokio::test]
async fn a_server_that_starts_late_waits_a_minute_and_an_hour_where_no_lease_is_known() {
    let (home, session) = silent_home(Some(0)).await;
    let mut watch = Watch::new(HOUR);
    let now = 100 * HOUR;
    assert_eq!(look(&mut watch, &home, now).await, []);
    let given_up = look(&mut watch, &home, now + MINUTE).await;
    assert_eq!(given_up, [GivenUp::Interrupted(session, at(8_000))]);

    let (home, session) = silent_home(None).await;
    let mut watch = Watch::new(HOUR);
    for later in [0, MINUTE, HOUR - 1] {
        assert_eq!(look(&mut watch, &home, now + later).await, []);
    }
    let given_up = look(&mut watch, &home, now + HOUR).await;
    assert_eq!(given_up, [GivenUp::Interrupted(session, at(8_000))]);
}

#[tokio::test]
async fn a_recorder_that_renews_is_never_given_up() {
    let (home, session) = silent_home(Some(0)).await;
    let mut watch = Watch::new(HOUR);
    for hour in 0..5 {
        let now = hour * HOUR + 2 * MINUTE;
        assert_eq!(look(&mut watch, &home, now).await, []);
        home.catalog.renew(session, at(now + 1)).await.unwrap();
    }
}

#[tokio::test]
async fn two_servers_write_one_note() {
    let (home, session) = silent_home(Some(0)).await;
    let second = Home {
        folder: tempfile::tempdir().unwrap(),
        store: home.store.clone(),
        catalog: home.second_catalog(),
    };
    let (mut a, mut b) = (Watch::new(HOUR), Watch::new(HOUR));
    look(&mut a, &home, HOUR).await;
    look(&mut b, &second, HOUR).await;
    let now = HOUR + MINUTE;
    let (by_a, by_b) = tokio::join!(look(&mut a, &home, now), look(&mut b, &second, now));
    for given_up in [by_a, by_b].concat() {
        assert_eq!(given_up, GivenUp::Interrupted(session, at(8_000)));
    }
    assert_eq!(notes(&*home.store, session).await.len(), 1);
}

#[tokio::test]
async fn another_servers_note_is_taken_as_it_is() {
    let (home, session) = silent_home(Some(0)).await;
    let keys = SessionKeys::new(session, at(0));
    let note = Interrupted {
        format: 1,
        session,
        n: 1,
        at: at(7_000),
    };
    let bytes = serde_json::to_vec(&note).unwrap();
    home.store
        .put_once(&keys.interrupted(1), bytes.into())
        .await
        .unwrap();
    let mut watch = Watch::new(HOUR);
    look(&mut watch, &home, HOUR).await;
    let given_up = look(&mut watch, &home, 2 * HOUR).await;
    assert_eq!(given_up, [GivenUp::Interrupted(session, at(7_000))]);
    assert_eq!(notes(&*home.store, session).await, [note]);
}

#[tokio::test]
async fn an_agent_that_comes_back_ends_its_session_itself() {
    let (home, session) = silent_home(Some(0)).await;
    let mut watch = Watch::new(HOUR);
    look(&mut watch, &home, HOUR).await;
    look(&mut watch, &home, 2 * HOUR).await;
    let head = head(0, RunContext::default());
    let keys = SessionKeys::new(session, head.start);
    let body = EndBody {
        reason: EndReason::Crash,
        recovered: true,
        ..end_body(&head, 8_000, Vec::new())
    };
    let (store, catalog) = (&*home.store, &*home.catalog);
    commit_end(store, catalog, &keys, &body).await.unwrap();
    let ended = (State::Ended, Some(at(8_000)));
    assert_eq!(state(catalog, session, 3 * HOUR).await, ended);
    assert_eq!(look(&mut watch, &home, 5 * HOUR).await, []);
    let rebuilt = home.empty_catalog();
    index::rebuild::rebuild(store, &*rebuilt, &[], |_| {})
        .await
        .unwrap();
    assert_eq!(state(&*rebuilt, session, 3 * HOUR).await, ended);
}

#[tokio::test]
async fn a_recorder_that_goes_on_and_is_lost_again_gets_a_second_note() {
    let (home, session) = silent_home(Some(0)).await;
    let mut watch = Watch::new(HOUR);
    look(&mut watch, &home, HOUR).await;
    look(&mut watch, &home, 2 * HOUR).await;
    home.catalog.renew(session, at(3 * HOUR)).await.unwrap();
    assert_eq!(
        state(&*home.catalog, session, 3 * HOUR).await.0,
        State::Live
    );
    assert_eq!(look(&mut watch, &home, 3 * HOUR + 2 * MINUTE).await, []);
    assert_eq!(look(&mut watch, &home, 5 * HOUR).await.len(), 1);
    let numbers: Vec<u64> = notes(&*home.store, session)
        .await
        .iter()
        .map(|note| note.n)
        .collect();
    assert_eq!(numbers, [1, 2]);
}

#[tokio::test]
async fn what_the_catalogue_missed_is_put_right_first() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    let id = head.id;
    let elsewhere = Home {
        folder: tempfile::tempdir().unwrap(),
        store: home.store.clone(),
        catalog: home.empty_catalog(),
    };
    elsewhere
        .record(&head, eight_seconds(&head), Some(8_000))
        .await;
    index::commit::commit_head(&*home.store, &*home.catalog, &head)
        .await
        .unwrap();
    claim(&home).await;
    let mut watch = Watch::new(HOUR);
    look(&mut watch, &home, HOUR).await;
    assert_eq!(
        look(&mut watch, &home, 3 * HOUR).await,
        [GivenUp::Ended(id)]
    );
    assert_eq!(home.catalog.objects(id).await.unwrap().len(), 4);
    assert!(notes(&*home.store, id).await.is_empty());
}

#[tokio::test]
async fn a_foreign_catalogue_gives_nobody_up() {
    let (home, session) = silent_home(Some(0)).await;
    let url = format!("file://{}/other", home.folder.path().display());
    let other = store::open_store(&url).unwrap();
    let other = Stores::new(other, [], home.catalog.clone());
    let mut watch = Watch::new(HOUR);
    watch.look(&other, &*home.catalog, at(HOUR)).await.unwrap();
    let looked = watch.look(&other, &*home.catalog, at(3 * HOUR)).await;
    assert!(
        matches!(looked, Err(InterruptError::Claim(_))),
        "{looked:?}"
    );
    assert!(notes(&other, session).await.is_empty());
}
