//! A session's folder in the spool: what is durable before anything is sent.
//!
//! ```text
//! spool/{session}/lock             held, shared, by each living process of the recorder
//! spool/{session}/session.json     the session's head
//! spool/{session}/epoch.json       how media time is tied to the boot clock
//! spool/{session}/marks.json       which marks are open
//! spool/{session}/clipboard.key    what clipboard texts are hashed with
//! spool/{session}/{seq:08}.wal     records of one object, appended by the child
//! spool/{session}/{seq:08}.jpg     its sprite sheet
//! spool/{session}/{seq:08}.row     that the catalogue does not yet know of an object in the store
//! spool/{session}/ended.json       how the session ended, once it did
//! spool/set-aside/{session}/       what cannot be sent
//! ```

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use capture::{MediaTime, SessionId, session::SessionHead};
use policy::Marks;
use segment::{end::EndReason, mend, record::Open};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::clock::BootTime;

mod aside;
mod backlog;
mod journal;
mod owed;
mod room;

pub(crate) use self::{
    aside::SetAside,
    backlog::Backlog,
    journal::Journal,
    owed::OwedRow,
    room::{Disk, Reserve, Room, is_out_of_room},
};

/// One session's folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// A living process's claim on a folder; released when dropped, or when the process dies.
#[derive(Debug)]
pub(crate) struct Claim {
    _lock: File,
}

impl Folder {
    /// The folder of `session` below `spool`.
    pub(crate) fn of(spool: &Path, session: SessionId) -> Self {
        Self {
            path: spool.join(session.to_string()),
        }
    }

    /// The folder at `path`.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Every session folder below `spool`, oldest first.
    pub(crate) fn all(spool: &Path) -> io::Result<Vec<(SessionId, Self)>> {
        let entries = match std::fs::read_dir(spool) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if let Some(session) = name.to_str().and_then(|name| name.parse().ok()) {
                folders.push((session, Self::at(entry.path())));
            }
        }
        folders.sort_by_key(|(session, _)| *session);
        Ok(folders)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder, claimed before anyone can see it: what is unclaimed counts as dead.
    pub(crate) fn create(&self) -> io::Result<Claim> {
        let spool = self.path.parent().unwrap_or(&self.path);
        std::fs::create_dir_all(spool)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let unseen = Self {
            path: spool.join(format!(".new-{name}")),
        };
        std::fs::create_dir(&unseen.path)?;
        let claim = unseen.claim()?;
        std::fs::rename(&unseen.path, &self.path)?;
        sync_dir(spool)?;
        Ok(claim)
    }

    /// Claims the folder beside the other process of the same recorder.
    pub(crate) fn claim(&self) -> io::Result<Claim> {
        let lock = self.lock_file()?;
        lock.lock_shared()?;
        Ok(Claim { _lock: lock })
    }

