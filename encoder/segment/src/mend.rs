//! What becomes of a spool file that gives no object, or not the one that belongs in its place?
//! Another file that does: with what of it can be read, and a gap for the rest (`FORMAT.md`,
//! "Damaged spool files").

use capture::{GapReason, MediaTime, SessionId, event::Event};

use crate::{
    Record,
    assemble::Draft,
    manifest::FORMAT,
    record::{Close, EncodeError, Entry, Fault, GapRecord, Open, Reader},
};

/// The place of an object in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The session.
    pub session: SessionId,
    /// The object's number.
    pub seq: u64,
    /// The run that wrote it.
    pub run: u32,
    /// Where the object before it ends.
    pub from: MediaTime,
    /// Where the object after it begins.
    pub to: MediaTime,
}

/// The health that the record shows where something could not be read.
const STATE: &str = "spool-damaged";

/// A spool file whose object fills `place`: the readable part of `wal`, if it belongs there, and
/// from there on a gap that says `why`.
///
/// # Errors
/// When `why` is too long for a record.
pub fn mend(wal: &[u8], place: &Place, why: &str) -> Result<Vec<u8>, EncodeError> {
    if let Some((readable, proven)) = readable(wal, place) {
        let mended = complete(readable.to_vec(), proven, place, why)?;
        if Draft::read(&mended).is_ok() {
            return Ok(mended);
        }
    }
    let mut empty = Vec::new();
    let open = Open {
        format: FORMAT,
        session: place.session,
        seq: place.seq,
        run: place.run,
        from: place.from,
    };
    Record::Open(open).encode(&mut empty)?;
    complete(empty, place.from, place, why)
}

/// The records of `wal` before its close or its first damage, and how far they prove its picture;
/// `None` when they do not belong to `place`.
fn readable<'a>(wal: &'a [u8], place: &Place) -> Option<(&'a [u8], MediaTime)> {
    let mut reader = Reader::new(wal);
    let belongs = match reader.next_entry()? {
        Entry::Other(Record::Open(open)) => {
            (open.session, open.seq, open.from) == (place.session, place.seq, place.from)
        }
        _ => false,
    };
    let mut good_bytes = reader.good_bytes();
    while let Some(entry) = reader.next_entry() {
        if matches!(entry, Entry::Other(Record::Close(_))) {
            break;
        }
        good_bytes = reader.good_bytes();
    }
    let readable = wal.get(..good_bytes).filter(|_| belongs)?;
    let proven = Draft::read(readable).ok()??.to();
    (proven <= place.to).then_some((readable, proven))
}

fn complete(
    mut wal: Vec<u8>,
    proven: MediaTime,
    place: &Place,
    why: &str,
) -> Result<Vec<u8>, EncodeError> {
    if proven < place.to {
        let (from, reason) = (proven, GapReason::CrashLost);
        Record::Gap(GapRecord { from, reason }).encode(&mut wal)?;
        Record::Event(Event::health(from, STATE, why)).encode(&mut wal)?;
    }
    let (to, last) = (place.to, false);
    Record::Close(Close { to, last }).encode(&mut wal)?;
    Ok(wal)
}

/// How far the readable records of `wal` tell of time, whether or not they agree; `None` when
/// they tell of none.
#[must_use]
pub fn reaches(wal: &[u8]) -> Option<MediaTime> {
    let mut reader = Reader::new(wal);
    let mut latest = None;
    while let Some(entry) = reader.next_entry() {
        let t = match entry {
            Entry::Sample(sample) => sample.t.plus_ms(1),
            Entry::Other(Record::Tick(t)) => t,
            Entry::Other(Record::Gap(GapRecord { from, .. })) => from,
            Entry::Other(Record::Repeat(repeat)) => repeat.from,
            Entry::Other(Record::Close(close)) => close.to,
            Entry::Other(_) => continue,
        };
        latest = latest.max(Some(t));
    }
    latest
}

/// Whether something in `wal` cannot be read that its recorder has written: more than a torn tail,
/// of which a lost machine may have kept the length alone.
#[must_use]
pub fn is_damaged(wal: &[u8]) -> bool {
    let mut reader = Reader::new(wal);
    while reader.next_entry().is_some() {}
    reader.damage().is_some_and(|damage| {
        let rest = wal.get(damage.offset..).unwrap_or_default();
        damage.fault != Fault::Torn && rest.iter().any(|&byte| byte != 0)
    })
}

