//! Objects as files: the key is the path below a root folder.
//!
//! An object is written to `.tmp`, synced, and given its name by a hard link, which fails when
//! the name is taken: so an object appears whole, durable and once, or not at all. What a process
//! that died has left there goes when the store is opened next.

mod lock;
mod walk;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    ops::Range,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use capture::WallTime;
use tokio::{sync::Semaphore, time::timeout};

use self::walk::Walk;
use crate::{Head, Listed, MAX_LIST, MAX_OBJECT_BYTES, Retention, Store, StoreError, key};

/// Where objects are written before they get their name. No key begins with a dot.
const TEMPORARY: &str = ".tmp";
/// Work on the disk at once. A disk that hangs keeps what it was given and cannot be interrupted:
/// so it holds this many objects at most, and whoever else asks waits without one.
const WORK_MAX: usize = 16;
/// A disk that has not done its work by then hangs: the largest object at 2 MiB/s.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder as a store.
#[derive(Clone, Debug)]
pub struct FileStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    url: String,
    /// Numbers this process's temporary files.
    next: AtomicU64,
    /// A permit for each piece of work that may begin.
    work: Arc<Semaphore>,
    patience: Duration,
}

impl FileStore {
    /// The store in the folder `root`, which is made when it is missing.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be made or written to.
    pub fn open(root: PathBuf) -> Result<Self, StoreError> {
        let temporary = root.join(TEMPORARY);
        fs::create_dir_all(&temporary).map_err(at("make the folder", &temporary))?;
        // What cannot be removed does no harm, and a reader may lack the right.
        let _ = remove_abandoned(&temporary);
        let url = url::Url::from_directory_path(&root)
            .map_or_else(|()| root.display().to_string(), String::from);
        Ok(Self {
            shared: Arc::new(Shared {
                root,
                url: url.trim_end_matches('/').to_owned(),
                next: AtomicU64::new(0),
                work: Arc::new(Semaphore::new(WORK_MAX)),
                patience: PATIENCE,
            }),
        })
    }

    /// Does `work` on `what` where blocking is allowed. It goes on when nobody waits any more.
    async fn blocking<T: Send + 'static>(
        &self,
        doing: &'static str,
        what: &str,
        work: impl FnOnce(&Shared) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        let done = async {
            let permit = Arc::clone(&shared.work).acquire_owned().await;
            let permit = permit.map_err(|_| StoreError::Cancelled)?;
            let work = move || {
                // Held for as long as the work lasts, even when nobody waits for it any more.
                let _permit = permit;
                work(&shared)
            };
            let done = tokio::task::spawn_blocking(work).await;
            done.map_err(|_| StoreError::Cancelled)?
        };
        let Shared { url, patience, .. } = &*self.shared;
        timeout(*patience, done).await.unwrap_or_else(|_| {
            Err(StoreError::Silent {
                url: url.clone(),
                doing: format!("{doing} {what}"),
                reason: format!("its disk did not answer within {patience:?}"),
            })
        })
    }
}

#[async_trait]
impl Store for FileStore {
    async fn put_once(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        key::check(key)?;
        let owned = key.to_owned();
        self.blocking("write", key, move |shared| shared.put_once(&owned, &bytes))
            .await
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        key::check(key)?;
        let owned = key.to_owned();
        self.blocking("read", key, move |shared| shared.read(&owned, None))
            .await
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        key::check(key)?;
        let owned = key.to_owned();
        let read = move |shared: &Shared| shared.read(&owned, Some(range));
        self.blocking("read", key, read).await
    }

    async fn head(&self, key: &str) -> Result<Option<Head>, StoreError> {
        key::check(key)?;
        let path = self.shared.root.join(key);
        self.blocking("look at", key, move |shared| match fs::metadata(&path) {
            Ok(found) if found.is_file() => Ok(Some(Head {
                bytes: found.len(),
                sha256: None,
            })),
            Ok(_) => Ok(None),
            Err(error) if is_absent(&error) => shared.is_there().map(|()| None),
            Err(error) => Err(at("look at", &path)(error)),
        })
        .await
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        let (owned, after) = (prefix.to_owned(), after.unwrap_or_default().to_owned());
        self.blocking("list", prefix, move |shared| {
            let mut walk = Walk {
                prefix: &owned,
                after: &after,
                limit: limit.min(MAX_LIST),
                found: Vec::new(),
            };
            walk.folder(&shared.root, "")?;
            if walk.found.is_empty() {
                shared.is_there()?;
            }
            Ok(walk.found)
        })
        .await
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        key::check(key)?;
        let owned = key.to_owned();
        self.blocking("delete", key, move |shared| shared.delete(&owned))
            .await
    }

    async fn delete_version(&self, key: &str) -> Result<(), StoreError> {
        self.delete(key).await
    }

    async fn set_retention(
        &self,
        key: &str,
        until: WallTime,
        mode: Retention,
    ) -> Result<(), StoreError> {
        key::check(key)?;
        let owned = key.to_owned();
        let retain = move |shared: &Shared| shared.set_retention(&owned, until, mode);
        self.blocking("retain", key, retain).await
    }

    async fn set_hold(&self, key: &str, on: bool) -> Result<(), StoreError> {
        key::check(key)?;
        let owned = key.to_owned();
        self.blocking("hold", key, move |shared| shared.set_hold(&owned, on))
            .await
    }

