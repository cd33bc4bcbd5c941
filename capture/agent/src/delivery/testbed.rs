//! A spool, a store that fails as it is told, and a catalogue, for tests of delivery.

mod catalog;
mod life;

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use capture::{
    GapReason, MediaTime, SessionId, Size, WallTime,
    session::{RunContext, SessionHead},
    source::Protocol,
};
use index::open_catalog;
use segment::{
    Record,
    manifest::FORMAT,
    record::{Close, GapRecord, InitRecord, Open, Sample, ThumbsRecord},
};
use store::{Head, Listed, Retention, Store, StoreError};
use tempfile::TempDir;
use tokio::time::sleep;

pub(crate) use self::{catalog::TestCatalog, life::Life};
use super::Places;
use crate::spool::{Claim, Folder};

/// How a store treats who asks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    /// As it should.
    #[default]
    Well,
    /// It cannot be reached.
    Refuses,
    /// It fails within.
    Fails,
    /// It takes its time, and does it.
    Slow,
    /// It takes what it is given and never answers.
    Hangs,
    /// It gives other content back.
    Lies,
    /// It does as asked, and the answer is lost.
    LosesAnswers,
}

/// Past it a store that hangs is given up by its client, as every store is.
const PATIENCE: Duration = Duration::from_secs(30);

/// Objects in memory.
#[derive(Default)]
pub(crate) struct TestStore {
    pub(crate) mood: Mutex<Mood>,
    pub(crate) objects: Mutex<BTreeMap<String, Bytes>>,
    /// How often each object was put while all was well.
    pub(crate) puts: Mutex<BTreeMap<String, u32>>,
    /// What is held by writes under way, and the most there ever was.
    held_bytes: AtomicU64,
    pub(crate) held_bytes_max: AtomicU64,
    /// That of whoever asks: each call is a step, and so is the answer to a write.
    life: Arc<Life>,
}

impl TestStore {
    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    async fn suffer(&self) -> Result<Mood, StoreError> {
        self.life.step().await;
        let mood = *self.mood.lock().unwrap();
        let unfit = |reason: &str| {
            Err(StoreError::Unfit {
                url: self.url().to_owned(),
                reason: reason.to_owned(),
            })
        };
        match mood {
            Mood::Refuses => return unfit("connection refused"),
            Mood::Fails => return unfit("500 Internal Server Error"),
            Mood::Slow => sleep(Duration::from_secs(20)).await,
            Mood::Hangs => {
                sleep(PATIENCE).await;
                return Err(StoreError::Silent {
                    url: self.url().to_owned(),
                    doing: "answer".to_owned(),
                    reason: format!("it did not within {PATIENCE:?}"),
                });
            }
            Mood::Well | Mood::Lies | Mood::LosesAnswers => {}
        }
        Ok(mood)
    }

    fn found(&self, key: &str) -> Result<Bytes, StoreError> {
        let objects = self.objects.lock().unwrap();
        objects.get(key).cloned().ok_or(StoreError::NotFound {
            key: key.to_owned(),
        })
    }

    fn unlockable(&self) -> Result<(), StoreError> {
        Err(StoreError::Unfit {
            url: self.url().to_owned(),
            reason: "it locks nothing".to_owned(),
        })
    }
}

/// Counts the bytes that a write holds for as long as it is under way.
struct Held<'a>(&'a TestStore, u64);

