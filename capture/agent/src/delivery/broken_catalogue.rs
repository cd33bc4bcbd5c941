//! Is a session delivered whatever state the catalogue is in when the recorder starts, and known
//! to it once that is mended?

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use index::catalog::State;
use rusqlite::Connection;

use super::{
    testbed::{Bed, session, wal},
    *,
};

/// Delivers a session of two objects beside the catalogue at `file`, which `told` is said of, and
/// flushes what is owed to it when `mend` has mended it.
async fn check(file: &Path, told: &str, mend: impl FnOnce()) {
    let bed = Bed::new();
    let options = cli::Places {
        store: format!("file://{}", bed.dir.path().join("store").display()),
        catalog: format!("sqlite://{}", file.display()),
        spool: bed.spool(),
    };
    let (folder, _claim) = bed.session(1);
    for seq in 0..2 {
        fs::write(folder.wal(seq), wal(1, seq)).unwrap();
    }
    let position = watch::Sender::new(Position::START);
    let places = Places::open(&options).await.unwrap();
    let opened = Delivery::open(places.clone(), folder.clone(), position).await;
    let mut delivery = opened.unwrap().unwrap();
    let fault = delivery.take_row_fault().unwrap();
    let said = format!("{:#}", fault.cause);
    assert!(said.contains(told), "{said}");

    delivery
        .settle(|file| unreachable!("{file}"))
        .await
        .unwrap();
    delivery.end(EndReason::Stopped, false).await.unwrap();
    assert!(folder.pending().unwrap().is_empty());
    assert_eq!(folder.owed_rows().unwrap(), [0, 1]);
    drop(delivery);

    mend();
    let position = watch::Sender::new(Position::START);
    let opened = Delivery::open(places.clone(), folder.clone(), position).await;
    let mut delivery = opened.unwrap().unwrap();
    delivery.end(EndReason::Stopped, false).await.unwrap();
    delivery.end_rows().await.unwrap();
    assert!(folder.owed_rows().unwrap().is_empty());
    let known = places
        .catalog
        .session(session(1), WallTime::from_unix_ms(0));
    assert_eq!(known.await.unwrap().unwrap().state, State::Ended);
}

/// A folder, and the place of a catalogue in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("catalog.db");
    (dir, file)
}

/// A catalogue at `file`, made by this build, and a connection to it.
async fn made(file: &Path) -> Connection {
    let catalog = index::open_catalog(&format!("sqlite://{}", file.display())).unwrap();
    catalog.probe().await.unwrap();
    Connection::open(file).unwrap()
}

#[tokio::test]
async fn one_that_another_process_holds() {
    let (_dir, file) = place();
    let other = made(&file).await;
    other.execute_batch("begin immediate").unwrap();
    let mend = || other.execute_batch("rollback").unwrap();
    check(&file, "another process holds the catalogue", mend).await;
}

#[tokio::test]
async fn one_of_a_later_version() {
    let (_dir, file) = place();
    let other = made(&file).await;
    let version = |version: i64| other.pragma_update(None, "user_version", version).unwrap();
    let ours: i64 = other
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    version(99);
    check(&file, "has schema 99", || version(ours)).await;
}

#[tokio::test]
async fn a_file_that_is_none() {
    let (_dir, file) = place();
    fs::write(&file, vec![b'x'; 8192]).unwrap();
    let mend = || fs::remove_file(&file).unwrap();
    check(&file, "is damaged or is no catalogue", mend).await;
}

#[tokio::test]
async fn one_whose_folder_cannot_be_made() {
    let (dir, _) = place();
    let taken = dir.path().join("file");
    fs::write(&taken, "").unwrap();
    let file = taken.join("catalog.db");
    check(&file, "cannot open catalogue", || {
        fs::remove_file(&taken).unwrap();
    })
    .await;
}

#[tokio::test]
async fn one_whose_folder_is_missing_is_made() {
    let (dir, _) = place();
    let file = dir.path().join("some/where/catalog.db");
    let catalog = index::open_catalog_later(&format!("sqlite://{}", file.display())).unwrap();
    catalog.probe().await.unwrap();
    assert!(file.exists());
}

#[tokio::test]
async fn one_on_a_full_disk() {
    let (dir, _) = place();
    let Some(disk) = Disk::mount(dir.path()) else {
        println!("not shown: this user may mount nothing");
        return;
    };
    let ballast = disk.0.join("ballast");
    let full = fs::write(&ballast, vec![0; Disk::BYTES * 2]);
    assert!(full.is_err(), "the disk takes more than it has");
    let file = disk.0.join("catalog.db");
    check(&file, "no space", || fs::remove_file(&ballast).unwrap()).await;
}

/// A small file system of its own, until it is dropped.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    const BYTES: usize = 4 << 20;

    fn mount(at: &'a Path) -> Option<Self> {
        let size = format!("size={}", Self::BYTES);
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(at)
            .status();
        mount.is_ok_and(|status| status.success()).then(|| Self(at))
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}