    fn url(&self) -> &str {
        &self.shared.url
    }
}

impl Shared {
    /// Tells an object that is absent from a folder that is: one that is not mounted holds no
    /// objects either.
    fn is_there(&self) -> Result<(), StoreError> {
        match fs::metadata(self.root.join(TEMPORARY)) {
            Ok(_) => Ok(()),
            Err(error) if is_absent(&error) => Err(StoreError::Gone {
                url: self.url.clone(),
            }),
            Err(error) => Err(at("look at", &self.root)(error)),
        }
    }

    fn put_once(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.root.join(key);
        let (temporary, mut file) = self.temporary()?;
        let written = (|| {
            file.write_all(bytes)
                .and_then(|()| file.sync_all())
                .map_err(at("write", &temporary))?;
            if let Some(folder) = path.parent() {
                self.make_folder(folder)?;
            }
            match fs::hard_link(&temporary, &path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    let there = self.read(key, None)?;
                    if there != bytes {
                        return Err(StoreError::Exists {
                            key: key.to_owned(),
                        });
                    }
                }
                Err(error) => return Err(at("name", &path)(error)),
            }
            sync_folder(&path)
        })();
        // The object has its own name by now, or never gets one.
        let removed = fs::remove_file(&temporary);
        written?;
        removed.map_err(at("delete", &temporary))
    }

    /// A new file nobody else has, locked for as long as it is open. A name may be left over from a
    /// process that died.
    fn temporary(&self) -> Result<(PathBuf, File), StoreError> {
        loop {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{n}", std::process::id());
            let path = self.root.join(TEMPORARY).join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    // Where files cannot be locked, none are taken for abandoned.
                    let _ = file.lock();
                    let found = file.metadata().map_err(at("look at", &path))?;
                    // Another process may have taken it for abandoned before it was locked.
                    if 0 < found.nlink() {
                        return Ok((path, file));
                    }
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    self.is_there()?;
                    return Err(at("write", &path)(error));
                }
            }
        }
    }

    /// Makes `folder`, and syncs every folder that gained an entry by it.
    fn make_folder(&self, folder: &Path) -> Result<(), StoreError> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| **folder != self.root && !folder.is_dir())
            .collect();
        fs::create_dir_all(folder).map_err(at("make the folder", folder))?;
        missing.into_iter().rev().try_for_each(sync_folder)
    }

    fn read(&self, key: &str, range: Option<Range<u64>>) -> Result<Bytes, StoreError> {
        let path = self.root.join(key);
        let not_found = || StoreError::NotFound {
            key: key.to_owned(),
        };
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => {
                self.is_there()?;
                return Err(not_found());
            }
            Err(error) => return Err(at("open", &path)(error)),
        };
        let found = file.metadata().map_err(at("look at", &path))?;
        if !found.is_file() {
            return Err(not_found());
        }
        let (key, bytes) = (key.to_owned(), found.len());
        let range = range.unwrap_or(0..bytes);
        let (start, end) = (range.start, range.end);
        if start > end || end > bytes {
            return Err(StoreError::Range {
                key,
                bytes,
                start,
                end,
            });
        }
        let Some(len) = usize::try_from(end - start)
            .ok()
            .filter(|_| end - start <= MAX_OBJECT_BYTES)
        else {
            return Err(StoreError::TooLarge { key, bytes });
        };
        let mut read = vec![0; len];
        file.seek(SeekFrom::Start(start))
            .and_then(|_| file.read_exact(&mut read))
            .map_err(at("read", &path))?;
        Ok(read.into())
    }
}

/// Removes the files in `folder` that no living process has locked.
fn remove_abandoned(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // It may be gone by now.
        let abandoned = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        if abandoned {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Makes `path`'s entry in its folder durable.
fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(at("sync the folder", folder))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn at(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io {
        doing,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn while_the_disk_hangs_no_more_is_given_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = FileStore::open(dir.path().to_owned()).unwrap();
        Arc::get_mut(&mut store.shared).unwrap().patience = Duration::from_millis(100);
        let hung = Arc::clone(&store.shared.work);
        let hung = hung
            .acquire_many_owned(u32::try_from(WORK_MAX).unwrap())
            .await;
        let given_up = store.put_once("a", Bytes::from_static(b"1")).await;
        assert!(matches!(given_up, Err(StoreError::Silent { .. })));
        drop(hung);
        Arc::get_mut(&mut store.shared).unwrap().patience = PATIENCE;
        assert!(store.head("a").await.unwrap().is_none());
        store.put_once("a", Bytes::from_static(b"2")).await.unwrap();
        assert_eq!(store.get("a").await.unwrap(), "2");
    }

    #[tokio::test]
    async fn what_a_dead_process_left_half_written_goes_and_what_a_living_one_writes_stays() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileStore::open(dir.path().to_owned()).unwrap();
        fs::write(dir.path().join(TEMPORARY).join("1-0"), "half an obj").unwrap();
        let (living, file) = store.shared.temporary().unwrap();
        FileStore::open(dir.path().to_owned()).unwrap();
        let left = fs::read_dir(dir.path().join(TEMPORARY)).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [living]);
        drop(file);
    }
}
