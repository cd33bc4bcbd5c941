//! Does a store keep its promises? The probe that runs at start, and the suite that every back
//! end's tests run.

use bytes::Bytes;

use crate::{Listed, Store, StoreError};

/// Writes, reads and deletes `key`, and checks that write-once and range reads are honoured.
///
/// # Errors
/// [`StoreError::Unfit`] naming the broken promise, or what the store itself answered.
pub async fn probe(store: &dyn Store, key: &str) -> Result<(), StoreError> {
    let tried = try_out(store, key).await;
    let deleted = store.delete(key).await;
    tried?;
    deleted
}

async fn try_out(store: &dyn Store, key: &str) -> Result<(), StoreError> {
    let unfit = |reason: &str| StoreError::Unfit {
        url: store.url().to_owned(),
        reason: reason.to_owned(),
    };
    store.put_once(key, Bytes::from_static(b"playhead")).await?;
    if store.get_range(key, 4..6).await? != "he" {
        return Err(unfit("a range read gave other bytes"));
    }
    match store.put_once(key, Bytes::from_static(b"other")).await {
        Err(StoreError::Exists { .. }) => {}
        Ok(()) => return Err(unfit("it let an object be replaced")),
        Err(error) => return Err(error),
    }
    if store.get(key).await? != "playhead" {
        return Err(unfit("an object did not keep its bytes"));
    }
    Ok(())
}

/// Every promise of [`Store`], tried on an empty store.
///
/// # Errors
/// [`StoreError::Unfit`] naming the first broken promise.
pub async fn suite(store: &dyn Store) -> Result<(), StoreError> {
    let hold = |kept: bool, promise: &str| {
        if kept {
            Ok(())
        } else {
            Err(StoreError::Unfit {
                url: store.url().to_owned(),
                reason: format!("broken promise: {promise}"),
            })
        }
    };
    let body = Bytes::from_static(b"0123456789");
    let other = Bytes::from_static(b"other");

    hold(
        store.head("a/b.txt").await?.is_none(),
        "nothing is there at first",
    )?;
    let absent = store.get("a/b.txt").await;
    hold(
        matches!(absent, Err(StoreError::NotFound { .. })),
        "absent objects are told",
    )?;

    store.put_once("a/b.txt", body.clone()).await?;
    hold(store.get("a/b.txt").await? == body, "what was put is read")?;
    let head = store.head("a/b.txt").await?;
    hold(
        head.is_some_and(|head| head.bytes == 10),
        "its size is known",
    )?;
    hold(
        store.put_once("a/b.txt", body.clone()).await.is_ok(),
        "a retry succeeds",
    )?;
    let replaced = store.put_once("a/b.txt", other.clone()).await;
    hold(
        matches!(replaced, Err(StoreError::Exists { .. })),
        "nothing is replaced",
    )?;
    hold(
        store.get("a/b.txt").await? == body,
        "a refused write changes nothing",
    )?;

    hold(
        store.get_range("a/b.txt", 3..7).await? == "3456",
        "ranges are exact",
    )?;
    hold(
        store.get_range("a/b.txt", 9..10).await? == "9",
        "the last byte is in reach",
    )?;
    hold(
        store.get_range("a/b.txt", 4..4).await?.is_empty(),
        "empty ranges are empty",
    )?;
    let beyond = store.get_range("a/b.txt", 8..11).await;
    hold(
        matches!(beyond, Err(StoreError::Range { .. })),
        "no range is cut short",
    )?;

    for key in ["a/b/c", "a/b-c", "a/ba", "a.z", "z"] {
        store.put_once(key, other.clone()).await?;
    }
    let keys = |listed: Vec<Listed>| -> Vec<String> {
        listed.into_iter().map(|listed| listed.key).collect()
    };
    let all = keys(store.list("", None, 100).await?);
    hold(
        all == ["a.z", "a/b-c", "a/b.txt", "a/b/c", "a/ba", "z"],
        "listings are in byte order",
    )?;
    let some = keys(store.list("a/b", Some("a/b.txt"), 1).await?);
    hold(some == ["a/b/c"], "prefix, start and limit select")?;
    hold(
        store.list("q/", None, 10).await?.is_empty(),
        "an unknown prefix is empty",
    )?;

    for key in ["../x", "/x", "a/../x", "", ".tmp/x"] {
        let refused = store.put_once(key, body.clone()).await;
        hold(
            matches!(refused, Err(StoreError::Key { .. })),
            "bad keys are refused",
        )?;
    }

    store.delete("a/b.txt").await?;
    hold(
        store.head("a/b.txt").await?.is_none(),
        "what was deleted is gone",
    )?;
    hold(
        store.delete("a/b.txt").await.is_ok(),
        "deleting twice is harmless",
    )
}
