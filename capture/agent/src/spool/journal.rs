//! Appending to spool files. Each record is with the kernel at once, so that a killed process loses
//! none, and durable within a second, so that a lost machine loses no more.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
};

use segment::Record;

use super::Folder;

/// The spool file being written, if one is.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: Folder,
    open: Option<OpenFile>,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct OpenFile {
    seq: u64,
    file: File,
    /// How much of it is whole records.
    len_bytes: u64,
    /// When the first byte that is not yet durable was written, on the boot clock.
    dirty_since_ms: Option<u64>,
}

impl Journal {
    /// What was written is made durable at least this often.
    pub(crate) const SYNC_EVERY_MS: u64 = 1_000;
    /// Sync a little early, so that waking late still keeps the promise.
    const MARGIN_MS: u64 = 100;

    /// A journal in `folder` with no file open.
    pub(crate) const fn new(folder: Folder) -> Self {
        Self {
            folder,
            open: None,
            scratch: Vec::new(),
        }
    }

    /// Appends `record`, whole or not at all, to the file of object `seq`, which is created when it
    /// is new.
    ///
    /// # Errors
    /// When it could not be written; after [`is_out_of_room`](super::is_out_of_room) it may be tried
    /// again.
    pub(crate) fn append(&mut self, now_ms: u64, seq: u64, record: &Record) -> io::Result<()> {
        self.scratch.clear();
        record.encode(&mut self.scratch).map_err(io::Error::other)?;
        let open = match &mut self.open {
            Some(open) if open.seq == seq => open,
            other => other.insert(OpenFile::create(&self.folder, seq)?),
        };
        if let Err(error) = open.file.write_all(&self.scratch) {
            // A record that is torn would hide all that follow it.
            open.file.set_len(open.len_bytes)?;
            return Err(error);
        }
        open.len_bytes += self.scratch.len() as u64;
        open.dirty_since_ms.get_or_insert(now_ms);
        Ok(())
    }

    /// When [`sync`](Self::sync) is due, on the boot clock.
    pub(crate) fn sync_due_ms(&self) -> Option<u64> {
        let since = self.open.as_ref()?.dirty_since_ms?;
        Some(since + Self::SYNC_EVERY_MS - Self::MARGIN_MS)
    }

    /// Makes all that was appended durable.
    ///
    /// # Errors
    /// When it may not be; trying again would not make it so.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if let Some(open) = &mut self.open
            && open.dirty_since_ms.take().is_some()
        {
            open.file.sync_data()?;
        }
        Ok(())
    }

    /// Closes the file of object `seq`, durable and complete.
    pub(crate) fn seal(&mut self, seq: u64) -> io::Result<()> {
        self.sync()?;
        self.open.take_if(|open| open.seq == seq);
        Ok(())
    }
}

impl OpenFile {
    /// Creates the file of object `seq`, or leaves none behind.
    fn create(folder: &Folder, seq: u64) -> io::Result<Self> {
        let path = folder.wal(seq);
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)?;
        if let Err(error) = super::sync_dir(folder.path()) {
            std::fs::remove_file(&path)?;
            return Err(error);
        }
        Ok(Self {
            seq,
            file,
            len_bytes: 0,
            dirty_since_ms: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, process::Command};

    use capture::MediaTime;
    use segment::record::{Reader, Sample};

    use super::*;
    use crate::spool::is_out_of_room;

    /// A file system of this size at `dir`; `None` where this user may not mount one.
    fn mount(dir: &Path, options: &str) -> Option<()> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "playhead-test"]);
        let status = mount.arg(dir).status().ok()?;
        status.success().then_some(())
    }

    fn sample(ms: u64, bytes: usize) -> Record {
        Record::Sample(Sample {
            t: MediaTime::from_ms(ms),
            key: false,
            changed_permille: 1,
            bytes: vec![7; bytes],
        })
    }

    fn records(folder: &Folder) -> usize {
        let wal = std::fs::read(folder.wal(0)).unwrap();
        let mut reader = Reader::new(&wal);
        let count = reader.by_ref().count();
        assert_eq!(reader.good_bytes(), wal.len(), "a torn record");
        count
    }

    #[test]
    fn a_record_that_does_not_fit_leaves_nothing_and_fits_later() {
        let dir = tempfile::tempdir().unwrap();
        if mount(dir.path(), "size=64k").is_none() {
            println!("skipped: mounting a small file system takes root");
            return;
        }
        let folder = Folder::at(dir.path().to_owned());
        let mut journal = Journal::new(folder.clone());
        journal.append(0, 0, &sample(1, 30_000)).unwrap();
        let full = journal.append(0, 0, &sample(2, 100_000)).unwrap_err();
        let held = records(&folder);
        mount(dir.path(), "remount,size=1m").unwrap();
        journal.append(0, 0, &sample(2, 100_000)).unwrap();
        let held_later = records(&folder);
        drop(journal);
        assert!(
            Command::new("umount")
                .arg(dir.path())
                .status()
                .unwrap()
                .success()
        );
        assert!(is_out_of_room(&full), "{full:?}");
        assert_eq!((held, held_later), (1, 2));
    }
}
