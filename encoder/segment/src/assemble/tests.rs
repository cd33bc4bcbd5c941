use capture::{Anchor, GapReason, MediaTime, Rect, SessionId, Size, WallTime, event::Event};

use super::*;
use crate::{
    Record,
    manifest::FORMAT,
    record::{Close, GapRecord, InitRecord, MaskRecord, Open, RepeatRecord, Sample, ThumbsRecord},
};

fn ms(t: u64) -> MediaTime {
    MediaTime::from_ms(t)
}

fn open(from: u64) -> Record {
    Record::Open(Open {
        format: FORMAT,
        session: SessionId::new(1_800_000_000_000, [7; 10]),
        seq: 3,
        run: 1,
        from: ms(from),
    })
}

fn init() -> Record {
    Record::Init(InitRecord {
        coded: Size::new(64, 48),
        crop: None,
        avcc:
            b"\x01\x64\x00\x0a\xff\xe1\x00\x04\x67\x64\x00\x0a\x01\x00\x02\x68\xee\xfd\xf8\xf8\x00"
                .to_vec(),
    })
}

fn sample(t: u64, key: bool, changed_permille: u16) -> Record {
    let picture = u8::try_from(t % 251).unwrap();
    Record::Sample(Sample {
        t: ms(t),
        key,
        changed_permille,
        bytes: vec![0, 0, 0, 2, if key { 0x65 } else { 0x41 }, picture],
    })
}

fn gap(from: u64) -> Record {
    Record::Gap(GapRecord {
        from: ms(from),
        reason: GapReason::Stalled,
    })
}

fn repeat(from: u64) -> Record {
    Record::Repeat(RepeatRecord {
        from: ms(from),
        seq: 2,
        fragment: 1,
    })
}

fn close(to: u64) -> Record {
    Record::Close(Close {
        to: ms(to),
        last: false,
    })
}

fn wal(records: &[Record]) -> Vec<u8> {
    let mut wal = Vec::new();
    for record in records {
        record.encode(&mut wal).unwrap();
    }
    wal
}

fn assembled(records: &[Record]) -> Result<Assembled, AssembleError> {
    let prev = Sha256::of(b"before");
    let sheet = Some(b"jpeg".as_slice());
    assemble(&wal(records), Assembly { prev, sheet })
}

