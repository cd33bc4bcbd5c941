//! Reads a spool file as far as it is whole.

use super::codec::{Entry, MAX_BODY_BYTES};
use super::{Record, Sample};

/// The records of a spool file, in order, up to the first that is torn or damaged.
///
/// A recorder that was killed leaves a torn tail, so that is an end and not an error;
/// [`damage`](Self::damage) tells afterwards why reading stopped early.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    wal: &'a [u8],
    good_bytes: usize,
    damage: Option<Damage>,
}

/// Where and why a spool file stopped being readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the bad record begins: how many bytes before it are good.
    pub offset: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file ends within it.
    Torn,
    /// Its length exceeds [`MAX_BODY_BYTES`].
    Length,
    /// Its checksum does not agree.
    Checksum,
    /// Its kind is not known or its body does not parse.
    Body,
}

impl<'a> Reader<'a> {
    /// Reads `wal`, a spool file or any part of one that begins with a whole record.
    #[must_use]
    pub const fn new(wal: &'a [u8]) -> Self {
        Self {
            wal,
            good_bytes: 0,
            damage: None,
        }
    }

    /// How many bytes the records read so far take up.
    #[must_use]
    pub const fn good_bytes(&self) -> usize {
        self.good_bytes
    }

    /// What stopped the reader before the file's end, once it has yielded `None`.
    #[must_use]
    pub const fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// The next record, its sample bytes still in the file.
    pub(crate) fn next_entry(&mut self) -> Option<Entry<'a>> {
        let rest = self.wal.get(self.good_bytes..)?;
        if rest.is_empty() || self.damage.is_some() {
            return None;
        }
        match split_record(rest) {
            Ok((entry, len)) => {
                self.good_bytes = self.good_bytes.saturating_add(len);
                Some(entry)
            }
            Err(fault) => {
                self.damage = Some(Damage {
                    offset: self.good_bytes,
                    fault,
                });
                None
            }
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        self.next_entry().map(|entry| match entry {
            Entry::Sample(sample) => Record::Sample(Sample::from(sample)),
            Entry::Other(record) => record,
        })
    }
}

/// The first record of `bytes` and its length on disk.
fn split_record(bytes: &[u8]) -> Result<(Entry<'_>, usize), Fault> {
    let (len, rest) = bytes.split_first_chunk().ok_or(Fault::Torn)?;
    let (checksum, rest) = rest.split_first_chunk().ok_or(Fault::Torn)?;
    let len = usize::try_from(u32::from_be_bytes(*len)).map_err(|_| Fault::Length)?;
    if len > MAX_BODY_BYTES {
        return Err(Fault::Length);
    }
    let checked = rest.get(..len.saturating_add(1)).ok_or(Fault::Torn)?;
    if crc32c::crc32c(checked) != u32::from_be_bytes(*checksum) {
        return Err(Fault::Checksum);
    }
    let (&kind, body) = checked.split_first().ok_or(Fault::Torn)?;
    let entry = Entry::decode(kind, body).ok_or(Fault::Body)?;
    Ok((entry, checked.len().saturating_add(8)))
}

#[cfg(test)]
mod tests {
    use capture::MediaTime;

    use super::*;

    fn ticks(n: u64) -> Vec<u8> {
        let mut wal = Vec::new();
        for t in 0..n {
            Record::Tick(MediaTime::from_ms(t))
                .encode(&mut wal)
                .unwrap();
        }
        wal
    }

    #[track_caller]
    fn check(wal: &[u8], records: usize, damage: Option<Damage>) {
        let mut reader = Reader::new(wal);
        assert_eq!(reader.by_ref().count(), records);
        assert_eq!(reader.damage(), damage);
        assert_eq!(reader.good_bytes(), records * 17);
    }

    #[test]
    fn a_whole_file_is_read_to_its_end() {
        check(&ticks(3), 3, None);
        check(&[], 0, None);
    }

    #[test]
    fn a_tail_torn_at_any_byte_is_dropped() {
        let wal = ticks(2);
        for len in 18..wal.len() {
            let fault = Fault::Torn;
            check(&wal[..len], 1, Some(Damage { offset: 17, fault }));
        }
    }

    #[test]
    fn reading_stops_at_the_first_damaged_record() {
        let mut wal = ticks(3);
        wal[20] ^= 1;
        let fault = Fault::Checksum;
        check(&wal, 1, Some(Damage { offset: 17, fault }));
    }

    #[test]
    fn a_length_beyond_the_bound_is_not_waited_for() {
        let mut wal = ticks(1);
        wal.extend([0xff; 64]);
        let fault = Fault::Length;
        check(&wal, 1, Some(Damage { offset: 17, fault }));
    }
}
