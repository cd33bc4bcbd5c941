//! Bytes from outside give an error, never a panic, and never a wrong answer.

use proptest::prelude::*;
use segment::{Assembly, Manifest, Sha256, assemble, idle, mp4, record::Reader};

use crate::recording::{close, example, ms, open, sample, segment, small_init, wal};

/// Every way in for bytes from outside.
fn read_all_ways(bytes: &[u8], manifest: &Manifest) {
    let mut reader = Reader::new(bytes);
    let records = reader.by_ref().count();
    assert!(records <= bytes.len() && reader.good_bytes() <= bytes.len());
    let assembly = Assembly {
        prev: Sha256::of(b""),
        sheet: None,
    };
    // Whether these succeed is for the other tests: here it matters that they return.
    let _ = assemble(bytes, assembly);
    let _ = idle::read(bytes);
    let _ = mp4::check(bytes);
    let _ = mp4::read_init(bytes);
    let _ = mp4::read_events(bytes, &manifest.events);
    let _ = mp4::fragment_samples(bytes);
    let _ = mp4::place(bytes, ms(0), ms(u64::MAX));
}

proptest! {
    #[test]
    fn random_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (_, manifest) = segment(&example());
        read_all_ways(&bytes, &manifest);
        prop_assert!(mp4::check(&bytes).is_err());
    }

    #[test]
    fn any_part_of_a_segment_with_any_byte_changed_is_read_safely(
        cut in any::<(prop::sample::Index, prop::sample::Index)>(),
        at in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let (mut file, manifest) = segment(&example());
        let at = at.index(file.len());
        file[at] = byte;
        let (a, b) = (cut.0.index(file.len() + 1), cut.1.index(file.len() + 1));
        read_all_ways(&file[a.min(b)..a.max(b)], &manifest);
    }

    #[test]
    fn a_spool_file_with_any_byte_changed_is_read_safely(
        at in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let (_, manifest) = segment(&example());
        let mut wal = wal(&example());
        let at = at.index(wal.len());
        wal[at] = byte;
        read_all_ways(&wal, &manifest);
    }

    #[test]
    fn a_manifest_with_any_digit_changed_is_refused_or_says_no_more_than_the_file(
        at in any::<prop::sample::Index>(),
        digit in b'0'..=b'9',
    ) {
        let (file, manifest) = segment(&example());
        let mut json = serde_json::to_vec(&manifest).unwrap();
        let digits: Vec<_> = (0..json.len()).filter(|&n| json[n].is_ascii_digit()).collect();
        let at = digits[at.index(digits.len())];
        json[at] = digit;
        if let Ok(read) = mp4::check(&with_manifest(&file, &manifest, &json)) {
            // What the file holds twice must agree; the rest only the manifest knows.
            prop_assert_eq!(read.fragments.len(), manifest.fragments.len());
            for (read, wrote) in read.fragments.iter().zip(&manifest.fragments) {
                prop_assert_eq!(&read.samples, &wrote.samples);
                prop_assert_eq!((read.t, read.dur), (wrote.t, wrote.dur));
                prop_assert_eq!(read.byte_range(), wrote.byte_range());
            }
            prop_assert_eq!(read.init, manifest.init);
            prop_assert_eq!(read.events, manifest.events);
        }
    }
}

/// The file with another manifest in the last box's place.
fn with_manifest(file: &[u8], manifest: &Manifest, json: &[u8]) -> Vec<u8> {
    let end = usize::try_from(manifest.events.byte_range().end).unwrap();
    let payload = zstd::bulk::compress(json, 3).unwrap();
    let size = u32::try_from(payload.len() + 28).unwrap().to_be_bytes();
    let usertype = &mp4::uuid::MANIFEST;
    [&file[..end], &size, b"uuid", usertype, &payload, &size].concat()
}

