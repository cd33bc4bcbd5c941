//! What is recorded without a recorder? Sessions of samples that no decoder needs to understand,
//! as a spool holds them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use capture::session::{RunContext, SessionHead};
use capture::source::Protocol;
use capture::{Anchor, MediaTime, SessionId, Size, WallTime};
use segment::Record;
use segment::manifest::FORMAT;
use segment::record::{Close, InitRecord, Open, Sample};

/// When the first of them began.
const START_MS: u64 = 1_800_000_000_000;
const SIZE: Size = Size::new(64, 48);
/// A decoder's configuration, of High profile.
const AVCC: [u8; 21] =
    *b"\x01\x64\x00\x0a\xff\xe1\x00\x04\x67\x64\x00\x0a\x01\x00\x02\x68\xee\xfd\xf8\xf8\x00";

/// How a session's segments are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The length of each.
    pub(crate) segment_ms: u64,
    /// How far key frames are apart.
    pub(crate) fragment_ms: u64,
    /// How far samples are apart.
    pub(crate) sample_ms: usize,
    /// The size of each.
    pub(crate) sample_bytes: usize,
}

/// The head of the `n`th session; each begins a second after the one before.
pub(crate) fn head(n: u16) -> SessionHead {
    let start_ms = START_MS + u64::from(n) * 1_000;
    let [high, low] = n.to_be_bytes();
    SessionHead {
        format: SessionHead::FORMAT,
        id: SessionId::new(start_ms, [high, low, 0, 0, 0, 0, 0, 0, 0, 0]),
        start: WallTime::from_unix_ms(i64::try_from(start_ms).unwrap_or_default()),
        protocol: Protocol::Vnc,
        source: "vnc://127.0.0.1:5901".into(),
        server_name: "desk".into(),
        size: SIZE,
        fps_max: 15,
        policy: None,
        recorder: "made".into(),
        context: RunContext::default(),
    }
}

/// The spool file of segment `seq`.
pub(crate) fn wal(head: &SessionHead, seq: u64, shape: Shape) -> anyhow::Result<Vec<u8>> {
    let from = seq * shape.segment_ms;
    let to = from + shape.segment_ms;
    let mut records = vec![
        Record::Open(Open {
            format: FORMAT,
            session: head.id,
            seq,
            run: 1,
            from: MediaTime::from_ms(from),
        }),
        Record::Init(InitRecord {
            coded: SIZE,
            crop: None,
            avcc: AVCC.to_vec(),
        }),
    ];
    for t in (from..to).step_by(shape.sample_ms) {
        if t.is_multiple_of(10_000) {
            records.push(Record::Anchor(Anchor {
                t: MediaTime::from_ms(t),
                utc: head.start.plus_ms(i64::try_from(t)?),
                error_ms: Some(2),
                step: false,
            }));
        }
        let key = (t - from).is_multiple_of(shape.fragment_ms);
        records.push(Record::Sample(Sample {
            t: MediaTime::from_ms(t),
            key,
            changed_permille: 10,
            bytes: access_unit(key, shape.sample_bytes)?,
        }));
    }
    records.push(Record::Close(Close {
        to: MediaTime::from_ms(to),
        last: false,
    }));
    let mut wal = Vec::new();
    for record in &records {
        record.encode(&mut wal)?;
    }
    Ok(wal)
}

/// One NAL unit of `bytes`, of a key frame or another.
fn access_unit(key: bool, bytes: usize) -> anyhow::Result<Vec<u8>> {
    let len = u32::try_from(bytes)?.to_be_bytes();
    let mut unit = [&len[..], &[if key { 0x65 } else { 0x41 }]].concat();
    unit.resize(4 + bytes, 0x5a);
    Ok(unit)
}

/// What a recorder that was killed left below `spool` of session `n`: the head and `segments`.
pub(crate) fn spool(spool: &Path, n: u16, segments: u64, shape: Shape) -> anyhow::Result<PathBuf> {
    let head = head(n);
    let folder = spool.join(head.id.to_string());
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    fs::write(folder.join("session.json"), serde_json::to_vec(&head)?)?;
    for seq in 0..segments {
        fs::write(
            folder.join(format!("{seq:08}.wal")),
            wal(&head, seq, shape)?,
        )?;
    }
    Ok(folder)
}
