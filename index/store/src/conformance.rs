//! Does a back end keep every promise of [`Store`]? The suite that each one's tests run.

use std::sync::Arc;

use bytes::Bytes;
use capture::WallTime;
use tokio::task::JoinSet;

use crate::{Listed, Retention, Store, StoreError};

/// Writers of one key at once.
const RACERS: u8 = 16;

/// Every promise of [`Store`], tried on an empty store.
///
/// # Errors
/// [`StoreError::Unfit`] naming the first broken promise.
pub async fn suite(store: Arc<dyn Store>) -> Result<(), StoreError> {
    let hold = |kept, promise| promised(&*store, kept, promise);
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
    )?;
    store.put_once("a/b.txt", other.clone()).await?;
    hold(
        store.get("a/b.txt").await? == other,
        "a key is free again after its deletion",
    )?;
    for _ in 0..2 {
        store.delete_version("a/b.txt").await?;
    }
    hold(
        store.head("a/b.txt").await?.is_none() && store.head("a/b/c").await?.is_some(),
        "all versions go, of that object alone",
    )?;
    race(store).await
}

/// Of many writers of one key one wins, and its bytes stay.
async fn race(store: Arc<dyn Store>) -> Result<(), StoreError> {
    let mut writers = JoinSet::new();
    for n in 0..RACERS {
        let store = Arc::clone(&store);
        let body = Bytes::from(vec![n; 10_000]);
        writers.spawn(async move { (n, store.put_once("race/x", body).await) });
    }
    let mut winners = Vec::new();
    for (n, done) in writers.join_all().await {
        match done {
            Ok(()) => winners.push(n),
            Err(StoreError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let stored = store.get("race/x").await?;
    let kept = matches!(winners[..], [winner] if stored == vec![winner; 10_000]);
    promised(&*store, kept, "one writer of a key wins")
}

/// Every promise of [`Store`] about what may not be deleted, tried on an empty store that keeps
/// them; `now` is the time there, within a minute. Leaves an object locked for ten.
///
/// # Errors
/// [`StoreError::Unfit`] naming the first broken promise.
pub async fn lock_suite(store: &dyn Store, now: WallTime) -> Result<(), StoreError> {
    let hold = |kept, promise| promised(store, kept, promise);
    let locked = |result| matches!(result, Err(StoreError::Locked { .. }));
    let body = Bytes::from_static(b"evidence");

    let absent = store.set_hold("lock/none", true).await;
    hold(
        matches!(absent, Err(StoreError::NotFound { .. })),
        "an absent object is not held",
    )?;
    store.put_once("lock/held", body.clone()).await?;
    store.set_hold("lock/held", true).await?;
    hold(
        locked(store.delete_version("lock/held").await),
        "a held object is not deleted",
    )?;
    hold(store.get("lock/held").await? == body, "it is still read")?;
    store.set_hold("lock/held", false).await?;
    store.delete_version("lock/held").await?;
    hold(
        store.head("lock/held").await?.is_none(),
        "without its hold it is deleted",
    )?;

    let after = |minutes: i64| now.plus_ms(minutes * 60_000);
    let key = "lock/retained";
    store.put_once(key, body.clone()).await?;
    store
        .set_retention(key, after(9), Retention::Governance)
        .await?;
    hold(
        locked(store.delete_version(key).await),
        "a retained object is not deleted",
    )?;
    // A store may take it for a bypass of the first that it is made stricter.
    match store
        .set_retention(key, after(10), Retention::Compliance)
        .await
    {
        Err(StoreError::Locked { .. }) => {
            store
                .set_retention(key, after(10), Retention::Governance)
                .await?;
        }
        raised => raised?,
    }
    hold(
        locked(
            store
                .set_retention(key, after(8), Retention::Compliance)
                .await,
        ),
        "retention does not shrink",
    )?;
    store.set_hold(key, true).await?;
    store.set_hold(key, false).await?;
    hold(
        locked(store.delete_version(key).await),
        "retention outlives a hold",
    )?;
    hold(store.get(key).await? == body, "what is retained is read")
}

fn promised(store: &dyn Store, kept: bool, promise: &str) -> Result<(), StoreError> {
    if kept {
        return Ok(());
    }
    Err(StoreError::Unfit {
        url: store.url().to_owned(),
        reason: format!("broken promise: {promise}"),
    })
}
