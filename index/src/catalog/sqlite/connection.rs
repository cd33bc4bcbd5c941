//! How connections are opened, and who may use them: one writer thread, a few readers.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, TransactionBehavior, config::DbConfig};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::super::CatalogError;

/// The schema, one step for each version. Steps are never edited once released.
const MIGRATIONS: [&str; 3] = [
    include_str!("schema.sql"),
    // Sessions that may have lost their recorder are looked for again and again, among many that
    // ended. `relink`: rows to look at again, which one transaction was too short for.
    "create index session_open on session (start_utc) where end_utc is null;
     create table relink (event integer primary key) strict;
     -- Lease: `seen_utc` as it was when the latest interruption was noted.
     alter table session add column noted_seen_utc integer;",
    // A catalogue may have several stores. `store` holds the ids of their markers; a session's
    // `store` is where it was last found, for whoever looks: null, or a store that is not at hand,
    // means each is asked. Not compared, since it follows from what is stored.
    "create table store (id text not null primary key) strict, without rowid;
     insert into store select value from meta where name = 'store_id';
     drop table meta;
     alter table session add column store text;",
];
/// "play" in ASCII: marks the file as a catalogue of ours.
const APPLICATION_ID: i64 = 0x706c_6179;
/// How long a statement waits for another process's transaction, which is bounded itself.
const BUSY: Duration = Duration::from_secs(10);
/// Tries to switch a new file's journal: ten seconds of them, as for any other statement.
const MAX_WAL_TRIES: u32 = 500;
/// The pause between two of them.
const WAL_PAUSE: Duration = Duration::from_millis(20);
/// Writes that may wait for the writer thread.
const MAX_WAITING_WRITES: usize = 64;
/// Reads that run at once; SQLite reads are short and the machine has other work.
const MAX_READERS: usize = 4;
/// Rows arrive with random ids and traces, so each transaction touches pages all over the
/// indexes: 32 MiB of them stay in memory, and 32 MiB of log gather before pages are written back.
const WRITER_SETTINGS: &str = "pragma cache_size = -32768; pragma wal_autocheckpoint = 8192;";
/// Prepared statements kept by a connection: more than there are different ones.
const STATEMENTS: usize = 128;

/// A catalogue's file, and the way to a connection to it.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) url: String,
    pub(super) path: PathBuf,
}

/// An open file, and which one it was: the path may be given to another while we hold it.
pub(super) struct Opened {
    db: Connection,
    identity: Option<Identity>,
}

type Identity = (u64, u64);

/// A catalogue's file, its log, and the log's index.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

impl Opened {
    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.db
    }
}

