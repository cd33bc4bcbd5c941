//! Does this store do what it says? Tried at start, before anything is trusted to it.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use capture::WallTime;

use crate::{Retention, Store, StoreError};

/// The one object that [`probe_lock`] leaves behind, locked; the next probe takes it again.
const RETAINED: &str = "probe/retained";
/// How long it stays locked: longer than any clock is wrong.
const RETAINED_MS: i64 = 24 * 60 * 60 * 1000;

/// Tries what recording relies on: writing, exact range reads, and that a second write with other
/// bytes is refused. Leaves nothing behind, where these credentials may delete.
///
/// # Errors
/// [`StoreError::Unfit`] when the store says yes and does otherwise, or what it answered.
pub async fn probe(store: &dyn Store) -> Result<(), StoreError> {
    let key = fresh();
    let tried = write_once(store, &key).await;
    // A recorder may lack the right to delete, and a bucket may retain all: neither is a fault.
    let _ = store.delete_version(&key).await;
    tried
}

/// Tries what a policy with holds or retention relies on: that a held and a retained object are
/// not deleted, and that one is once its hold is off. Leaves one small object, locked for a day.
///
/// # Errors
/// [`StoreError::Unfit`] when the store says yes and does otherwise, or what it answered.
pub async fn probe_lock(store: &dyn Store, now: WallTime) -> Result<(), StoreError> {
    let body = Bytes::from_static(b"playhead");
    let held = fresh();
    store.put_once(&held, body.clone()).await?;
    store.set_hold(&held, true).await?;
    must_refuse(store, &held, "it deleted an object under a hold").await?;
    store.set_hold(&held, false).await?;
    match store.delete_version(&held).await {
        Ok(()) | Err(StoreError::Locked { .. }) => {} // locked: the bucket retains all
        Err(error) => return Err(error),
    }

    store.put_once(RETAINED, body).await?;
    let until = WallTime::from_unix_ms(now.unix_ms().saturating_add(RETAINED_MS));
    store
        .set_retention(RETAINED, until, Retention::Governance)
        .await?;
    must_refuse(store, RETAINED, "it deleted an object under retention").await
}

async fn write_once(store: &dyn Store, key: &str) -> Result<(), StoreError> {
    store.put_once(key, Bytes::from_static(b"playhead")).await?;
    if store.get_range(key, 4..6).await? != "he" {
        return Err(unfit(store, "a range read gave other bytes"));
    }
    match store.put_once(key, Bytes::from_static(b"other")).await {
        Err(StoreError::Exists { .. }) => {}
        Ok(()) => return Err(unfit(store, "it let an object be replaced")),
        Err(error) => return Err(error),
    }
    if store.get(key).await? != "playhead" {
        return Err(unfit(store, "an object did not keep its bytes"));
    }
    Ok(())
}

async fn must_refuse(store: &dyn Store, key: &str, otherwise: &str) -> Result<(), StoreError> {
    match store.delete_version(key).await {
        Err(StoreError::Locked { .. }) => {}
        Ok(()) => return Err(unfit(store, otherwise)),
        Err(error) => return Err(error),
    }
    match store.head(key).await? {
        Some(_) => Ok(()),
        None => Err(unfit(store, otherwise)),
    }
}

fn unfit(store: &dyn Store, reason: &str) -> StoreError {
    StoreError::Unfit {
        url: store.url().to_owned(),
        reason: reason.to_owned(),
    }
}

/// A key nobody else has: many recorders may try one store at once.
fn fresh() -> String {
    format!("probe/{:016x}", RandomState::new().hash_one(0))
}
