//! A store and a catalogue in a folder of their own, and small recordings to put there.

use std::sync::Arc;

use bytes::Bytes;
use capture::{
    Anchor, GapReason, MediaTime, Rect, SessionId, Size, WallTime,
    session::{Os, RunContext, SessionHead},
    source::Protocol,
};
use index::{
    Catalog, Stores, commit,
    import::{Import, ImportReport},
    log::Names,
    open_catalog,
    row::Refusal,
};
use segment::{
    Assembled, Assembly, Record, Sha256, assemble,
    end::{EndBody, EndReason, ObjectEntry},
    key::SessionKeys,
    manifest::FORMAT,
    record::{Close, GapRecord, InitRecord, MaskRecord, Open, RepeatRecord, Sample, ThumbsRecord},
};
use store::{Store, open_store};
use tempfile::TempDir;

/// 2027-01-15T08:00:00Z: when session 0 begins.
pub(crate) const BASE_MS: u64 = 1_800_000_000_000;
pub(crate) const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
pub(crate) const SPAN: &str = "00f067aa0ba902b7";

pub(crate) struct Home {
    pub(crate) folder: TempDir,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) catalog: Arc<dyn Catalog>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(&format!("file://{}/store", folder.path().display())).unwrap();
        let catalog = open_catalog(&url(&folder, "catalog.db")).unwrap();
        Self {
            folder,
            store,
            catalog,
        }
    }

    pub(crate) fn stores(&self) -> Stores {
        Stores::new(self.store.clone(), [], self.catalog.clone())
    }

    /// Another handle on the same catalogue, as another process has it.
    pub(crate) fn second_catalog(&self) -> Arc<dyn Catalog> {
        open_catalog(&url(&self.folder, "catalog.db")).unwrap()
    }

    pub(crate) fn empty_catalog(&self) -> Arc<dyn Catalog> {
        open_catalog(&url(&self.folder, "other.db")).unwrap()
    }

    /// Commits a whole session and gives its end record's entries.
    pub(crate) async fn record(
        &self,
        head: &SessionHead,
        objects: Vec<Vec<Record>>,
        end: Option<u64>,
    ) -> Vec<ObjectEntry> {
        let (store, catalog) = (self.store.as_ref(), self.catalog.as_ref());
        let keys = SessionKeys::new(head.id, head.start);
        let first = commit::commit_head(store, catalog, head).await.unwrap();
        let mut entries = vec![first];
        for records in objects {
            let (assembled, sheet) = assembled(&records, entries.last().unwrap().sha256);
            let object = commit::commit_object(store, catalog, &keys, assembled, sheet)
                .await
                .unwrap()
                .unwrap();
            entries.extend(object.thumb);
            entries.push(object.entry);
        }
        if let Some(duration) = end {
            let body = end_body(head, duration, entries.clone());
            commit::commit_end(store, catalog, &keys, &body)
                .await
                .unwrap();
        }
        entries
    }

    /// Takes in rows, all of which must be rows.
    pub(crate) async fn import(&self, rows: &[String]) -> ImportReport {
        let report = self.import_text(&rows.join("\n")).await;
        assert_eq!(report.refused, Vec::<Refusal>::new());
        report
    }

    pub(crate) async fn import_text(&self, ndjson: &str) -> ImportReport {
        let import = Import {
            store: self.store.as_ref(),
            catalog: self.catalog.as_ref(),
            session: None,
            first_line: 1,
        };
        let mut random = [0; 16];
        random.copy_from_slice(&Sha256::of(ndjson.as_bytes()).as_bytes()[..16]);
        let mut names = Names::new(at(0), random);
        import.rows(ndjson.as_bytes(), &mut names).await.unwrap()
    }
}

fn url(folder: &TempDir, name: &str) -> String {
    format!("sqlite://{}/{name}", folder.path().display())
}

pub(crate) fn ms(t: u64) -> MediaTime {
    MediaTime::from_ms(t)
}

/// The instant `ms` after session 0 began.
pub(crate) fn at(ms: i64) -> WallTime {
    WallTime::from_unix_ms(i64::try_from(BASE_MS).unwrap()).plus_ms(ms)
}

/// The head of session `n`, which begins `n` seconds after session 0.
pub(crate) fn head(n: u8, context: RunContext) -> SessionHead {
    let start_ms = i64::from(n) * 1000;
    SessionHead {
        format: SessionHead::FORMAT,
        id: SessionId::new(BASE_MS + u64::from(n) * 1000, [n; 10]),
        start: at(start_ms),
        protocol: Protocol::Vnc,
        source: "vnc://127.0.0.1:5901".into(),
        server_name: "desk".into(),
        size: Size::new(64, 48),
        fps_max: 15,
        policy: None,
        recorder: "test".into(),
        context: RunContext {
            os: Some(Os::Linux),
            ..context
        },
    }
}

