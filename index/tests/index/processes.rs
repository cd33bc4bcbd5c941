//! Two processes on one catalogue, and files of other versions.

use capture::session::RunContext;
use index::{CatalogError, catalog::SessionQuery, open_catalog};

use crate::home::{Home, at, eight_seconds, head, row};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_handles_write_at_once_and_lose_nothing() {
    let home = Home::new();
    let second = Home {
        folder: tempfile::tempdir().unwrap(),
        store: home.store.clone(),
        catalog: home.second_catalog(),
    };
    let write = async |home: &Home, first: u8| {
        for n in (first..40).step_by(2) {
            let head = head(
                n,
                RunContext {
                    run: Some(format!("r-{n}")),
                    ..RunContext::default()
                },
            );
            home.record(&head, eight_seconds(&head), Some(8000)).await;
            let offset = i64::from(n) * 1000;
            let run = format!(r#""run":"r-{n}""#);
            let rows: Vec<_> = (0..50).map(|i| row(offset + i, &run)).collect();
            assert_eq!(home.import(&rows).await.accepted, 50);
        }
    };
    tokio::join!(write(&home, 0), write(&second, 1));
    let query = SessionQuery {
        limit: 100,
        ..SessionQuery::default()
    };
    let page = second.catalog.sessions(&query, at(0)).await.unwrap();
    assert_eq!(page.sessions.len(), 40);
    for session in page.sessions {
        assert_eq!(session.outcomes, [("recorded".into(), 50)].into());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_handles_may_open_a_new_catalogue_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/deep/er/catalog.db", folder.path().display());
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..24 {
        let url = url.clone();
        opening.spawn_blocking(move || open_catalog(&url).map(drop));
    }
    while let Some(opened) = opening.join_next().await {
        opened.unwrap().unwrap();
    }
    let db = rusqlite::Connection::open(folder.path().join("deep/er/catalog.db")).unwrap();
    let mode: String = db
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn a_catalogue_of_a_later_version_is_refused() {
    let home = Home::new();
    let path = home.folder.path().join("later.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let opened = open_catalog(&format!("sqlite://{}", path.display()));
    let Err(error @ CatalogError::Newer { found: 99, .. }) = opened else {
        panic!("opened a later version");
    };
    assert!(error.to_string().contains("index rebuild"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_catalogue_is_an_error() {
    let home = Home::new();
    let path = home.folder.path().join("notes.db");
    std::fs::write(
        &path,
        b"not a database at all, but long enough to be read as one",
    )
    .unwrap();
    let opened = open_catalog(&format!("sqlite://{}", path.display()));
    assert!(matches!(opened, Err(CatalogError::Corrupt(_))));
    for (url, hint) in [
        ("catalog.db", "sqlite:///"),
        ("sqlite://relative", "three slashes"),
        ("postgres://db/x", "no PostgreSQL back end yet"),
    ] {
        let error = open_catalog(url).err().unwrap().to_string();
        assert!(error.contains(hint), "{url}: {error}");
    }
}
