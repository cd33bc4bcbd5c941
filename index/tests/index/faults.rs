//! A catalogue that fails says how, and is used again once it is mended.

use capture::session::RunContext;
use index::{Catalog, CatalogError, catalog::Fault, open_catalog_later};
use rusqlite::Connection;

use crate::home::{Home, at, eight_seconds, head};

async fn check(catalog: &dyn Catalog, fault: Fault, told: &str) {
    let error = catalog.probe().await.unwrap_err();
    assert_eq!(error.fault(), fault, "{error:?}");
    assert!(error.to_string().contains(told), "{error}");
}

fn database(home: &Home) -> Connection {
    Connection::open(home.folder.path().join("catalog.db")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_catalogue_is_read_and_written_again_once_it_is_free() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), None).await;
    let other = database(&home);
    other.execute_batch("begin immediate").unwrap();
    // A handle that is opened under the lock reads as well.
    let late = home.second_catalog();
    let (refused, read) = tokio::join!(
        check(&*home.catalog, Fault::Passing, "another process holds"),
        late.session(head.id, at(0)),
    );
    let () = refused;
    assert!(read.unwrap().is_some());
    other.execute_batch("rollback").unwrap();
    home.catalog.renew(head.id, at(1)).await.unwrap();
}

#[tokio::test]
async fn a_later_schema_is_refused_at_once_and_the_older_one_taken_again() {
    let home = Home::new();
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), None).await;
    let other = database(&home);
    let version = |version: i64| other.pragma_update(None, "user_version", version).unwrap();
    let ours: i64 = other
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    version(ours + 1);
    check(&*home.catalog, Fault::Broken, "use the newer build").await;
    let read = home.catalog.session(head.id, at(0)).await;
    assert!(matches!(read, Err(CatalogError::Newer { .. })), "{read:?}");
    version(ours);
    home.catalog.probe().await.unwrap();
    assert!(
        home.catalog
            .session(head.id, at(0))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn a_damaged_file_is_told_and_one_put_in_its_place_is_used() {
    let home = Home::new();
    let path = home.folder.path().join("later.db");
    std::fs::write(&path, vec![b'x'; 8192]).unwrap();
    let catalog = open_catalog_later(&format!("sqlite://{}", path.display())).unwrap();
    check(&*catalog, Fault::Broken, "index rebuild").await;
    let read = catalog.store_ids().await;
    assert!(matches!(read, Err(CatalogError::Corrupt(_))), "{read:?}");
    let head = head(0, RunContext::default());
    home.record(&head, eight_seconds(&head), None).await;
    database(&home)
        .query_row("pragma wal_checkpoint (truncate)", [], |_| Ok(()))
        .unwrap();
    std::fs::copy(home.folder.path().join("catalog.db"), &path).unwrap();
    assert!(catalog.session(head.id, at(0)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let home = Home::new();
    let path = home.folder.path().join("notes.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("create table note (text)").unwrap();
    let catalog = open_catalog_later(&format!("sqlite://{}", path.display())).unwrap();
    check(&*catalog, Fault::Broken, "no catalogue").await;
    let tables: i64 = other
        .query_row("select count(*) from sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn a_catalogue_moved_away_is_made_anew_and_the_old_one_stays_whole() {
    let home = Home::new();
    let first = head(0, RunContext::default());
    home.record(&first, eight_seconds(&first), None).await;
    assert!(
        home.catalog
            .session(first.id, at(0))
            .await
            .unwrap()
            .is_some()
    );
    for end in ["", "-wal", "-shm"] {
        let from = home.folder.path().join(format!("catalog.db{end}"));
        let to = home.folder.path().join(format!("moved.db{end}"));
        std::fs::rename(from, to).unwrap();
    }
    assert!(
        home.catalog
            .session(first.id, at(0))
            .await
            .unwrap()
            .is_none()
    );
    let second = head(1, RunContext::default());
    home.record(&second, eight_seconds(&second), None).await;
    let moved = index::open_catalog(&format!(
        "sqlite://{}",
        home.folder.path().join("moved.db").display()
    ));
    let moved = moved.unwrap();
    assert!(moved.session(first.id, at(0)).await.unwrap().is_some());
    assert!(moved.session(second.id, at(0)).await.unwrap().is_none());
    assert!(
        home.second_catalog()
            .session(second.id, at(0))
            .await
            .unwrap()
            .is_some()
    );
}