    /// Claims the folder alone: `None` while any process of its recorder lives.
    pub(crate) fn claim_dead(&self) -> io::Result<Option<Claim>> {
        let lock = self.lock_file()?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Claim { _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn lock_file(&self) -> io::Result<File> {
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.join("lock"))
    }

    /// The spool file of object `seq`.
    pub(crate) fn wal(&self, seq: u64) -> PathBuf {
        self.path.join(format!("{seq:08}.wal"))
    }

    /// The sprite sheet of object `seq`.
    pub(crate) fn sheet(&self, seq: u64) -> PathBuf {
        self.path.join(format!("{seq:08}.jpg"))
    }

    /// The numbers of the spool files that are there, in order.
    pub(crate) fn pending(&self) -> io::Result<Vec<u64>> {
        self.numbered(".wal")
    }

    /// The numbers of the files with this ending, in order.
    fn numbered(&self, ending: &str) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let seq = name
                .to_str()
                .and_then(|name| name.strip_suffix(ending)?.parse::<u64>().ok());
            numbers.extend(seq);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The head of the first spool file behind `seq` that has one that can be read.
    pub(crate) fn head_after(&self, seq: u64) -> io::Result<Option<Open>> {
        for later in self.pending()?.into_iter().filter(|&later| seq < later) {
            let mut start = Vec::new();
            match File::open(self.wal(later)) {
                Ok(file) => file.take(mend::OPEN_BYTES).read_to_end(&mut start)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if let Some(open) = mend::open(&start).filter(|open| open.seq == later) {
                return Ok(Some(open));
            }
        }
        Ok(None)
    }

    /// Writes the session's head.
    pub(crate) fn write_head(&self, head: &SessionHead) -> io::Result<()> {
        self.write(HEAD, &serde_json::to_vec(head)?)
    }

    /// The session's head; `None` when there never was a first frame.
    pub(crate) fn head(&self) -> io::Result<Option<SessionHead>> {
        self.read_json(HEAD)
    }

    /// Writes how media time is tied to this boot.
    pub(crate) fn write_epoch(&self, epoch: &Epoch) -> io::Result<()> {
        self.write(EPOCH, &serde_json::to_vec(epoch)?)
    }

    /// How media time was tied to a boot.
    pub(crate) fn epoch(&self) -> io::Result<Option<Epoch>> {
        self.read_json(EPOCH)
    }

    /// Writes which marks are open.
    pub(crate) fn write_marks(&self, marks: &Marks) -> io::Result<()> {
        self.write(MARKS, &serde_json::to_vec(marks)?)
    }

    /// Which marks were open. That they are not there is an error: each run has written them.
    pub(crate) fn marks(&self) -> io::Result<Marks> {
        self.read_json(MARKS)?
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Writes the key of the session's clipboard hashes, for its owner alone.
    pub(crate) fn write_clipboard_key(&self, key: &[u8; 32]) -> io::Result<()> {
        self.write(CLIPBOARD_KEY, key)
    }

    /// The key of the session's clipboard hashes.
    pub(crate) fn clipboard_key(&self) -> io::Result<[u8; 32]> {
        let key = self.read(CLIPBOARD_KEY)?.unwrap_or_default();
        key.try_into()
            .map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Writes how the session ended.
    pub(crate) fn write_ended(&self, reason: EndReason) -> io::Result<()> {
        self.write(ENDED, &serde_json::to_vec(&reason)?)
    }

    /// How the session ended, if it did.
    pub(crate) fn ended(&self) -> io::Result<Option<EndReason>> {
        self.read_json(ENDED)
    }

    /// Writes the sprite sheet of object `seq`.
    pub(crate) fn write_sheet(&self, seq: u64, jpeg: &[u8]) -> io::Result<()> {
        self.write(&format!("{seq:08}.jpg"), jpeg)
    }

    /// Writes `bytes` as `name`, whole and durable or not at all.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.path.join(format!("{name}.new"));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, self.path.join(name))?;
        sync_dir(&self.path)
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(self.path.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_json<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        let bytes = self.read(name)?;
        Ok(bytes
            .map(|bytes| serde_json::from_slice(&bytes))
            .transpose()?)
    }

    /// The records of object `seq`, as far as they were written.
    pub(crate) fn read_wal(&self, seq: u64) -> io::Result<Option<Vec<u8>>> {
        self.read(&format!("{seq:08}.wal"))
    }

    /// The sprite sheet of object `seq`, if one was finished.
    pub(crate) fn read_sheet(&self, seq: u64) -> io::Result<Option<Vec<u8>>> {
        self.read(&format!("{seq:08}.jpg"))
    }

    /// Removes the files of object `seq`, which the store has.
    pub(crate) fn remove_object(&self, seq: u64) -> io::Result<()> {
        for path in [self.wal(seq), self.sheet(seq)] {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the folder of a session that is wholly in the store.
    pub(crate) fn remove(&self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.path)
    }
}

const HEAD: &str = "session.json";
const EPOCH: &str = "epoch.json";
const ENDED: &str = "ended.json";
const MARKS: &str = "marks.json";
const CLIPBOARD_KEY: &str = "clipboard.key";

/// How media time is tied to the boot clock: on boot `boot_id` it was `t` at the reading `at`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Epoch {
    /// The boot.
    pub(crate) boot_id: String,
    /// The reading of its clock.
    pub(crate) at: BootTime,
    /// Media time at that reading.
    pub(crate) t: MediaTime,
}

/// Makes a new or renamed name in `dir` durable.
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let spool = tempfile::tempdir().unwrap();
        let folder = Folder::of(spool.path(), SessionId::new(1, [1; 10]));
        drop(folder.create().unwrap());
        (spool, folder)
    }

    #[test]
    fn a_living_spool_is_not_claimed_by_another() {
        let (_spool, folder) = folder();
        let parent = folder.claim().unwrap();
        let child = folder.claim().unwrap();
        drop(parent);
        assert!(folder.claim_dead().unwrap().is_none());
        drop(child);
        assert!(folder.claim_dead().unwrap().is_some());
    }

    #[test]
    fn a_session_without_a_first_frame_has_no_head() {
        let (_spool, folder) = folder();
        assert!(folder.head().unwrap().is_none());
        assert_eq!(folder.ended().unwrap(), None);
        folder.write_ended(EndReason::Stopped).unwrap();
        assert_eq!(folder.ended().unwrap(), Some(EndReason::Stopped));
    }

    #[test]
    fn which_marks_are_open_is_known_or_an_error() {
        let (_spool, folder) = folder();
        assert!(folder.marks().is_err());
        let open = Marks::Open(vec!["secret.begin".to_owned()]);
        folder.write_marks(&open).unwrap();
        assert_eq!(folder.marks().unwrap(), open);
        std::fs::write(folder.path().join(MARKS), "{").unwrap();
        assert!(folder.marks().is_err());
    }

    #[test]
    fn the_clipboards_key_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_spool, folder) = folder();
        assert!(folder.clipboard_key().is_err());
        folder.write_clipboard_key(&[7; 32]).unwrap();
        assert_eq!(folder.clipboard_key().unwrap(), [7; 32]);
        let file = std::fs::metadata(folder.path().join(CLIPBOARD_KEY)).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn pending_objects_are_found_in_order() {
        let (spool, folder) = folder();
        for seq in [12, 3] {
            File::create(folder.wal(seq)).unwrap();
        }
        File::create(folder.sheet(3)).unwrap();
        assert_eq!(folder.pending().unwrap(), [3, 12]);
        assert_eq!(Folder::all(spool.path()).unwrap().len(), 1);
    }
}
