//! What cannot be sent is set aside, below the spool and outside of every session's folder: it
//! stays for whoever wants to look at it, and nothing waits for it.
//!
//! ```text
//! spool/set-aside/{session}/{seq:08}.wal    one object's records
//! spool/set-aside/{session}/…               a whole folder that has no readable head
//! ```

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{Folder, sync_dir};

/// Below the spool.
const SET_ASIDE: &str = "set-aside";

/// A spool file that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetAside {
    /// The object's number.
    pub(crate) seq: u64,
    /// Where it is now; `None` when there was none.
    pub(crate) file: Option<PathBuf>,
    /// Why.
    pub(crate) why: String,
}

impl std::fmt::Display for SetAside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seq, file, why } = self;
        match file {
            Some(file) => write!(f, "spool file {seq} set aside as {}: {why}", file.display()),
            None => write!(f, "spool file {seq}: {why}"),
        }
    }
}

impl Folder {
    /// Sets the file of object `seq` aside and puts `replacement` in its place, durably: a crash
    /// leaves the one or the other there. The sprite sheet of a file that is replaced stays.
    pub(crate) fn set_aside(
        &self,
        seq: u64,
        replacement: Option<&[u8]>,
    ) -> io::Result<Option<PathBuf>> {
        let wal = self.wal(seq);
        let name = wal.file_name().unwrap_or_default();
        let dir = self.aside();
        let aside = dir.join(name);
        let kept = if wal.exists() {
            fs::create_dir_all(&dir)?;
            match fs::hard_link(&wal, &aside) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    // INVARIANT: what replaces a file is not set aside in turn, or that would
                    // never end. After a crash it is the same file.
                    if fs::metadata(&aside)?.ino() != fs::metadata(&wal)?.ino() {
                        return Err(io::Error::other("what replaced it is damaged as well"));
                    }
                }
                linked => linked?,
            }
            sync_dir(&dir)?;
            Some(aside)
        } else {
            None
        };
        match replacement {
            Some(bytes) => self.write(&name.to_string_lossy(), bytes)?,
            None => self.remove_object(seq)?,
        }
        Ok(kept)
    }

    /// Sets the whole folder aside.
    pub(crate) fn set_all_aside(&self) -> io::Result<PathBuf> {
        let dir = self.aside();
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(self.path(), &dir)?;
        Ok(dir)
    }

    fn aside(&self) -> PathBuf {
        let spool = self.path.parent().unwrap_or_else(|| Path::new("."));
        let session = self.path.file_name().unwrap_or_default();
        spool.join(SET_ASIDE).join(session)
    }
}
