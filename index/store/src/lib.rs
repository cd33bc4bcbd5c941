//! Where do a recording's objects live? One trait over every kind of store (store.md, "Object
//! store"); whoever implements it passes [`conformance`].

use std::{ops::Range, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use capture::WallTime;
use segment::Sha256;

pub mod conformance;
mod error;
mod file;
mod key;
mod probe;
mod s3;

pub use error::StoreError;
pub use file::FileStore;
pub use probe::{probe, probe_lock};
pub use s3::S3Store;

/// No object is larger: a segment ends at 8 MiB and a sample, and the longest end record stays
/// far below. Bounds what one read can bring into memory.
pub const MAX_OBJECT_BYTES: u64 = 64 * 1024 * 1024;
/// The most keys one [`list`](Store::list) gives.
pub const MAX_LIST: usize = 1000;

/// Objects by key, each written once.
///
/// Keys are `/`-separated parts of letters, digits, `.`, `_` and `-`; no part begins with a dot.
///
/// Every call ends in a time that follows from the bytes it moves, at the latest with
/// [`StoreError::Silent`]: whoever calls needs no patience of its own.
#[async_trait]
pub trait Store: Send + Sync {
    /// Stores `bytes` durably under `key`, unless it is taken. Storing equal bytes again is
    /// success, so a retry after a lost answer is harmless.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when other bytes are there.
    async fn put_once(&self, key: &str, bytes: Bytes) -> Result<(), StoreError>;

    /// The whole object.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or [`StoreError::TooLarge`] past [`MAX_OBJECT_BYTES`].
    async fn get(&self, key: &str) -> Result<Bytes, StoreError>;

    /// Exactly the bytes `range` of the object.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or [`StoreError::Range`] when the object ends before the range.
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// What is known of the object without reading it; `None` when there is none.
    ///
    /// # Errors
    /// When the store cannot be asked.
    async fn head(&self, key: &str) -> Result<Option<Head>, StoreError>;

    /// Up to `limit` (at most [`MAX_LIST`]) objects whose key begins with `prefix` and comes
    /// after `after`, in the byte order of their keys. Fewer than the limit means: no more.
    ///
    /// # Errors
    /// When the store cannot be asked.
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError>;

    /// Takes the object out of sight; success when there is none. A store that keeps versions
    /// keeps the bytes: only [`delete_version`](Self::delete_version) ends them.
    ///
    /// # Errors
    /// When the store refuses; [`StoreError::Locked`] where it keeps no versions.
    async fn delete(&self, key: &str) -> Result<(), StoreError>;

    /// Removes every version of the object and every mark of a deletion, and looks that each is
    /// gone; success when there is none.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while a hold or a retention period keeps one of them.
    async fn delete_version(&self, key: &str) -> Result<(), StoreError>;

    /// Keeps the object until `until`. A period only grows, and `Compliance` stays.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Locked`] when it would shorten a period, and from
    /// stores such as Ceph's when it would make one in `Governance` one in `Compliance`.
    async fn set_retention(
        &self,
        key: &str,
        until: WallTime,
        mode: Retention,
    ) -> Result<(), StoreError>;

    /// Keeps the object, whatever its retention, until the hold is taken off.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], or when the store cannot hold objects.
    async fn set_hold(&self, key: &str, on: bool) -> Result<(), StoreError>;

    /// The URL the store was opened with, without secrets.
    fn url(&self) -> &str;
}

/// Who may end a retention period early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Whoever has the right to bypass it. Playhead never does.
    Governance,
    /// Nobody.
    Compliance,
}

/// What a store knows of an object without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its size.
    pub bytes: u64,
    /// The digest of its bytes, where the store itself has computed it.
    pub sha256: Option<Sha256>,
}

/// One line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The object's key.
    pub key: String,
    /// Its size.
    pub bytes: u64,
}

/// The store that `url` names: `file:///absolute/folder`, made when it is missing, or
/// `s3://bucket/prefix?endpoint=…&region=…&path_style=true` with credentials from the standard
/// variables `AWS_…`.
///
/// # Errors
/// [`StoreError::Url`] for anything else, [`StoreError::Io`] when the folder cannot be made.
pub fn open_store(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    open_store_with(url, |name| std::env::var(name).ok())
}

/// [`open_store`] in the environment that `variable` reads.
///
/// # Errors
/// As [`open_store`].
pub fn open_store_with(
    url: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Store>, StoreError> {
    let refuse = |reason: String| StoreError::Url {
        url: without_secrets(url),
        reason,
    };
    let parsed = url::Url::parse(url).map_err(|error| {
        refuse(format!(
            "{error}; write it like file:///var/lib/playhead/store or s3://bucket/prefix"
        ))
    })?;
    match parsed.scheme() {
        "file" => {
            let root = parsed.to_file_path().map_err(|()| {
                refuse("names no absolute folder; write it with three slashes: file:///…".into())
            })?;
            Ok(Arc::new(FileStore::open(root)?))
        }
        "s3" => {
            let store = S3Store::open(&parsed, variable).map_err(refuse)?;
            Ok(Arc::new(store))
        }
        scheme => Err(refuse(format!(
            "{scheme:?} is no kind of store; use file:///… or s3://…"
        ))),
    }
}

/// `url` without the parts in which someone may have put a password: the user before the host,
/// and the parameters.
fn without_secrets(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let url = &url[..end];
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}…{}", &url[..scheme + 3], &url[at..]),
        _ => url.to_owned(),
    }
}