pub(crate) fn end_body(head: &SessionHead, duration: u64, objects: Vec<ObjectEntry>) -> EndBody {
    EndBody {
        format: 1,
        session: head.id,
        reason: EndReason::Stopped,
        recovered: false,
        duration: ms(duration),
        end: head.start.plus_ms(i64::try_from(duration).unwrap()),
        objects,
    }
}

const SHEET: &[u8] = b"a sprite sheet";

/// The object of these records; the sheet comes with those that name one.
pub(crate) fn assembled(records: &[Record], prev: Sha256) -> (Assembled, Option<Bytes>) {
    let mut wal = Vec::new();
    for record in records {
        record.encode(&mut wal).unwrap();
    }
    let named = records
        .iter()
        .any(|record| matches!(record, Record::Thumbs(_)));
    let sheet = named.then_some(SHEET);
    let assembled = assemble(&wal, Assembly { prev, sheet }).unwrap();
    (assembled, sheet.map(Bytes::from_static))
}

pub(crate) fn open(head: &SessionHead, seq: u64, from: u64) -> Record {
    Record::Open(Open {
        format: FORMAT,
        session: head.id,
        seq,
        run: 1,
        from: ms(from),
    })
}

/// Parameters of a picture of 64×48 that no decoder ever sees.
pub(crate) fn init() -> Record {
    let avcc =
        b"\x01\x64\x00\x0a\xff\xe1\x00\x04\x67\x64\x00\x0a\x01\x00\x02\x68\xee\xfd\xf8\xf8\x00";
    Record::Init(InitRecord {
        coded: Size::new(64, 48),
        crop: None,
        avcc: avcc.to_vec(),
    })
}

pub(crate) fn sample(t: u64, key: bool) -> Record {
    Record::Sample(Sample {
        t: ms(t),
        key,
        changed_permille: if key { 1000 } else { 3 },
        bytes: vec![0, 0, 0, 2, if key { 0x65 } else { 0x41 }, 1],
    })
}

pub(crate) fn anchor(t: u64, utc: WallTime, step: bool) -> Record {
    Record::Anchor(Anchor {
        t: ms(t),
        utc,
        error_ms: Some(2),
        step,
    })
}

pub(crate) fn close(to: u64) -> Record {
    Record::Close(Close {
        to: ms(to),
        last: false,
    })
}

/// A session of 8 s in four objects: two seconds recorded under a mask, with thumbs; idle to 4.5;
/// a gap to 6 at the head of the last segment, which ends at 7; a gap at the end.
pub(crate) fn eight_seconds(head: &SessionHead) -> Vec<Vec<Record>> {
    let start = head.start;
    let mask = |t| MaskRecord {
        t: ms(t),
        rect: Rect::new(8, 8, 16, 4),
        rule: "clock".into(),
        kind: "fixed".into(),
    };
    let gap = |from| {
        Record::Gap(GapRecord {
            from: ms(from),
            reason: GapReason::Stalled,
        })
    };
    vec![
        vec![
            open(head, 0, 0),
            anchor(0, start, false),
            init(),
            Record::Mask(mask(0)),
            sample(0, true),
            sample(400, false),
            sample(1000, true),
            sample(1600, false),
            Record::Thumbs(ThumbsRecord {
                tile: Size::new(32, 24),
                columns: 5,
                times: vec![ms(0), ms(1000)],
            }),
            close(2000),
        ],
        vec![
            open(head, 1, 2000),
            Record::Repeat(RepeatRecord {
                from: ms(2000),
                seq: 0,
                fragment: 1,
            }),
            Record::Tick(ms(4500)),
            gap(4500),
            close(5000),
        ],
        vec![
            open(head, 2, 5000),
            gap(5000),
            init(),
            anchor(6000, start.plus_ms(6000), false),
            sample(6000, true),
            close(7000),
        ],
        vec![open(head, 3, 7000), gap(7000), close(8000)],
    ]
}

/// An event row `ms` after session 0 began, with more `fields`.
pub(crate) fn row(ms: i64, fields: &str) -> String {
    let time = at(ms);
    let comma = if fields.is_empty() { "" } else { "," };
    format!(r#"{{"time":"{time}","text":"row at {ms}"{comma}{fields}}}"#)
}