/// Changes the example's manifest and compares why the file is refused.
#[track_caller]
fn check_edited(edit: impl FnOnce(&mut Manifest), expected: &str) {
    let (file, manifest) = segment(&example());
    let mut edited = manifest.clone();
    edit(&mut edited);
    let json = serde_json::to_vec(&edited).unwrap();
    let error = mp4::check(&with_manifest(&file, &manifest, &json)).unwrap_err();
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(cause.unwrap_or_else(|| error.to_string()), expected);
}

#[test]
fn a_manifest_that_contradicts_itself_is_refused() {
    check_edited(|manifest| manifest.format = 2, "format 2 is not 1");
    check_edited(
        |manifest| manifest.fragments[1].t = ms(63_001),
        "fragments leave a hole in time (at 0:01:03.001)",
    );
    check_edited(
        |manifest| manifest.fragments[1].offset += 1,
        "fragments leave a hole in the file (at 0:01:03.000)",
    );
    check_edited(
        |manifest| manifest.fragments[0].samples[1].0 = 0,
        "a sample ends before it begins (at 0:01:02.000)",
    );
    check_edited(
        |manifest| manifest.span.gaps[0].to = ms(62_001),
        "a stretch begins before the one before it ends (at 0:01:02.000)",
    );
    check_edited(
        |manifest| manifest.span.to = ms(63_999),
        "a stretch ends after the span (at 0:01:04.000)",
    );
    check_edited(
        |manifest| manifest.fragments.clear(),
        "a segment has no fragment (at 0:01:00.000)",
    );
}

#[test]
fn a_manifest_that_contradicts_its_file_is_refused() {
    check_edited(
        |manifest| manifest.fragments[0].samples[1].0 = 251,
        "box moof at byte 693 has other times than the manifest says",
    );
    check_edited(
        |manifest| manifest.fragments[0].samples[1].1 = 8,
        "box moof at byte 693 has other sizes than the manifest says",
    );
    check_edited(
        |manifest| manifest.init.width = 62,
        "box avc1 at byte 0 has another size or codec than the manifest says",
    );
    check_edited(
        |manifest| manifest.events.count = 2,
        "box uuid:events at byte 944 has another number of events than the manifest says",
    );
    check_edited(
        |manifest| manifest.events.sha256 = Sha256::of(b"other events"),
        "box uuid:events at byte 944 is not the one the manifest names",
    );
}

#[test]
fn a_sample_longer_than_a_second_is_refused() {
    let (file, _) = segment(&[
        open(0),
        small_init(),
        sample(0, true, 1000, b"still"),
        close(1001),
    ]);
    let error = mp4::check(&file).unwrap_err().to_string();
    assert_eq!(
        error,
        "box moof at byte 693 has a sample longer than a second"
    );
}

#[test]
fn every_flipped_bit_is_refused_or_changes_no_answer() {
    let (file, manifest) = segment(&example());
    for bit in 0..file.len() * 8 {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(read) = mp4::check(&flipped) {
            assert_eq!(read, manifest, "bit {bit}");
        }
    }
}

#[test]
fn every_truncation_is_refused() {
    let (file, _) = segment(&example());
    for len in 0..file.len() {
        assert!(mp4::check(&file[..len]).is_err(), "{len} bytes");
    }
    assert!(mp4::check(&[file.as_slice(), &[0]].concat()).is_err());
}

#[test]
fn a_manifest_that_would_unpack_without_end_is_refused() {
    let (file, manifest) = segment(&example());
    let bomb = vec![b' '; 5 << 20];
    let error = mp4::check(&with_manifest(&file, &manifest, &bomb)).unwrap_err();
    assert_eq!(error.to_string(), "box uuid:manifest does not unpack");
}

#[test]
fn a_tail_that_asks_for_gigabytes_is_refused() {
    let error = mp4::read_manifest(&[0xff; 8]).unwrap_err();
    assert!(!matches!(error, mp4::ReadError::Tail { .. }), "{error}");
}