impl<'a> Held<'a> {
    fn new(store: &'a TestStore, bytes: u64) -> Self {
        let held = store.held_bytes.fetch_add(bytes, Ordering::SeqCst) + bytes;
        store.held_bytes_max.fetch_max(held, Ordering::SeqCst);
        Self(store, bytes)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.held_bytes.fetch_sub(self.1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Store for TestStore {
    async fn put_once(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        let _held = Held::new(self, bytes.len() as u64);
        let mood = self.suffer().await?;
        *self.puts.lock().unwrap().entry(key.to_owned()).or_default() += 1;
        {
            let mut objects = self.objects.lock().unwrap();
            let kept = objects.entry(key.to_owned()).or_insert(bytes.clone());
            if *kept != bytes {
                return Err(StoreError::Exists {
                    key: key.to_owned(),
                });
            }
        }
        self.life.step().await;
        match mood {
            Mood::LosesAnswers => {
                self.set(Mood::Well); // the next try is told that it is there
                Err(StoreError::Cancelled)
            }
            _ => Ok(()),
        }
    }

    async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        let mood = self.suffer().await?;
        let bytes = self.found(key)?;
        Ok(match mood {
            Mood::Lies => Bytes::from(vec![0; bytes.len()]),
            _ => bytes,
        })
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let bytes = self.get(key).await?;
        let at = |offset: u64| usize::try_from(offset).unwrap();
        Ok(bytes.slice(at(range.start)..at(range.end)))
    }

    async fn head(&self, key: &str) -> Result<Option<Head>, StoreError> {
        self.suffer().await?;
        Ok(self.found(key).ok().map(|bytes| Head {
            bytes: bytes.len() as u64,
            sha256: None,
        }))
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        self.suffer().await?;
        let objects = self.objects.lock().unwrap();
        let wanted = objects
            .iter()
            .filter(|(key, _)| key.starts_with(prefix) && after < Some(key.as_str()));
        let listed = wanted.take(limit).map(|(key, bytes)| Listed {
            key: key.clone(),
            bytes: bytes.len() as u64,
        });
        Ok(listed.collect())
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.objects.lock().unwrap().remove(key);
        Ok(())
    }

    async fn delete_version(&self, key: &str) -> Result<(), StoreError> {
        self.delete(key).await
    }

    async fn set_retention(&self, _: &str, _: WallTime, _: Retention) -> Result<(), StoreError> {
        self.unlockable()
    }

    async fn set_hold(&self, _: &str, _: bool) -> Result<(), StoreError> {
        self.unlockable()
    }

    fn url(&self) -> &'static str {
        "test://store"
    }
}

/// A spool with places to send it to.
pub(crate) struct Bed {
    pub(crate) dir: TempDir,
    pub(crate) store: Arc<TestStore>,
    pub(crate) catalog: Arc<TestCatalog>,
    pub(crate) places: Places,
    pub(crate) life: Arc<Life>,
}

/// How long each object of a test is.
pub(crate) const OBJECT_MS: u64 = 60_000;

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let life = Arc::<Life>::default();
        let store = Arc::new(TestStore {
            life: Arc::clone(&life),
            ..TestStore::default()
        });
        let catalog = Arc::new(TestCatalog {
            life: Arc::clone(&life),
            ..TestCatalog::default()
        });
        let places = Places {
            store: Arc::<TestStore>::clone(&store),
            catalog: Arc::<TestCatalog>::clone(&catalog),
        };
        Self {
            dir,
            store,
            catalog,
            places,
            life,
        }
    }

    /// The same with a real catalogue, in the file that is given as well.
    pub(crate) fn with_sqlite() -> (Self, std::path::PathBuf) {
        let mut bed = Self::new();
        let file = bed.dir.path().join("c.db");
        bed.places.catalog = open_catalog(&format!("sqlite://{}", file.display())).unwrap();
        (bed, file)
    }

    pub(crate) fn spool(&self) -> std::path::PathBuf {
        self.dir.path().join("spool")
    }

    /// The folder of session `n`, with its head.
    pub(crate) fn session(&self, n: u8) -> (Folder, Claim) {
        let session = session(n);
        let folder = Folder::of(&self.spool(), session);
        let claim = folder.create().unwrap();
        let head = SessionHead {
            format: SessionHead::FORMAT,
            id: session,
            start: WallTime::from_unix_ms(1_800_000_000_000),
            protocol: Protocol::Vnc,
            source: "vnc://127.0.0.1:5901".into(),
            server_name: "desktop".into(),
            size: Size::new(64, 48),
            fps_max: 15,
            policy: None,
            recorder: "test".into(),
            context: RunContext::default(),
        };
        folder.write_head(&head).unwrap();
        (folder, claim)
    }

    /// The keys in the store, below the session, of its objects and its end.
    pub(crate) fn stored(&self, n: u8) -> Vec<String> {
        let objects = self.store.objects.lock().unwrap();
        let id = session(n).to_string();
        let of_session = objects.keys().filter(|key| key.contains(&id));
        of_session
            .filter_map(|key| Some(key.split_once(&id)?.1[1..].to_owned()))
            .collect()
    }
}

pub(crate) fn session(n: u8) -> SessionId {
    SessionId::new(1_800_000_000_000 + u64::from(n), [n; 10])
}

/// The spool file of object `seq` of session `n`: a gap of a minute.
pub(crate) fn wal(n: u8, seq: u64) -> Vec<u8> {
    let gap = GapRecord {
        from: MediaTime::from_ms(seq * OBJECT_MS),
        reason: GapReason::Stalled,
    };
    object(n, seq, vec![Record::Gap(gap)])
}

/// The same with a picture, one that stands for a minute, and a sprite sheet to go with it.
pub(crate) fn segment(n: u8, seq: u64) -> Vec<u8> {
    let from = MediaTime::from_ms(seq * OBJECT_MS);
    let init = InitRecord {
        coded: Size::new(64, 48),
        crop: None,
        avcc:
            b"\x01\x64\x00\x0a\xff\xe1\x00\x04\x67\x64\x00\x0a\x01\x00\x02\x68\xee\xfd\xf8\xf8\x00"
                .to_vec(),
    };
    let sample = Sample {
        t: from,
        key: true,
        changed_permille: 1_000,
        bytes: vec![0, 0, 0, 2, 0x65, 1],
    };
    let thumbs = ThumbsRecord {
        tile: Size::new(16, 12),
        columns: 1,
        times: vec![from],
    };
    let records = vec![
        Record::Init(init),
        Record::Sample(sample),
        Record::Thumbs(thumbs),
    ];
    object(n, seq, records)
}

fn object(n: u8, seq: u64, within: Vec<Record>) -> Vec<u8> {
    let open = Record::Open(Open {
        format: FORMAT,
        session: session(n),
        seq,
        run: 1,
        from: MediaTime::from_ms(seq * OBJECT_MS),
    });
    let close = Record::Close(Close {
        to: MediaTime::from_ms((seq + 1) * OBJECT_MS),
        last: false,
    });
    let mut wal = Vec::new();
    for record in [open].into_iter().chain(within).chain([close]) {
        record.encode(&mut wal).unwrap();
    }
    wal
}
