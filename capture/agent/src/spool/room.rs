//! Is there room on the spool's disk? Pure but for the one question to the file system (store.md,
//! "Spool and upload").
//!
//! Below the reserve nothing is recorded any more: what is left is for the ends of gaps and
//! sessions, and for whatever else the disk serves. It takes more than that to begin again, so
//! that a disk at its brink does not make a recording of gaps.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};

/// What is kept free of a disk of any size …
const RESERVE_BYTES: u64 = 512 << 20;
/// … and this share of it, if that is more.
const RESERVE_PERCENT: u8 = 2;
/// The least that can be kept free: a session's end takes some kilobytes, and a look at the disk
/// comes once a second.
const RESERVE_MIN_BYTES: u64 = 1 << 20;
/// To begin again, this share of the reserve has to be free beyond it.
const AGAIN_SHARE: u64 = 4;

/// How much of the spool's disk is kept free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reserve {
    /// 512 MiB, or 2 % if that is more.
    #[default]
    Usual,
    /// So many bytes.
    Bytes(u64),
    /// This share of the disk, in hundredths.
    Percent(u8),
}

impl Reserve {
    /// How many bytes that is of a disk of `total_bytes`.
    pub(crate) fn bytes_of(self, total_bytes: u64) -> u64 {
        let share = |percent: u8| total_bytes / 100 * u64::from(percent);
        let bytes = match self {
            Self::Usual => RESERVE_BYTES.max(share(RESERVE_PERCENT)),
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => share(percent),
        };
        bytes.max(RESERVE_MIN_BYTES)
    }
}

/// Why a text is no reserve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReserveError {
    #[error("{0:?} is not a whole number with a unit: 512MiB, 2GiB, 5%")]
    Form(String),
    #[error("{0:?} is not between 1MiB and the half of a disk")]
    Range(String),
}

impl std::str::FromStr for Reserve {
    type Err = ReserveError;

    fn from_str(text: &str) -> Result<Self, ReserveError> {
        let digits = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
        let number = number.parse::<u64>();
        let number = number.map_err(|_| ReserveError::Form(text.to_owned()))?;
        let out_of_range = || ReserveError::Range(text.to_owned());
        let bytes = |unit_bytes: u64| {
            let bytes = number.checked_mul(unit_bytes);
            let bytes = bytes.filter(|bytes| (RESERVE_MIN_BYTES..1 << 50).contains(bytes));
            bytes.map(Self::Bytes).ok_or_else(out_of_range)
        };
        match unit {
            "MiB" => bytes(1 << 20),
            "GiB" => bytes(1 << 30),
            "%" => match u8::try_from(number) {
                Ok(percent @ 1..=50) => Ok(Self::Percent(percent)),
                _ => Err(out_of_range()),
            },
            _ => Err(ReserveError::Form(text.to_owned())),
        }
    }
}

/// The bytes of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    /// What may still be written.
    pub(crate) free_bytes: u64,
    /// All of it.
    pub(crate) total_bytes: u64,
}

impl Disk {
    /// The disk that `path` lies on.
    ///
    /// # Errors
    /// When the file system does not say.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let stat = rustix::fs::statvfs(path)?;
        // Some file systems count no files. On those that do, none left means no room for any.
        let no_more_files = stat.f_files > 0 && stat.f_favail == 0;
        let free = if no_more_files { 0 } else { stat.f_bavail };
        Ok(Self {
            free_bytes: free.saturating_mul(stat.f_frsize),
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        })
    }
}

/// Whether a write failed for want of room.
pub(crate) fn is_out_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// How much room there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Room {
    /// Enough.
    #[default]
    Ample,
    /// Less than twice the reserve: somebody should free some.
    Low,
    /// Less than the reserve: nothing is recorded.
    None,
}

impl Room {
    /// What it is now, when it was `self` before.
    pub(crate) fn now(self, disk: Disk, reserve: Reserve) -> Self {
        let reserve_bytes = reserve.bytes_of(disk.total_bytes);
        let more_bytes = |was: bool| if was { reserve_bytes / AGAIN_SHARE } else { 0 };
        if disk.free_bytes < reserve_bytes + more_bytes(self == Self::None) {
            Self::None
        } else if disk.free_bytes < 2 * reserve_bytes + more_bytes(self != Self::Ample) {
            Self::Low
        } else {
            Self::Ample
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn walk(total_mib: u64, reserve: Reserve, free_mib: &[u64]) -> Vec<Room> {
        let mut room = Room::Ample;
        let step = |&free_mib: &u64| {
            let disk = Disk {
                free_bytes: free_mib * MIB,
                total_bytes: total_mib * MIB,
            };
            room = room.now(disk, reserve);
            room
        };
        free_mib.iter().map(step).collect()
    }

    #[test]
    fn a_disk_that_fills_and_is_freed() {
        use Room::{Ample, Low, None};
        let reserve = Reserve::Bytes(4 * MIB);
        let free = [20, 8, 7, 4, 3, 0, 4, 5, 8, 9, 8];
        let rooms = [
            Ample, Ample, Low, Low, None, None, None, Low, Low, Ample, Ample,
        ];
        assert_eq!(walk(20, reserve, &free), rooms);
    }

    #[test]
    fn the_reserve_grows_with_the_disk() {
        let at = |reserve, total_mib, free_mib| walk(total_mib, reserve, &[free_mib])[0];
        assert_eq!(at(Reserve::Usual, 10_000, 511), Room::None);
        assert_eq!(at(Reserve::Usual, 10_000, 512), Room::Low);
        assert_eq!(at(Reserve::Usual, 1_000_000, 19_999), Room::None);
        assert_eq!(at(Reserve::Usual, 1_000_000, 40_000), Room::Ample);
        assert_eq!(at(Reserve::Percent(10), 1_000, 99), Room::None);
        assert_eq!(at(Reserve::Percent(10), 1_000, 200), Room::Ample);
    }

    #[test]
    fn no_disk_is_filled_to_the_last_byte() {
        assert_eq!(Reserve::Percent(1).bytes_of(20 * MIB), MIB);
        assert_eq!(walk(20, Reserve::Percent(1), &[0]), [Room::None]);
    }

    #[test]
    fn a_reserve_needs_a_unit() {
        let check = |text: &str, reserve| assert_eq!(text.parse(), Ok(reserve));
        check("2MiB", Reserve::Bytes(2 * MIB));
        check("1GiB", Reserve::Bytes(1024 * MIB));
        check("5%", Reserve::Percent(5));
        for wrong in [
            "2",
            "MiB",
            "-1MiB",
            "2MB",
            "0MiB",
            "51%",
            "0%",
            "99999999999999GiB",
            "",
        ] {
            assert!(wrong.parse::<Reserve>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_disk_can_be_asked() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::of(dir.path()).unwrap();
        assert!(0 < disk.total_bytes && disk.free_bytes <= disk.total_bytes);
    }
}
