//! Stored bytes: a segment, an idle record, a spool file.

use capture::MediaTime;
use segment::{Assembly, Sha256, assemble, idle, mp4, record::Reader};

/// Every way in for bytes from a store or a spool. What is read as whole says no more than it has.
pub fn segment(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let records = reader.by_ref().count();
    assert!(records <= bytes.len(), "more records than bytes");
    assert!(reader.good_bytes() <= bytes.len(), "read past the end");
    let assembly = Assembly {
        prev: Sha256::of(b""),
        sheet: None,
    };
    if let Ok(assembled) = assemble(bytes, assembly) {
        drop(assembled);
    }
    drop(idle::read(bytes));
    drop(mp4::read_init(bytes));
    drop(mp4::fragment_samples(bytes));
    drop(mp4::place(
        bytes,
        MediaTime::ZERO,
        MediaTime::from_ms(u64::MAX),
    ));
    if let Ok(manifest) = mp4::check(bytes) {
        let len = bytes.len() as u64;
        assert!(manifest.events.byte_range().end <= len, "events outside");
        drop(mp4::read_events(bytes, &manifest.events));
    }
}
