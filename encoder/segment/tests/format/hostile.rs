//! Bytes from outside give an error, never a panic, and never a wrong answer.

use proptest::prelude::*;
use segment::{Assembly, Manifest, Sha256, assemble, idle, mp4, record::Reader};

use crate::recording::{example, ms, segment, wal};

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
    let bomb = vec![b' '; 17 << 20];
    let error = mp4::check(&with_manifest(&file, &manifest, &bomb)).unwrap_err();
    assert_eq!(error.to_string(), "box uuid:manifest does not unpack");
}

#[test]
fn a_tail_that_asks_for_gigabytes_is_refused() {
    let error = mp4::read_manifest(&[0xff; 8]).unwrap_err();
    assert!(!matches!(error, mp4::ReadError::Tail { .. }), "{error}");
}
