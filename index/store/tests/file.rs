//! The file store passes the suite of every store, and more that is its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use capture::WallTime;
use store::{Retention, StoreError, conformance, open_store, open_store_with};

fn url(folder: &tempfile::TempDir) -> String {
    format!("file://{}/store", folder.path().display())
}

#[expect(clippy::disallowed_methods, reason = "the store's clock is this one")]
fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    WallTime::from_unix_ms(since.as_millis().try_into().unwrap())
}

#[tokio::test]
async fn the_file_store_keeps_every_promise() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    conformance::suite(store).await.unwrap();
}

#[tokio::test]
async fn a_folder_that_is_gone_is_no_empty_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    let body = Bytes::from_static(b"x");
    store.put_once("a", body.clone()).await.unwrap();
    let root = folder.path().join("store");
    std::fs::remove_dir_all(&root).unwrap();
    for empty in [false, true] {
        if empty {
            std::fs::create_dir(&root).unwrap(); // as where nothing is mounted
        }
        let gone = |error: Option<StoreError>| {
            assert!(matches!(error, Some(StoreError::Gone { .. })), "{error:?}");
        };
        gone(store.get("a").await.err());
        gone(store.get_range("a", 0..1).await.err());
        gone(store.head("a").await.err());
        gone(store.list("", None, 1).await.err());
        gone(store.put_once("b", body.clone()).await.err());
        gone(store.delete("a").await.err());
    }
}

#[tokio::test]
async fn the_file_store_keeps_what_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    conformance::lock_suite(&*store, now()).await.unwrap();
    store::probe_lock(&*store, now()).await.unwrap();
    store::probe_lock(&*store, now()).await.unwrap();
    let listed = store.list("probe/", None, 10).await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
}

#[tokio::test]
async fn what_was_retained_is_deleted_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    store.put_once("a", Bytes::from_static(b"x")).await.unwrap();
    let past = now().plus_ms(-1);
    store
        .set_retention("a", past, Retention::Compliance)
        .await
        .unwrap();
    store.delete_version("a").await.unwrap();
    // Nor does its note keep the next object of that name.
    store.put_once("a", Bytes::from_static(b"y")).await.unwrap();
    store.delete("a").await.unwrap();
}

#[tokio::test]
async fn a_note_that_cannot_be_read_keeps_its_object() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    store.put_once("a", Bytes::from_static(b"x")).await.unwrap();
    store.set_hold("a", true).await.unwrap();
    std::fs::write(folder.path().join("store/.lock/a"), b"torn").unwrap();
    assert!(store.delete("a").await.is_err());
    assert!(store.head("a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_probe_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    store::probe(&*store).await.unwrap();
    assert_eq!(store.list("", None, 10).await.unwrap(), []);
    let temporary = folder.path().join("store/.tmp");
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
}

#[tokio::test]
async fn a_long_listing_comes_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    for n in 0..25 {
        let key = format!("v1/{}/{n:03}", n % 3);
        store
            .put_once(&key, Bytes::from_static(b"x"))
            .await
            .unwrap();
    }
    let mut pages = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = store.list("v1/", after.as_deref(), 10).await.unwrap();
        after = page.last().map(|last| last.key.clone());
        pages.extend(page.iter().map(|listed| listed.key.clone()));
        if page.len() < 10 {
            break;
        }
    }
    assert_eq!(pages.len(), 25);
    assert!(pages.is_sorted());
}

#[test]
fn urls_that_name_no_store_say_what_to_write() {
    for (url, hint) in [
        ("", "file:///"),
        ("/var/lib/store", "file:///"),
        ("file://host/share", "three slashes"),
        ("s3://bucket/prefix", "region"),
        ("s3://bucket/prefix?region=r", "set AWS_ACCESS_KEY_ID"),
        ("ftp://host/x", "file:///"),
    ] {
        let error = open_store_with(url, |_| None).err().unwrap().to_string();
        assert!(error.contains(hint), "{url}: {error}");
    }
}

#[test]
fn errors_do_not_repeat_secrets() {
    for url in [
        "s3://key:hunter2@bucket/prefix?region=r",
        "s3://bucket?secret_access_key=hunter2",
        "s3://bucket?region=r&endpoint=https://u:hunter2@host",
        "s3://key:hunter2@bucket:x/",
    ] {
        let error = open_store_with(url, |_| None).err().unwrap();
        let told = format!("{error} {error:?}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("store"), b"a file").unwrap();
    let error = open_store(&url(&folder)).err().unwrap().to_string();
    assert!(
        error.contains("store") && error.contains("check"),
        "{error}"
    );
}