impl File {
    /// Opens or makes the file, and brings its schema up to date.
    pub(super) fn open_for_writing(&self) -> Result<Opened, CatalogError> {
        let failed = |error: CatalogError| match error {
            CatalogError::Database(source) => CatalogError::Open {
                url: self.url.clone(),
                source,
            },
            told => told,
        };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| CatalogError::Open {
                url: self.url.clone(),
                source: error.into(),
            })?;
        }
        let mut db = open(&self.path).map_err(|error| failed(error.into()))?;
        db.execute_batch(WRITER_SETTINGS)
            .map_err(|error| failed(error.into()))?;
        self.migrate(&mut db).map_err(failed)?;
        Ok(Opened {
            db,
            identity: self.identity(),
        })
    }

    /// The file in which this one is made again.
    pub(super) fn beside(&self) -> Self {
        let named = |end: &str| format!("{}.rebuild{end}", self.path.display());
        Self {
            url: format!("{}.rebuild", self.url),
            path: named("").into(),
        }
    }

    /// Locks the file against others who would make it; until the lock is dropped.
    pub(super) fn lock(&self) -> Result<std::fs::File, CatalogError> {
        let open_error = |error: std::io::Error| CatalogError::Open {
            url: self.url.clone(),
            source: error.into(),
        };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(open_error)?;
        }
        let path = format!("{}.lock", self.path.display());
        let lock = std::fs::File::create(path).map_err(open_error)?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(_) => Err(CatalogError::Busy("another rebuild is under way".into())),
        }
    }

    /// Removes the file with all that belongs to it.
    pub(super) fn remove(&self) -> Result<(), CatalogError> {
        self.each_part(|part| std::fs::remove_file(part))
    }

    /// Gives the file another name, for whoever wants to know how it was damaged.
    pub(super) fn put_aside(&self) -> Result<(), CatalogError> {
        self.each_part(|part| {
            let mut aside = part.as_os_str().to_owned();
            aside.push(".damaged");
            std::fs::rename(part, aside)
        })
    }

    fn each_part(&self, act: impl Fn(&Path) -> std::io::Result<()>) -> Result<(), CatalogError> {
        for end in PARTS {
            let mut part = self.path.as_os_str().to_owned();
            part.push(end);
            match act(Path::new(&part)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(CatalogError::Open {
                        url: self.url.clone(),
                        source: error.into(),
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn open_for_reading(&self) -> Result<Opened, CatalogError> {
        let opened = self.open_for_writing()?;
        opened.db.pragma_update(None, "query_only", true)?;
        Ok(opened)
    }

    fn identity(&self) -> Option<Identity> {
        let found = std::fs::metadata(&self.path).ok()?;
        Some((found.dev(), found.ino()))
    }

    /// `opened`, if it is what the path names now: another may have been put in its place.
    fn current(&self, opened: Opened) -> Option<Opened> {
        if opened.identity.is_some() && opened.identity == self.identity() {
            return Some(opened);
        }
        // Closing the last connection removes the log by its name, which is the other's by now.
        let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        let _ = opened.db.set_db_config(keep_log, true);
        None
    }

    /// Applies the steps that are missing.
    fn migrate(&self, db: &mut Connection) -> Result<(), CatalogError> {
        // Without a lock first, since others write for as long as they like.
        if self.check_version(db)? == schema_version() {
            return Ok(());
        }
        let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = self.check_version(&step)?;
        if found == 0 && has_tables(&step)? {
            return Err(CatalogError::Corrupt(
                "a database of another program".into(),
            ));
        }
        for missing in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
            step.execute_batch(missing)?;
        }
        step.pragma_update(None, "user_version", schema_version())?;
        step.pragma_update(None, "application_id", APPLICATION_ID)?;
        Ok(step.commit()?)
    }

    /// The schema's version; an error when it is later than ours. A newer program may bring it
    /// up to date at any time, so that each transaction asks.
    fn check_version(&self, db: &Connection) -> Result<i64, CatalogError> {
        let found = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found > schema_version() {
            return Err(CatalogError::Newer {
                url: self.url.clone(),
                found,
                known: schema_version(),
            });
        }
        Ok(found)
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    use_wal(&db)?;
    // FULL makes a commit durable: an agent deletes its spool once the row is in.
    db.execute_batch("pragma synchronous = full; pragma foreign_keys = on;")?;
    Ok(db)
}

/// Two processes that make a catalogue at once both change its journal, for which SQLite does
/// not wait: it gives one of them an error at once, to keep them from waiting for each other.
fn use_wal(db: &Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        match db.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && tries < MAX_WAL_TRIES =>
            {
                tries += 1;
                std::thread::sleep(WAL_PAUSE);
            }
            done => return done,
        }
    }
}

fn schema_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

fn has_tables(db: &Connection) -> rusqlite::Result<bool> {
    db.prepare("select 1 from sqlite_schema")?.exists([])
}

/// Whether a connection may be used again after `error`. One to a file that is damaged is opened
/// anew, so that what was mended is found.
fn keeps(error: Option<&CatalogError>) -> bool {
    let broken = |error| {
        matches!(
            error,
            &CatalogError::Corrupt(_) | &CatalogError::Database(_)
        )
    };
    !error.is_some_and(broken)
}

type Job = Box<dyn FnOnce(&mut Option<Opened>) + Send>;

/// The thread that writes.
pub(super) struct Writer {
    file: File,
    group: Option<Group>,
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    /// Starts the thread; it ends when the writer is dropped. It opens the file when there is
    /// something to write, unless it is `opened` already. With `group_rows`, that many are written
    /// before any is committed.
    pub(super) fn spawn(
        file: File,
        opened: Option<Opened>,
        group_rows: Option<u64>,
    ) -> Result<Self, CatalogError> {
        let (jobs, mut waiting) = mpsc::channel::<Job>(MAX_WAITING_WRITES);
        std::thread::Builder::new()
            .name("catalogue-writer".into())
            .spawn(move || {
                let mut opened = opened;
                while let Some(job) = waiting.blocking_recv() {
                    job(&mut opened);
                }
            })
            .map_err(|error| CatalogError::Database(error.into()))?;
        let group = group_rows.map(|max_rows| Group {
            max_rows,
            committed: Arc::default(),
        });
        Ok(Self { file, group, jobs })
    }

    /// Runs `work` in one immediate transaction, which is undone when it fails. A deferred one
    /// that is upgraded after another process's commit would fail at once, whatever the timeout.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        if let Some(group) = self.group.clone() {
            return self.run_bare(move |db| group.run(db, work)).await;
        }
        let file = self.file.clone();
        self.run_bare(move |db| {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            file.check_version(&transaction)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
        .await
    }

    /// Runs `work` without a transaction.
    pub(super) async fn run_bare<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let (answer, answered) = oneshot::channel();
        let file = self.file.clone();
        let job: Job = Box::new(move |slot| {
            let current = slot.take().and_then(|opened| file.current(opened));
            let done = match current.map_or_else(|| file.open_for_writing(), Ok) {
                Err(error) => Err(error),
                Ok(mut opened) => {
                    let done = work(&mut opened.db);
                    *slot = keeps(done.as_ref().err()).then_some(opened);
                    done
                }
            };
            // Nobody listens when the caller was cancelled; the write stands all the same.
            let _ = answer.send(done);
        });
        let sent = self.jobs.send(job).await;
        sent.map_err(|_| CatalogError::Cancelled)?;
        answered.await.map_err(|_| CatalogError::Cancelled)?
    }
}

/// Writes that are committed together: by someone alone with the file, whom a crash sends back to
/// the start anyway.
#[derive(Clone, Debug)]
struct Group {
    max_rows: u64,
    /// How many rows the connection had changed at the last commit.
    committed: Arc<AtomicU64>,
}

impl Group {
    fn run<T>(
        &self,
        db: &mut Connection,
        work: impl FnOnce(&Connection) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        if db.is_autocommit() {
            db.execute_batch("begin immediate")?;
        }
        // What fails is undone alone when it is dropped.
        let part = db.savepoint()?;
        let done = work(&part)?;
        part.commit()?;
        let rows = db.total_changes();
        if rows.saturating_sub(self.committed.load(Ordering::Relaxed)) >= self.max_rows {
            db.execute_batch("commit")?;
            self.committed.store(rows, Ordering::Relaxed);
        }
        Ok(done)
    }
}

/// Connections that only read.
pub(super) struct Readers {
    file: File,
    permits: Arc<Semaphore>,
    // INVARIANT: no more than MAX_READERS, since each reader holds a permit.
    idle: Arc<Mutex<Vec<Opened>>>,
}

impl Readers {
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            permits: Arc::new(Semaphore::new(MAX_READERS)),
            idle: Arc::default(),
        }
    }

    /// Runs `work` on one snapshot, where blocking is allowed.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| CatalogError::Cancelled)?;
        let (file, idle) = (self.file.clone(), Arc::clone(&self.idle));
        let read = tokio::task::spawn_blocking(move || {
            let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let current = taken.and_then(|opened| file.current(opened));
            let mut opened = current.map_or_else(|| file.open_for_reading(), Ok)?;
            let read = on_snapshot(&file, &mut opened.db, work);
            if keeps(read.as_ref().err()) {
                idle.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(opened);
            }
            drop(permit);
            read
        });
        read.await.map_err(|_| CatalogError::Cancelled)?
    }
}

fn on_snapshot<T>(
    file: &File,
    db: &mut Connection,
    work: impl FnOnce(&Connection) -> Result<T, CatalogError>,
) -> Result<T, CatalogError> {
    let snapshot = db.transaction()?;
    file.check_version(&snapshot)?;
    let read = work(&snapshot)?;
    snapshot.finish()?;
    Ok(read)
}
