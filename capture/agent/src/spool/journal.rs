//! Appending to spool files. Each record is with the kernel at once, so that a killed process loses
//! none, and durable within a second, so that a lost machine loses no more.

use std::{
    fs::File,
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

    /// Appends `record` to the file of object `seq`, which is created when it is new. A key frame
    /// is made durable at once.
    pub(crate) fn append(&mut self, now_ms: u64, seq: u64, record: &Record) -> io::Result<()> {
        self.scratch.clear();
        record.encode(&mut self.scratch).map_err(io::Error::other)?;
        let open = match &mut self.open {
            Some(open) if open.seq == seq => open,
            other => {
                let file = File::create_new(self.folder.wal(seq))?;
                super::sync_dir(self.folder.path())?;
                other.insert(OpenFile {
                    seq,
                    file,
                    dirty_since_ms: None,
                })
            }
        };
        open.file.write_all(&self.scratch)?;
        open.dirty_since_ms.get_or_insert(now_ms);
        match record {
            Record::Sample(sample) if sample.key => self.sync(),
            _ => Ok(()),
        }
    }

    /// When [`sync`](Self::sync) is due, on the boot clock.
    pub(crate) fn sync_due_ms(&self) -> Option<u64> {
        let since = self.open.as_ref()?.dirty_since_ms?;
        Some(since + Self::SYNC_EVERY_MS - Self::MARGIN_MS)
    }

    /// Makes all that was appended durable.
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
