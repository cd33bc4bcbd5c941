//! Why did a store not do as asked, and what can an operator do about it?

use std::path::PathBuf;

use crate::MAX_OBJECT_BYTES;

/// Why a store did not do as asked. No text holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store's URL, or what belongs to it in the environment, cannot be used.
    #[error("store {url:?}: {reason}")]
    Url {
        /// As given, without what may be a secret.
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
    /// A hold or a retention period keeps the object.
    #[error("object {key} is kept by {by}")]
    Locked {
        /// The key.
        key: String,
        /// Such as `a hold`.
        by: String,
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
    #[error("object {key} has {bytes} bytes; at most {MAX_OBJECT_BYTES} are stored or read")]
    TooLarge {
        /// The key.
        key: String,
        /// Its size.
        bytes: u64,
    },
    /// The object's bytes are not those it was stored with.
    #[error("object {key} reads back with other content than was stored; check the store")]
    Damaged {
        /// The key.
        key: String,
    },
    /// The store answered, but not with what it promised.
    #[error("store {url} cannot be used: {reason}")]
    Unfit {
        /// The store.
        url: String,
        /// The promise it broke.
        reason: String,
    },
    /// The store did not answer in time. Asking again may help.
    #[error("store {url} did not {doing}: {reason}")]
    Silent {
        /// The store.
        url: String,
        /// What was asked, such as `write v1/owner.json`.
        doing: String,
        /// How long it was waited for.
        reason: String,
    },
    /// The store could not be reached, or its answer broke off. Asking again may help.
    #[error("store {url} did not {doing}: {reason}")]
    Unreachable {
        /// The store.
        url: String,
        /// What was asked, such as `write v1/owner.json`.
        doing: String,
        /// What happened to the connection.
        reason: String,
    },
    /// The store answered that it will not, or cannot.
    #[error("store {url} did not {doing}: {status} {code}; {advice}")]
    Refused {
        /// The store.
        url: String,
        /// What was asked, such as `write v1/owner.json`.
        doing: String,
        /// The HTTP status.
        status: u16,
        /// The store's word for it, such as `AccessDenied`.
        code: String,
        /// What an operator can do.
        advice: &'static str,
    },
    /// The folder that was the store is not there.
    #[error("store {url} is gone: its folder is not there any more; mount it or put it back")]
    Gone {
        /// The store.
        url: String,
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