/// The head of a spool file, which its first [`OPEN_BYTES`] hold.
#[must_use]
pub fn open(start: &[u8]) -> Option<Open> {
    match Reader::new(start).next()? {
        Record::Open(open) => Some(open),
        _ => None,
    }
}

/// The head of a spool file is shorter than this.
pub const OPEN_BYTES: u64 = 1024;

#[cfg(test)]
mod tests {
    use capture::Gap;

    use super::*;
    use crate::{Assembled, Assembly, Sha256, manifest::Span, record::Close};

    fn ms(t: u64) -> MediaTime {
        MediaTime::from_ms(t)
    }

    fn place() -> Place {
        Place {
            session: SessionId::new(1_800_000_000_000, [7; 10]),
            seq: 3,
            run: 2,
            from: ms(1_000),
            to: ms(9_000),
        }
    }

    /// A file of `place` whose picture is repeated and proven each second, until `to`.
    fn file(to: u64) -> Vec<u8> {
        let Place {
            session, seq, run, ..
        } = place();
        let from = ms(1_000);
        let mut records = vec![
            Record::Open(Open {
                format: FORMAT,
                session,
                seq,
                run,
                from,
            }),
            Record::Repeat(crate::record::RepeatRecord {
                from,
                seq: 2,
                fragment: 0,
            }),
        ];
        records.extend((2..=to / 1_000).map(|second| Record::Tick(ms(second * 1_000))));
        records.push(Record::Close(Close {
            to: ms(to),
            last: false,
        }));
        let mut wal = Vec::new();
        for record in records {
            record.encode(&mut wal).unwrap();
        }
        wal
    }

    fn span(wal: &[u8]) -> Span {
        let (prev, sheet) = (Sha256::of(b"before"), None);
        match crate::assemble(wal, Assembly { prev, sheet }).unwrap() {
            Assembled::Idle { record, .. } => record.span,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(wal: &[u8], gap_from: Option<u64>) {
        let mended = mend(wal, &place(), "checksum").unwrap();
        let span = span(&mended);
        let gap = gap_from.map(|from| Gap {
            from: ms(from),
            to: ms(9_000),
            reason: GapReason::CrashLost,
        });
        assert_eq!(span.gaps, Vec::from_iter(gap));
        assert_eq!((span.seq, span.from, span.to), (3, ms(1_000), ms(9_000)));
        assert_eq!(mended, mend(wal, &place(), "checksum").unwrap());
    }

    #[test]
    fn what_can_be_read_is_kept() {
        let mut wal = file(9_000);
        let third_tick = wal.len() - 17 * 6 - 40;
        wal[third_tick] ^= 1;
        let read = Reader::new(&wal);
        let ticks = read.filter(|r| matches!(r, Record::Tick(_))).count();
        check(&wal, Some(1_000 + 1_000 * u64::try_from(ticks).unwrap()));
    }

    #[test]
    fn a_file_that_ends_too_early_is_filled_up() {
        check(&file(5_000), Some(5_000));
    }

    #[test]
    fn a_file_that_says_nothing_is_a_gap() {
        check(b"", Some(1_000));
        check(b"not a spool file at all", Some(1_000));
    }

    #[test]
    fn a_file_that_goes_too_far_is_a_gap() {
        check(&file(12_000), Some(1_000));
        assert_eq!(reaches(&file(12_000)), Some(ms(12_000)));
    }

    #[test]
    fn a_whole_file_stays_as_it_is() {
        check(&file(9_000), None);
        assert_eq!(mend(&file(9_000), &place(), "").unwrap(), file(9_000));
    }

    #[test]
    fn a_torn_tail_is_no_damage() {
        let whole = file(9_000);
        assert!(!is_damaged(&whole) && !is_damaged(&whole[..whole.len() - 3]));
        assert!(!is_damaged(&[&whole[..], &[0; 4096]].concat()));
        assert!(is_damaged(&[&whole[..], &[7; 4096]].concat()));
        assert!(is_damaged(b"this is no spool file"));
    }

    #[test]
    fn a_file_of_another_place_is_a_gap() {
        let moved = Place { seq: 4, ..place() };
        let mended = mend(&file(9_000), &moved, "number").unwrap();
        assert_eq!(span(&mended).gaps.len(), 1);
        assert_eq!(open(&mended).unwrap().seq, 4);
    }
}
