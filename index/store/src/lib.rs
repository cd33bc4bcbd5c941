//! Where do a recording's objects live? One trait over every kind of store (store.md, "Object
//! store"); whoever implements it passes [`conformance`].

use std::{ops::Range, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use segment::Sha256;

pub mod conformance;
mod file;
mod key;

pub use file::FileStore;

/// No object is larger: a segment ends at 8 MiB and a sample, and the longest end record stays
/// far below. Bounds what one read can bring into memory.
pub const MAX_OBJECT_BYTES: u64 = 64 * 1024 * 1024;
/// The most keys one [`list`](Store::list) gives.
pub const MAX_LIST: usize = 1000;

/// Objects by key, each written once.
///
/// Keys are `/`-separated parts of letters, digits, `.`, `_` and `-`; no part begins with a dot.
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

    /// Removes the object; success when there is none.
    ///
    /// # Errors
    /// When the store refuses.
    async fn delete(&self, key: &str) -> Result<(), StoreError>;

    /// The URL the store was opened with, without secrets.
    fn url(&self) -> &str;

    /// Tries what recording relies on: writing, exact range reads, and that a second write with
    /// other bytes is refused. Leaves nothing behind.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] when the store says yes and does otherwise.
    async fn probe(&self) -> Result<(), StoreError>;
}

/// What a store knows of an object without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its size.
    pub bytes: u64,
    /// Its digest, where the store keeps one.
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

/// Why a store did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store's URL cannot be used.
    #[error("store {url:?}: {reason}")]
    Url {
        /// As given.
        url: String,
        /// What is wrong and what to write instead.
        reason: String,
    },
    /// Not a key.
    #[error("object key {key:?}: {reason}")]
    Key {
        /// As given, shortened.
        key: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// The key is taken by other bytes.
    #[error("object {key} exists with other content; objects are never replaced")]
    Exists {
        /// The key.
        key: String,
    },
    /// There is no such object.
    #[error("object {key} is not in the store")]
    NotFound {
        /// The key.
        key: String,
    },
    /// The object ends before the range does.
    #[error("object {key} has {bytes} bytes, so {start}..{end} cannot be read")]
    Range {
        /// The key.
        key: String,
        /// The object's size.
        bytes: u64,
        /// The range's first byte.
        start: u64,
        /// The byte after its last.
        end: u64,
    },
    /// The object is larger than any recording's.
    #[error("object {key} has {bytes} bytes; at most {MAX_OBJECT_BYTES} are read")]
    TooLarge {
        /// The key.
        key: String,
        /// Its size.
        bytes: u64,
    },
    /// The store answered, but not with what it promised.
    #[error("store {url} cannot be used: {reason}")]
    Unfit {
        /// The store.
        url: String,
        /// The promise it broke.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {doing} {}; {}", path.display(), advice(source))]
    Io {
        /// What was tried, such as `write`.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The task that did the work was cancelled: the process is shutting down.
    #[error("store work was cancelled")]
    Cancelled,
}

/// What an operator can do about `error`.
fn advice(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Kind;
    match error.kind() {
        Kind::PermissionDenied => "let this user write there or choose another store",
        Kind::ReadOnlyFilesystem => "mount it for writing or choose another store",
        Kind::StorageFull | Kind::QuotaExceeded => "free some space or choose another store",
        Kind::NotADirectory | Kind::NotFound => "check the folder's path",
        _ => "check the disk",
    }
}

/// The store that `url` names: `file:///absolute/folder`, made when it is missing.
///
/// # Errors
/// [`StoreError::Url`] for anything else, [`StoreError::Io`] when the folder cannot be made.
pub fn open_store(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    let refuse = |reason: String| StoreError::Url {
        url: url.to_owned(),
        reason,
    };
    let parsed = url::Url::parse(url).map_err(|error| {
        refuse(format!(
            "{error}; write it like file:///var/lib/playhead/store"
        ))
    })?;
    match parsed.scheme() {
        "file" => {
            let root = parsed.to_file_path().map_err(|()| {
                refuse("names no absolute folder; write it with three slashes: file:///…".into())
            })?;
            Ok(Arc::new(FileStore::open(root)?))
        }
        "s3" => Err(refuse(
            "this build has no S3 back end yet; use file:///absolute/folder".into(),
        )),
        scheme => Err(refuse(format!(
            "{scheme:?} is no kind of store; use file:///…"
        ))),
    }
}
