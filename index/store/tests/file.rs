//! The file store passes the suite of every store, and more that is its own.

use bytes::Bytes;
use store::{StoreError, conformance, open_store};

fn url(folder: &tempfile::TempDir) -> String {
    format!("file://{}/store", folder.path().display())
}

#[tokio::test]
async fn the_file_store_keeps_every_promise() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    conformance::suite(store.as_ref()).await.unwrap();
}

#[tokio::test]
async fn a_probe_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(&url(&folder)).unwrap();
    store.probe().await.unwrap();
    assert_eq!(store.list("", None, 10).await.unwrap(), []);
    let temporary = folder.path().join("store/.tmp");
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
}

#[tokio::test]
async fn of_many_writers_of_one_key_one_wins_and_its_bytes_stay() {
    let folder = tempfile::tempdir().unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..16u8 {
        let store = open_store(&url(&folder)).unwrap();
        writers.spawn(async move {
            let body = Bytes::from(vec![n; 10_000]);
            (n, store.put_once("a/b", body).await)
        });
    }
    let mut winners = Vec::new();
    while let Some(done) = writers.join_next().await {
        match done.unwrap() {
            (n, Ok(())) => winners.push(n),
            (_, Err(StoreError::Exists { .. })) => {}
            (_, Err(error)) => panic!("{error}"),
        }
    }
    let store = open_store(&url(&folder)).unwrap();
    let [winner] = winners[..] else {
        panic!("{winners:?} all won");
    };
    assert_eq!(store.get("a/b").await.unwrap(), vec![winner; 10_000]);
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
        ("s3://bucket/prefix", "no S3 back end yet"),
        ("ftp://host/x", "file:///"),
    ] {
        let error = open_store(url).err().unwrap().to_string();
        assert!(error.contains(hint), "{url}: {error}");
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
