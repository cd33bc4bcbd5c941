//! How much waits in the spool, of all recorders that use it, and since when?

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use capture::WallTime;
use segment::mend;

use super::{Disk, Folder, Reserve, Room};

/// What is not in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    /// Objects, those that are being written as well.
    pub(crate) objects: u64,
    /// What they and their sprite sheets take.
    pub(crate) bytes: u64,
    /// Objects in the store of which the catalogue is still to be told.
    pub(crate) rows_owed: u64,
    /// What may still be written.
    pub(crate) free_bytes: u64,
    /// What is kept free.
    pub(crate) reserve_bytes: u64,
    /// How much room that is.
    pub(crate) room: Room,
    /// The first moment of the oldest object.
    oldest: Option<WallTime>,
}

impl Backlog {
    /// What waits in `spool`. A session that goes while it is looked at is left out.
    pub(crate) fn of(spool: &Path, reserve: Reserve) -> io::Result<Self> {
        let mut backlog = Self::default();
        for (_, folder) in Folder::all(spool)? {
            match backlog.add(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        // It is made when the first session begins.
        let there = spool.ancestors().find(|folder| folder.exists());
        let disk = Disk::of(there.unwrap_or(spool))?;
        backlog.free_bytes = disk.free_bytes;
        backlog.reserve_bytes = reserve.bytes_of(disk.total_bytes);
        backlog.room = Room::Ample.now(disk, reserve);
        Ok(backlog)
    }

    fn add(&mut self, folder: &Folder) -> io::Result<()> {
        let mut first: Option<u64> = None;
        for entry in fs::read_dir(folder.path())? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.split_once('.'));
            let Some((seq, ending)) = name else { continue };
            let Ok(seq) = seq.parse::<u64>() else {
                continue;
            };
            if ending == "row" {
                self.rows_owed += 1;
                continue;
            }
            self.bytes += entry.metadata().map_or(0, |file| file.len()); // it may be sent by now
            if ending == "wal" {
                self.objects += 1;
                first = Some(first.map_or(seq, |first| first.min(seq)));
            }
        }
        let Some(first) = first else { return Ok(()) };
        let mut start = Vec::new();
        File::open(folder.wal(first))?
            .take(mend::OPEN_BYTES)
            .read_to_end(&mut start)?;
        // What cannot be read is set aside when its turn comes, and told then.
        if let (Ok(Some(head)), Some(open)) = (folder.head(), mend::open(&start)) {
            let ms = i64::try_from(open.from.ms()).unwrap_or(i64::MAX);
            let from = head.start.plus_ms(ms);
            self.oldest = Some(self.oldest.map_or(from, |oldest| oldest.min(from)));
        }
        Ok(())
    }

    /// How long ago its oldest moment was; 0 when nothing waits.
    pub(crate) fn age_ms(&self, now: WallTime) -> u64 {
        let age_ms = |oldest: WallTime| now.unix_ms().saturating_sub(oldest.unix_ms());
        let age_ms = self.oldest.map_or(0, age_ms);
        u64::try_from(age_ms).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::testbed::{Bed, OBJECT_MS, wal};

    #[test]
    fn what_waits_is_counted_over_all_sessions() {
        let bed = Bed::new();
        let look = || Backlog::of(&bed.spool(), Reserve::Bytes(2 << 20)).unwrap();
        let (one, _claim) = bed.session(1);
        let (other, _claim) = bed.session(2);
        assert_eq!(look().age_ms(WallTime::from_unix_ms(i64::MAX)), 0);
        for seq in 3..5 {
            fs::write(one.wal(seq), wal(1, seq)).unwrap();
        }
        fs::write(other.wal(9), "this is no spool file").unwrap();
        fs::write(other.sheet(9), "a sheet").unwrap();
        fs::write(other.path().join("00000008.row"), "{}").unwrap();
        let backlog = look();
        assert_eq!((backlog.objects, backlog.rows_owed), (3, 1));
        let bytes = wal(1, 3).len() + wal(1, 4).len() + 21 + 7;
        assert_eq!(backlog.bytes, bytes as u64);
        assert!(0 < backlog.free_bytes);
        assert_eq!(backlog.reserve_bytes, 2 << 20);
        let head = one.head().unwrap().unwrap();
        let begins_ms = i64::try_from(3 * OBJECT_MS).unwrap();
        assert_eq!(backlog.age_ms(head.start.plus_ms(begins_ms + 7)), 7);
    }
}
