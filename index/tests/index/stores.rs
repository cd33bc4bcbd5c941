//! Where storage has moved, what was recorded before is read from where it is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use capture::{
    SessionId,
    session::{RunContext, SessionHead},
};
use index::{
    Catalog, CatalogError, Stores,
    owner::{self, ClaimError},
    rebuild::rebuild,
    scan,
    verify::{Known, verify},
};
use segment::key::SessionKeys;
use store::{Store, StoreError, open_store};
use uuid::Uuid;

use crate::home::{Home, eight_seconds, head, row};

/// Longer than any catalogue is busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// A catalogue with one session in the store `old` and one in `new`.
struct Moved {
    home: Home,
    old: Arc<dyn Store>,
    heads: [SessionHead; 2],
}

impl Moved {
    async fn new() -> Self {
        let mut home = Home::new();
        let heads = [0, 1].map(|n| head(n, RunContext::default()));
        home.record(&heads[0], eight_seconds(&heads[0]), Some(8000))
            .await;
        let old = home.store.clone();
        claim(&home.stores(), &*home.catalog).await.unwrap();
        home.store = another(&home, "new");
        home.record(&heads[1], eight_seconds(&heads[1]), Some(8000))
            .await;
        Self { home, old, heads }
    }

    fn stores(&self) -> Stores {
        let catalog = Arc::clone(&self.home.catalog);
        Stores::new(self.home.store.clone(), [self.old.clone()], catalog)
    }
}

fn another(home: &Home, name: &str) -> Arc<dyn Store> {
    open_store(&format!("file://{}/{name}", home.folder.path().display())).unwrap()
}

/// Each time with other fresh ids.
async fn claim(stores: &Stores, catalog: &dyn Catalog) -> Result<(), ClaimError> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let fresh = NEXT.fetch_add(100, Ordering::Relaxed);
    owner::claim(stores, catalog, Uuid::from_u128(fresh.into())).await
}

async fn check_sound(stores: &Stores, head: &SessionHead) {
    let keys = SessionKeys::new(head.id, head.start);
    let report = verify(stores, head.id, &keys, Known::default()).await;
    let report = report.unwrap();
    assert!(report.is_sound() && report.complete, "{report:?}");
}

