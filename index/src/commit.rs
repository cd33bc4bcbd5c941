//! How does an object become part of a recording? First into the store, read back and compared;
//! then into the catalogue (recording.md, "Spool and upload").
//!
//! Each step may be repeated: objects are the same bytes again, and rows that are known stay.

use bytes::Bytes;
use capture::{MediaTime, SessionId, WallTime, session::SessionHead};
use segment::{
    Assembled, Sha256,
    end::{EndBody, EndRecord, ObjectEntry},
    key::SessionKeys,
    manifest::Span,
};
use serde::{Deserialize, Serialize};
use store::{Store, StoreError};

use crate::catalog::{Catalog, CatalogError, CommittedObject, ObjectBody, Stored};

/// Why an object is not committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// What was read back is not what was written.
    #[error("object {key} reads back with other content than was written; check the store")]
    ReadBack {
        /// The object.
        key: String,
    },
    /// A segment and its sprite sheet do not belong together.
    #[error("the sprite sheet of object {seq} is not the one its manifest names")]
    Sheet {
        /// The segment's number.
        seq: u64,
    },
    /// A value has no JSON form.
    #[error("record has no json form")]
    Json(#[from] serde_json::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object is safe in the store, but the catalogue failed. The row may be written later,
    /// or by a rebuild.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Commits `session.json`.
///
/// # Errors
/// When store or catalogue fail, or the session has another head.
pub async fn commit_head(
    store: &dyn Store,
    catalog: &dyn Catalog,
    head: &SessionHead,
) -> Result<ObjectEntry, CommitError> {
    let stored = store_head(store, head).await?;
    catalog.put_head(head, stored).await?;
    let key = SessionKeys::new(head.id, head.start).head();
    Ok(entry(key, stored, MediaTime::ZERO, MediaTime::ZERO))
}

/// The first half of [`commit_head`]: only the row is missing after it.
///
/// # Errors
/// When the store fails, or the session has another head.
pub async fn store_head(store: &dyn Store, head: &SessionHead) -> Result<Stored, CommitError> {
    let keys = SessionKeys::new(head.id, head.start);
    let bytes = serde_json::to_vec(head)?;
    put(store, &keys.head(), bytes.into()).await
}

/// Commits a segment, after its sprite sheet `sheet`, or an idle record. `None` when nothing was
/// recorded.
///
/// # Errors
/// When store or catalogue fail, or another object has its number.
pub async fn commit_object(
    store: &dyn Store,
    catalog: &dyn Catalog,
    keys: &SessionKeys,
    assembled: Assembled,
    sheet: Option<Bytes>,
) -> Result<Option<CommittedObject>, CommitError> {
    let Some(object) = store_object(store, keys, assembled, sheet).await? else {
        return Ok(None);
    };
    catalog.put_object(&object).await?;
    Ok(Some(object))
}

/// The first half of [`commit_object`]: after it the object is safe, and only its row is missing.
///
/// # Errors
/// When the store fails or another object has its number.
pub async fn store_object(
    store: &dyn Store,
    keys: &SessionKeys,
    assembled: Assembled,
    sheet: Option<Bytes>,
) -> Result<Option<CommittedObject>, CommitError> {
    let (key, bytes, body) = match assembled {
        Assembled::Empty => return Ok(None),
        Assembled::Idle { bytes, record } => {
            let key = keys.idle(record.span.seq);
            (key, bytes, ObjectBody::Idle(Box::new(record)))
        }
        Assembled::Segment { bytes, manifest } => {
            let key = keys.segment(manifest.span.seq);
            (key, bytes, ObjectBody::Segment(Box::new(manifest)))
        }
    };
    let &Span { seq, from, to, .. } = body.span();
    let named = match &body {
        ObjectBody::Segment(manifest) => manifest.thumbs.as_ref(),
        ObjectBody::Idle(_) => None,
    };
    let thumb = match named.zip(sheet) {
        None if named.is_some() => return Err(CommitError::Sheet { seq }),
        None => None,
        Some((named, sheet)) if named.sha256 == Sha256::of(&sheet) => {
            let key = keys.thumb(seq);
            let stored = put(store, &key, sheet).await?;
            Some(entry(key, stored, from, to))
        }
        Some(_) => return Err(CommitError::Sheet { seq }),
    };
    let stored = put(store, &key, bytes.into()).await?;
    Ok(Some(CommittedObject {
        entry: entry(key, stored, from, to),
        thumb,
        body,
    }))
}

/// Commits `end.json`.
///
/// # Errors
/// When store or catalogue fail, or the session ended otherwise.
pub async fn commit_end(
    store: &dyn Store,
    catalog: &dyn Catalog,
    keys: &SessionKeys,
    body: &EndBody,
) -> Result<Stored, CommitError> {
    let stored = store_end(store, keys, body).await?;
    catalog.put_end(body, stored).await?;
    Ok(stored)
}

/// The first half of [`commit_end`]: only the row is missing after it.
///
/// # Errors
/// When the store fails, or the session ended otherwise.
pub async fn store_end(
    store: &dyn Store,
    keys: &SessionKeys,
    body: &EndBody,
) -> Result<Stored, CommitError> {
    let record = EndRecord {
        body: serde_json::to_string(body)?,
        checkpoint: None,
    };
    let bytes = serde_json::to_vec(&record)?;
    put(store, &keys.end(), bytes.into()).await
}

/// `interrupted/{n}.json`: the server's note that a recorder went silent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupted {
    /// The format's version: 1.
    pub format: u32,
    /// The session.
    pub session: SessionId,
    /// Its number, from 1.
    pub n: u64,
    /// When the recorder was last heard of.
    pub at: WallTime,
}

/// Commits a note that the recorder went silent.
///
/// # Errors
/// When store or catalogue fail.
pub async fn commit_interrupted(
    store: &dyn Store,
    catalog: &dyn Catalog,
    keys: &SessionKeys,
    note: &Interrupted,
) -> Result<(), CommitError> {
    let bytes = serde_json::to_vec(note)?;
    put(store, &keys.interrupted(note.n), bytes.into()).await?;
    Ok(catalog
        .put_interrupted(note.session, note.n, note.at)
        .await?)
}

/// Stores `bytes` under `key`, reads them back and compares.
///
/// # Errors
/// When the store fails, or gives other bytes back.
pub async fn put(store: &dyn Store, key: &str, bytes: Bytes) -> Result<Stored, CommitError> {
    let written = Stored::of(&bytes);
    store.put_once(key, bytes).await?;
    let read = match store.head(key).await? {
        Some(head) if head.bytes == written.bytes => match head.sha256 {
            Some(sha256) => sha256,
            None => Sha256::of(&store.get(key).await?),
        },
        _ => {
            return Err(CommitError::ReadBack {
                key: key.to_owned(),
            });
        }
    };
    if read == written.sha256 {
        Ok(written)
    } else {
        Err(CommitError::ReadBack {
            key: key.to_owned(),
        })
    }
}

fn entry(key: String, stored: Stored, from: MediaTime, to: MediaTime) -> ObjectEntry {
    ObjectEntry {
        key,
        sha256: stored.sha256,
        bytes: stored.bytes,
        from,
        to,
    }
}
