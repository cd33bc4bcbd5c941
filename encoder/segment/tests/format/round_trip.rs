//! What was recorded is what is read.

use capture::{Size, event::Event};
use proptest::prelude::*;
use segment::{Record, mp4, record::Reader};

use crate::recording::{close, example, gap, ms, open, sample, segment, small_init, wal};

#[test]
fn every_kind_of_record_reads_back() {
    let records = example();
    let bytes = wal(&records);
    let mut reader = Reader::new(&bytes);
    assert_eq!(reader.by_ref().collect::<Vec<_>>(), records);
    assert_eq!(reader.good_bytes(), bytes.len());
    assert_eq!(reader.damage(), None);
}

#[test]
fn the_manifest_is_found_from_a_tail() {
    let (file, manifest) = segment(&example());
    let need = match mp4::read_manifest(&file[file.len() - 4..]).unwrap_err() {
        mp4::ReadError::Tail { need_bytes } => usize::try_from(need_bytes).unwrap(),
        other => panic!("{other}"),
    };
    assert!(mp4::read_manifest(&file[file.len() - need + 1..]).is_err());
    let tail = &file[file.len() - need..];
    assert_eq!(mp4::read_manifest(tail).unwrap(), manifest);
    assert_eq!(mp4::read_manifest(&file).unwrap(), manifest);
}

#[test]
fn init_parts_say_what_the_encoder_said() {
    let (file, manifest) = segment(&example());
    let init = mp4::read_init(mp4::part(&file, manifest.init.byte_range()).unwrap()).unwrap();
    let Record::Init(recorded) = small_init() else {
        unreachable!()
    };
    assert_eq!(init.coded, recorded.coded);
    assert_eq!(init.avcc, recorded.avcc);
}

#[test]
fn a_record_that_could_not_be_read_back_is_not_written() {
    let mut event = Event::size(ms(0), Size::new(1, 1));
    event.data.insert("t".into(), 5.into());
    let mut out = b"before".to_vec();
    let error = Record::Event(event).encode(&mut out).unwrap_err();
    assert_eq!(error.to_string(), "event data names the field \"t\"");
    let huge = sample(0, true, 0, &vec![0; segment::record::MAX_BODY_BYTES]);
    assert!(huge.encode(&mut out).is_err());
    assert_eq!(out, b"before");
}

/// What one sample of a recording says: how long it lasts, whether it is a key, how much
/// changed, and its bytes.
type Said = (u64, bool, u16, Vec<u8>);

fn said() -> impl Strategy<Value = Said> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..40);
    (1..=1000_u64, any::<bool>(), 0..=1000_u16, bytes)
}

fn events(t: u64) -> impl Strategy<Value = Vec<Event>> {
    let event = (0..1000_u64, "[a-z]{1,8}", ".{0,20}")
        .prop_map(move |(dt, state, text)| Event::health(ms(t + dt), &state, &text));
    proptest::collection::vec(event, 0..5)
}

proptest! {
    #[test]
    fn samples_read_back_with_their_times_and_bytes(
        from in 0..1_u64 << 40,
        gap_ms in 0..5000_u64,
        said in proptest::collection::vec(said(), 1..40),
        events in events(7),
    ) {
        let mut t = from + gap_ms;
        let mut records = vec![open(from), gap(from), small_init()];
        records.extend(events.iter().cloned().map(Record::Event));
        let mut expected = Vec::new();
        for (n, (dur, key, changed, bytes)) in said.iter().enumerate() {
            let key = *key || n == 0;
            records.push(sample(t, key, *changed, bytes));
            expected.push((t * 90, dur * 90, key, bytes.clone()));
            t += dur;
        }
        records.push(close(t));

        let (file, manifest) = segment(&records);
        prop_assert_eq!(&mp4::check(&file).unwrap(), &manifest);
        let mut read = Vec::new();
        for fragment in &manifest.fragments {
            let bytes = mp4::part(&file, fragment.byte_range()).unwrap();
            for sample in mp4::fragment_samples(bytes).unwrap() {
                let dur = u64::from(sample.duration_ticks);
                read.push((sample.t_ticks, dur, sample.key, sample.bytes.to_vec()));
            }
        }
        prop_assert_eq!(read, expected);
        let events_box = mp4::part(&file, manifest.events.byte_range()).unwrap();
        prop_assert_eq!(mp4::read_events(events_box, &manifest.events).unwrap(), events);
        prop_assert_eq!(manifest.span.gaps.len(), usize::from(gap_ms > 0));
    }
}