/// The store that the session's row names, once it does.
async fn noted(catalog: &dyn Catalog, session: SessionId) -> String {
    let noted = async {
        loop {
            if let Some(store) = catalog.store_of(session).await.unwrap() {
                return store;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, noted).await.unwrap()
}

async fn marker(store: &dyn Store) -> String {
    owner::mark(store, Uuid::nil()).await.unwrap()
}

#[tokio::test]
async fn each_session_is_read_from_its_own_store_and_its_row_names_that() {
    let moved = Moved::new().await;
    let (stores, catalog) = (moved.stores(), &*moved.home.catalog);
    claim(&stores, catalog).await.unwrap();
    for head in &moved.heads {
        check_sound(&stores, head).await;
    }
    let [old, new] = [&moved.old, &moved.home.store].map(|store| store.as_ref());
    let own = [marker(old).await, marker(new).await];
    assert_ne!(own[0], own[1]);
    for (head, own) in moved.heads.iter().zip(&own) {
        assert_eq!(&noted(catalog, head.id).await, own);
    }
    // Who knows that asks no other.
    let keys = SessionKeys::new(moved.heads[0].id, moved.heads[0].start);
    let other = Stores::new(
        moved.home.store.clone(),
        [moved.old.clone()],
        moved.home.catalog.clone(),
    );
    new.put_once(&keys.interrupted(7), "not the session's store".into())
        .await
        .unwrap();
    old.put_once(&keys.interrupted(7), "its store".into())
        .await
        .unwrap();
    assert_eq!(other.get(&keys.interrupted(7)).await.unwrap(), "its store");
}

#[tokio::test]
async fn a_catalogue_made_again_from_all_equals_the_one_that_grew() {
    let moved = Moved::new().await;
    let (stores, catalog) = (moved.stores(), &*moved.home.catalog);
    claim(&stores, catalog).await.unwrap();
    moved.home.import(&[row(500, "")]).await;
    let grown = catalog.dump().await.unwrap();
    let owners = owner::owners(&stores, catalog, Uuid::nil(), false).await;
    let report = rebuild(&stores, catalog, &owners.unwrap(), |_| {}).await;
    let report = report.unwrap();
    assert_eq!((report.sessions, report.rows), (2, 1));
    assert_eq!(catalog.dump().await.unwrap(), grown);
    stores.note_again().await;
    for (head, store) in moved.heads.iter().zip([&moved.old, &moved.home.store]) {
        let named = catalog.store_of(head.id).await.unwrap();
        assert_eq!(named, Some(marker(store.as_ref()).await));
    }
}

#[tokio::test]
async fn what_is_new_goes_into_the_first() {
    let moved = Moved::new().await;
    let stores = moved.stores();
    stores.put_once("v1/a", "x".into()).await.unwrap();
    assert!(moved.home.store.head("v1/a").await.unwrap().is_some());
    assert!(moved.old.head("v1/a").await.unwrap().is_none());
    assert_eq!(stores.get("v1/a").await.unwrap(), "x");
}

#[tokio::test]
async fn a_store_that_was_copied_whole_takes_the_place_of_the_old() {
    let moved = Moved::new().await;
    let (home, head) = (&moved.home, &moved.heads[0]);
    let copy = another(home, "copy");
    for object in moved.old.list("", None, 1000).await.unwrap() {
        let bytes = moved.old.get(&object.key).await.unwrap();
        copy.put_once(&object.key, bytes).await.unwrap();
    }
    std::fs::remove_dir_all(home.folder.path().join("store")).unwrap();
    let stores = Stores::new(copy, [], home.catalog.clone());
    claim(&stores, &*home.catalog).await.unwrap();
    check_sound(&stores, head).await;
}

#[tokio::test]
async fn a_store_of_another_catalogue_is_refused_beside_ones_own() {
    let moved = Moved::new().await;
    owner::mark(&*moved.home.store, Uuid::from_u128(77))
        .await
        .unwrap();
    let claimed = claim(&moved.stores(), &*moved.home.catalog).await;
    let error = claimed.unwrap_err().to_string();
    assert!(error.contains("belongs to another store"), "{error}");
    assert!(error.contains("/new;"), "{error}");
}

#[tokio::test]
async fn a_store_that_is_away_takes_only_its_own_sessions_along() {
    let moved = Moved::new().await;
    let stores = moved.stores();
    claim(&stores, &*moved.home.catalog).await.unwrap();
    std::fs::remove_dir_all(moved.home.folder.path().join("store")).unwrap();
    check_new(&stores, &moved.heads[1]).await;
    let keys = SessionKeys::new(moved.heads[0].id, moved.heads[0].start);
    let lost = stores.get(&keys.head()).await;
    assert!(matches!(lost, Err(StoreError::Gone { .. })), "{lost:?}");
    // What it holds must not seem to be deleted.
    let listed = stores.list("v1/", None, 10).await;
    assert!(matches!(listed, Err(StoreError::Gone { .. })), "{listed:?}");
}

async fn check_new(stores: &Stores, head: &SessionHead) {
    let keys = SessionKeys::new(head.id, head.start);
    stores.get(&keys.head()).await.unwrap();
    assert!(stores.head(&keys.end()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_listing_of_several_is_one() {
    let moved = Moved::new().await;
    let stores = moved.stores();
    for n in 0..7 {
        let key = format!("pages/{n}");
        let to = [&moved.old, &moved.home.store];
        to[n % 2].put_once(&key, "x".into()).await.unwrap();
        to[0].put_once(&key, "x".into()).await.unwrap(); // some are in both
    }
    let mut keys: Vec<String> = Vec::new();
    loop {
        let after = keys.last().map(String::as_str);
        let page = stores.list("pages/", after, 3).await.unwrap();
        keys.extend(page.iter().map(|listed| listed.key.clone()));
        if page.len() < 3 {
            break;
        }
    }
    let all: Vec<_> = (0..7).map(|n| format!("pages/{n}")).collect();
    assert_eq!(keys, all);
    let scanned = scan::find(&stores, moved.heads[0].id).await.unwrap();
    assert_eq!(scanned.unwrap().objects.len(), 4);
}

#[tokio::test]
async fn a_catalogue_of_the_second_schema_keeps_its_store() {
    let home = Home::new();
    let old = head(0, RunContext::default());
    home.record(&old, eight_seconds(&old), None).await;
    home.catalog.set_store_ids(&["a".to_owned()]).await.unwrap();
    let path = home.folder.path().join("catalog.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "create table meta (name text not null primary key, value text not null) strict;
         insert into meta select 'store_id', id from store;
         drop table store;
         alter table session drop column store;
         pragma user_version = 2;",
    )
    .unwrap();
    drop(db);
    let later = home.second_catalog();
    assert_eq!(later.store_ids().await.unwrap(), ["a"]);
    assert_eq!(later.store_of(old.id).await.unwrap(), None);
    let bound = later.set_store_ids(&["b".to_owned()]).await;
    assert!(matches!(bound, Err(CatalogError::Conflict { .. })));
}