#[track_caller]
fn segment(records: &[Record]) -> Manifest {
    match assembled(records).unwrap() {
        Assembled::Segment { manifest, .. } => manifest,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn idle(records: &[Record]) -> IdleRecord {
    match assembled(records).unwrap() {
        Assembled::Idle { record, .. } => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn durations_reach_to_the_next_sample_and_the_last_to_the_close() {
    let manifest = segment(&[
        open(100),
        init(),
        sample(100, true, 1000),
        sample(130, false, 3),
        sample(1_000, true, 0),
        sample(1_900, false, 0),
        close(2_000),
    ]);
    let fragments: Vec<_> = manifest
        .fragments
        .iter()
        .map(|f| (f.t.ms(), f.dur, f.changed, f.samples.clone()))
        .collect();
    assert_eq!(
        fragments,
        [
            (100, 900, 2, vec![(0, 6), (30, 6)]),
            (1_000, 1_000, 0, vec![(0, 6), (900, 6)]),
        ]
    );
}

#[test]
fn a_gap_and_a_repeat_end_where_the_next_stretch_begins() {
    let manifest = segment(&[
        open(0),
        repeat(0),
        gap(400),
        repeat(700),
        init(),
        sample(900, true, 1000),
        close(1_000),
    ]);
    let span = manifest.span;
    let repeats: Vec<_> = span
        .repeats
        .iter()
        .map(|r| (r.from.ms(), r.to.ms()))
        .collect();
    assert_eq!(repeats, [(0, 400), (700, 900)]);
    assert_eq!((span.gaps[0].from.ms(), span.gaps[0].to.ms()), (400, 700));
}

#[test]
fn a_file_without_a_close_ends_at_its_last_proof() {
    let to = |records: &[Record]| segment(records).span.to.ms();
    let begin = [open(0), init(), sample(0, true, 1000)];
    assert_eq!(to(&begin), 1);
    assert_eq!(to(&[&begin[..], &[Record::Tick(ms(950))]].concat()), 950);
    let idle = idle(&[open(0), repeat(0), Record::Tick(ms(600_000))]);
    assert_eq!(idle.span.to.ms(), 600_000);
    assert_eq!(idle.span.repeats[0].to.ms(), 600_000);
}

#[test]
fn masks_are_paired_and_clipped_to_the_object() {
    let mask = |t, rule: &str| MaskRecord {
        t: ms(t),
        rect: Rect::new(1, 2, 3, 4),
        rule: rule.into(),
        kind: "fixed".into(),
    };
    let manifest = segment(&[
        open(100),
        Record::Mask(mask(50, "a")),
        init(),
        sample(100, true, 1000),
        Record::Mask(mask(150, "b")),
        Record::Mask(mask(160, "b")),
        Record::Unmask(mask(170, "b")),
        Record::Unmask(mask(180, "never set")),
        Record::Mask(mask(190, "b")),
        close(200),
    ]);
    let masks: Vec<_> = manifest
        .span
        .masks
        .iter()
        .map(|mask| (mask.rule.as_str(), mask.from.ms(), mask.to.ms()))
        .collect();
    assert_eq!(masks, [("a", 100, 200), ("b", 150, 170), ("b", 190, 200)]);
}

#[test]
fn an_event_may_be_late() {
    let typed = Event::health(ms(100_000 - capture::event::LATE_MS), "typed", "");
    let records = [
        open(100_000),
        Record::Event(typed.clone()),
        init(),
        sample(100_000, true, 1),
        close(101_000),
    ];
    let Ok(Assembled::Segment { bytes, manifest }) = assembled(&records) else {
        panic!("a file with samples is a segment");
    };
    assert_eq!(crate::mp4::check(&bytes).unwrap(), manifest);
    let events = crate::mp4::part(&bytes, manifest.events.byte_range()).unwrap();
    let events = crate::mp4::read_events(events, &manifest.events).unwrap();
    assert_eq!(events, std::slice::from_ref(&typed));
    let without_samples = [
        open(100_000),
        Record::Event(typed.clone()),
        gap(100_000),
        close(101_000),
    ];
    assert_eq!(idle(&without_samples).events, [typed]);
}

#[test]
fn activity_adds_up_by_second_and_stops_at_the_whole_screen() {
    let manifest = segment(&[
        open(0),
        init(),
        sample(0, true, 1000),
        sample(500, false, 9),
        sample(1_400, false, 0),
        sample(2_300, false, 5),
        sample(2_600, false, 6),
        close(2_999),
    ]);
    let activity: Vec<_> = manifest
        .span
        .activity
        .iter()
        .map(|a| (a.second, a.permille))
        .collect();
    assert_eq!(activity, [(0, 1000), (2, 11)]);
}

#[test]
fn a_sheet_belongs_to_the_object_once_it_is_complete() {
    let thumbs = Record::Thumbs(ThumbsRecord {
        tile: Size::new(320, 180),
        columns: 5,
        times: vec![ms(0)],
    });
    let begin = [open(0), init(), sample(0, true, 1000)];
    assert_eq!(segment(&begin).thumbs, None);
    let thumbs = segment(&[&begin[..], &[thumbs]].concat()).thumbs.unwrap();
    assert_eq!((thumbs.sha256, thumbs.bytes), (Sha256::of(b"jpeg"), 4));
}

#[test]
fn a_file_in_which_no_time_passed_is_no_object() {
    let check = |records: &[Record]| {
        let assembled = assembled(records).unwrap();
        assert!(matches!(assembled, Assembled::Empty), "{assembled:?}");
    };
    check(&[]);
    check(&[open(5)]);
    check(&[open(5), init(), gap(5)]);
    check(&[open(5), close(5)]);
    assert_eq!(idle(&[open(5), close(6)]).span.to.ms(), 6);
}

#[test]
fn contradictions_are_refused() {
    let check = |records: &[Record], error: &str| {
        assert_eq!(assembled(records).unwrap_err().to_string(), error);
    };
    check(&[close(1)], "spool file does not begin with its head");
    check(&[open(0), open(0)], "spool file has a second open record");
    check(
        &[open(0), sample(0, true, 0)],
        "sample at 0:00:00.000 comes before any parameters",
    );
    check(
        &[open(0), init(), sample(0, false, 0)],
        "sample at 0:00:00.000 is no key picture and has none before it",
    );
    let begin = [open(5), init(), sample(5, true, 0)];
    let and = |more: &[Record]| [&begin[..], more].concat();
    check(
        &and(&[sample(5, false, 0)]),
        "time 0:00:00.005 does not come after 0:00:00.005",
    );
    check(
        &and(&[close(5)]),
        "time 0:00:00.005 does not come after 0:00:00.005",
    );
    check(
        &and(&[gap(7), sample(9, true, 0)]),
        "sample at 0:00:00.009 follows a gap or repeat that follows samples",
    );
    check(
        &[open(5), gap(4)],
        "time 0:00:00.004 does not come after 0:00:00.005",
    );
}

#[test]
fn a_tail_torn_at_any_byte_still_gives_an_object() {
    let wal = wal(&[
        open(0),
        Record::Anchor(Anchor {
            t: ms(0),
            utc: WallTime::from_unix_ms(1_800_000_000_000),
            error_ms: Some(2),
            step: false,
        }),
        repeat(0),
        Record::Event(Event::size(ms(0), Size::new(64, 48))),
        init(),
        sample(10, true, 1000),
        Record::Tick(ms(20)),
        sample(30, false, 2),
        gap(50),
        close(60),
    ]);
    let prev = Sha256::of(b"before");
    for len in 0..=wal.len() {
        let assembly = Assembly { prev, sheet: None };
        let first = assemble(&wal[..len], assembly).unwrap();
        let again = assemble(&wal[..len], assembly).unwrap();
        assert_eq!(format!("{first:?}"), format!("{again:?}"), "{len} bytes");
    }
}
