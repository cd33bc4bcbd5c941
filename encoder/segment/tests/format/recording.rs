//! Small recordings to try things on.

use capture::{Anchor, GapReason, MediaTime, Rect, SessionId, Size, WallTime, event::Event};
use segment::{
    Assembled, Assembly, Manifest, Record, Sha256, assemble,
    manifest::FORMAT,
    record::{Close, GapRecord, InitRecord, MaskRecord, Open, RepeatRecord, Sample, ThumbsRecord},
};

pub(crate) const SHEET: &[u8] = b"not really a jpeg";

pub(crate) fn ms(t: u64) -> MediaTime {
    MediaTime::from_ms(t)
}

pub(crate) fn open(from: u64) -> Record {
    Record::Open(Open {
        format: FORMAT,
        session: SessionId::new(1_800_000_000_000, [7; 10]),
        seq: 3,
        run: 1,
        from: ms(from),
    })
}

pub(crate) fn init(coded: Size, avcc: &[u8]) -> Record {
    Record::Init(InitRecord {
        coded,
        crop: None,
        avcc: avcc.to_vec(),
    })
}

/// Parameters of a picture of 64×48 that no decoder ever sees.
pub(crate) fn small_init() -> Record {
    let avcc =
        b"\x01\x64\x00\x0a\xff\xe1\x00\x04\x67\x64\x00\x0a\x01\x00\x02\x68\xee\xfd\xf8\xf8\x00";
    init(Size::new(64, 48), avcc)
}

pub(crate) fn sample(t: u64, key: bool, changed_permille: u16, bytes: &[u8]) -> Record {
    Record::Sample(Sample {
        t: ms(t),
        key,
        changed_permille,
        bytes: bytes.to_vec(),
    })
}

pub(crate) fn gap(from: u64) -> Record {
    Record::Gap(GapRecord {
        from: ms(from),
        reason: GapReason::Disconnected,
    })
}

pub(crate) fn close(to: u64) -> Record {
    Record::Close(Close {
        to: ms(to),
        last: false,
    })
}

/// One of every record.
pub(crate) fn example() -> Vec<Record> {
    let mask = |t| MaskRecord {
        t: ms(t),
        rect: Rect::new(8, 8, 16, 4),
        rule: "clock".into(),
        kind: "fixed".into(),
    };
    vec![
        open(60_000),
        Record::Anchor(Anchor {
            t: ms(60_000),
            utc: WallTime::from_unix_ms(1_800_000_060_000),
            error_ms: Some(2),
            step: false,
        }),
        Record::Repeat(RepeatRecord {
            from: ms(60_000),
            seq: 2,
            fragment: 1,
        }),
        gap(61_000),
        small_init(),
        Record::Mask(mask(62_000)),
        Record::Event(Event::size(ms(62_000), Size::new(64, 48))),
        sample(62_000, true, 1000, &[0, 0, 0, 2, 0x65, 1]),
        sample(62_250, false, 3, &[0, 0, 0, 3, 0x41, 2, 3]),
        Record::Unmask(mask(62_300)),
        sample(63_000, true, 1000, &[0, 0, 0, 2, 0x65, 4]),
        Record::Tick(ms(63_900)),
        Record::Thumbs(ThumbsRecord {
            tile: Size::new(320, 180),
            columns: 5,
            times: vec![ms(62_000), ms(63_000)],
        }),
        close(64_000),
    ]
}

pub(crate) fn wal(records: &[Record]) -> Vec<u8> {
    let mut wal = Vec::new();
    for record in records {
        record.encode(&mut wal).unwrap();
    }
    wal
}

pub(crate) fn assembled(wal: &[u8]) -> Assembled {
    let assembly = Assembly {
        prev: Sha256::of(b"the object before"),
        sheet: Some(SHEET),
    };
    assemble(wal, assembly).unwrap()
}

#[track_caller]
pub(crate) fn segment(records: &[Record]) -> (Vec<u8>, Manifest) {
    match assembled(&wal(records)) {
        Assembled::Segment { bytes, manifest } => (bytes, manifest),
        other => panic!("not a segment: {other:?}"),
    }
}
