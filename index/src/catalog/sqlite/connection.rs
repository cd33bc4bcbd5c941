//! How connections are opened, and who may use them: one writer thread, a few readers.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::super::CatalogError;

/// The schema, one step for each version. Steps are never edited once released.
const MIGRATIONS: [&str; 1] = [include_str!("schema.sql")];
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

/// Opens or makes the file at `path`, and brings its schema up to date.
pub(super) fn open_for_writing(url: &str, path: &Path) -> Result<Connection, CatalogError> {
    let open_error = |source: Box<dyn std::error::Error + Send + Sync>| CatalogError::Open {
        url: url.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| open_error(error.into()))?;
    }
    let mut db = open(path).map_err(|error| open_error(error.into()))?;
    db.execute_batch(WRITER_SETTINGS)
        .map_err(|error| open_error(error.into()))?;
    let newer = migrate(&mut db).map_err(|error| open_error(error.into()))?;
    match newer {
        None => Ok(db),
        Some(found) => Err(CatalogError::Newer {
            url: url.to_owned(),
            found,
            known: schema_version(),
        }),
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

/// Applies the steps that are missing. Gives the file's version when it is a later one.
fn migrate(db: &mut Connection) -> rusqlite::Result<Option<i64>> {
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = step.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > schema_version() {
        return Ok(Some(found));
    }
    for missing in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        step.execute_batch(missing)?;
    }
    step.pragma_update(None, "user_version", schema_version())?;
    step.pragma_update(None, "application_id", APPLICATION_ID)?;
    step.commit()?;
    Ok(None)
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The thread that writes.
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    /// Starts the thread; it ends when the writer is dropped.
    pub(super) fn spawn(mut db: Connection) -> Result<Self, CatalogError> {
        let (jobs, mut waiting) = mpsc::channel::<Job>(MAX_WAITING_WRITES);
        std::thread::Builder::new()
            .name("catalogue-writer".into())
            .spawn(move || {
                while let Some(job) = waiting.blocking_recv() {
                    job(&mut db);
                }
            })
            .map_err(|error| CatalogError::Database(error.into()))?;
        Ok(Self { jobs })
    }

    /// Runs `work` in one immediate transaction, which is undone when it fails. A deferred one
    /// that is upgraded after another process's commit would fail at once, whatever the timeout.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        self.run_bare(move |db| {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
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
        let job: Job = Box::new(move |db| {
            // Nobody listens when the caller was cancelled; the write stands all the same.
            let _ = answer.send(work(db));
        });
        let sent = self.jobs.send(job).await;
        sent.map_err(|_| CatalogError::Cancelled)?;
        answered.await.map_err(|_| CatalogError::Cancelled)?
    }
}

/// Connections that only read.
pub(super) struct Readers {
    path: PathBuf,
    permits: Arc<Semaphore>,
    // INVARIANT: no more than MAX_READERS, since each reader holds a permit.
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
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
        let (path, idle) = (self.path.clone(), Arc::clone(&self.idle));
        let read = tokio::task::spawn_blocking(move || {
            let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut db = match taken {
                Some(db) => db,
                None => open_for_reading(&path)?,
            };
            let snapshot = db.transaction()?;
            let read = work(&snapshot);
            snapshot.finish()?;
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            drop(permit);
            read
        });
        read.await.map_err(|_| CatalogError::Cancelled)?
    }
}

fn open_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let db = open(path)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}
