use std::fs;

use capture::GapReason;
use index::{
    catalog::State,
    scan::{Scan, find},
    verify::{self, verify},
};

use super::{
    testbed::{Bed, Mood, OBJECT_MS, segment, session, wal},
    *,
};

async fn open(bed: &Bed, folder: &Folder) -> Delivery {
    let position = watch::Sender::new(Position::START);
    Delivery::open(bed.places.clone(), folder.clone(), position)
        .await
        .unwrap()
        .unwrap()
}

async fn scanned(bed: &Bed, n: u8) -> Scan {
    find(&*bed.store, session(n)).await.unwrap().unwrap()
}

/// What became of session 1, of five files of which `damage` was done to one: how many were set
/// aside, and which gaps the record has for it, in seconds.
#[track_caller]
fn check(damage: impl FnOnce(&Folder), aside: &[u64], gaps: &[(u64, u64)]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let bed = Bed::new();
        let (folder, _claim) = bed.session(1);
        for seq in 0..5 {
            fs::write(folder.wal(seq), wal(1, seq)).unwrap();
        }
        damage(&folder);
        let mut delivery = open(&bed, &folder).await;
        let mut set_aside = Vec::new();
        let heard = |file: &SetAside| set_aside.push(file.seq);
        delivery.settle(heard).await.unwrap();
        delivery.end(EndReason::Stopped, false).await.unwrap();
        delivery.end_rows().await.unwrap();
        assert_eq!(set_aside, aside);
        assert!(folder.pending().unwrap().is_empty());

        let scan = scanned(&bed, 1).await;
        let spans: Vec<_> = scan.objects.iter().map(|o| o.body.span()).collect();
        let mut at = MediaTime::ZERO;
        for (seq, span) in (0..).zip(&spans) {
            assert_eq!((span.seq, span.from), (seq, at), "the session has a hole");
            at = span.to;
        }
        let lost = spans.iter().flat_map(|span| &span.gaps);
        let lost = lost.filter(|gap| gap.reason == GapReason::CrashLost);
        let lost: Vec<_> = lost
            .map(|gap| (gap.from.ms() / 1_000, gap.to.ms() / 1_000))
            .collect();
        assert_eq!(lost, gaps);
        let known = verify::Known::default();
        let report = verify(&*bed.store, session(1), &scan.keys, known).await;
        assert_eq!(report.unwrap().faults, []);
    });
}

fn flip(folder: &Folder, seq: u64, at: usize) {
    let mut bytes = fs::read(folder.wal(seq)).unwrap();
    bytes[at] ^= 1;
    fs::write(folder.wal(seq), bytes).unwrap();
}

#[test]
fn whole_files_become_objects() {
    check(|_| {}, &[], &[]);
}

#[test]
fn a_file_with_a_damaged_head_is_a_gap() {
    check(|folder| flip(folder, 2, 12), &[2], &[(120, 180)]);
    check(|folder| flip(folder, 0, 12), &[0], &[(0, 60)]);
}

#[test]
fn a_file_that_is_empty_or_missing_is_a_gap() {
    let empty = |folder: &Folder| fs::write(folder.wal(1), "").unwrap();
    check(empty, &[1], &[(60, 120)]);
    let missing = |folder: &Folder| fs::remove_file(folder.wal(1)).unwrap();
    check(missing, &[1], &[(60, 120)]);
    let two = |folder: &Folder| {
        fs::remove_file(folder.wal(1)).unwrap();
        fs::remove_file(folder.wal(2)).unwrap();
    };
    check(two, &[1, 2], &[(60, 120), (120, 180)]);
}

#[test]
fn a_damaged_last_file_does_not_hold_up_the_end() {
    check(|folder| flip(folder, 4, 12), &[4], &[]);
}

#[test]
fn a_torn_last_file_is_no_damage() {
    let tear = |folder: &Folder| {
        let bytes = fs::read(folder.wal(4)).unwrap();
        fs::write(folder.wal(4), &bytes[..bytes.len() - 3]).unwrap();
    };
    check(tear, &[], &[]);
}

#[tokio::test]
async fn an_object_of_which_the_store_has_another_is_set_aside() {
    let bed = Bed::new();
    let (folder, _claim) = bed.session(1);
    for seq in 0..3 {
        fs::write(folder.wal(seq), wal(1, seq)).unwrap();
    }
    let mut delivery = open(&bed, &folder).await;
    let mut set_aside = Vec::new();
    delivery.next(Ready::All).await.unwrap();
    let taken = delivery.keys.idle(1);
    let other = bytes::Bytes::from_static(b"other");
    bed.store.put_once(&taken, other).await.unwrap();
    // The number is taken by what is no idle record: nothing else can have it either.
    let stuck = delivery
        .settle(|file| set_aside.push(file.why.clone()))
        .await;
    assert!(stuck.is_err());
    assert_eq!(set_aside.len(), 1);
    assert!(
        set_aside[0].contains("exists with other content"),
        "{set_aside:?}"
    );
}

#[tokio::test]
async fn a_file_waits_for_the_one_that_says_where_it_ends() {
    let bed = Bed::new();
    let (folder, _claim) = bed.session(1);
    fs::write(folder.wal(0), "this is no spool file").unwrap();
    let mut delivery = open(&bed, &folder).await;
    let ready = Ready::Below(1);
    assert!(delivery.next(ready).await.unwrap().is_none());
    fs::write(folder.wal(1), wal(1, 1)).unwrap();
    let step = delivery.next(ready).await.unwrap();
    assert!(matches!(step, Some(Step::SetAside(_))), "{step:?}");
    let step = delivery.next(ready).await.unwrap();
    assert!(matches!(step, Some(Step::Stored(_))), "{step:?}");
    assert_eq!(delivery.position().from.ms(), OBJECT_MS);
}

#[tokio::test]
async fn where_a_session_was_left_is_known_without_the_store() {
    let bed = Bed::new();
    let (folder, _claim) = bed.session(1);
    assert_eq!(reached(&folder, Position::START).unwrap(), Position::START);
    for seq in 0..3 {
        fs::write(folder.wal(seq), wal(1, seq)).unwrap();
    }
    fs::write(folder.wal(3), "").unwrap();
    let reached = reached(&folder, Position::START).unwrap();
    assert_eq!((reached.seq, reached.from.ms()), (3, 3 * OBJECT_MS));
    assert_eq!(folder.pending().unwrap(), [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_catalogue_that_is_locked_holds_up_no_object() {
    let (bed, file) = Bed::with_sqlite();
    let (folder, _claim) = bed.session(1);
    for seq in 0..3 {
        fs::write(folder.wal(seq), wal(1, seq)).unwrap();
    }
    let other = rusqlite::Connection::open(file).unwrap();
    other.execute_batch("begin exclusive").unwrap();
    let mut delivery = open(&bed, &folder).await;
    delivery.settle(|_| {}).await.unwrap();
    delivery.end(EndReason::Stopped, false).await.unwrap();
    assert!(delivery.take_row_fault().is_some());
    assert!(delivery.owes_rows());
    assert_eq!(bed.stored(1).len(), 5, "{:?}", bed.stored(1));
    assert_eq!(folder.owed_rows().unwrap(), [0, 1, 2]);
    other.execute_batch("rollback").unwrap();
    drop(other);
    tokio::time::resume();

    // A later process pays as well.
    let mut delivery = open(&bed, &folder).await;
    delivery.end(EndReason::Stopped, false).await.unwrap();
    delivery.end_rows().await.unwrap();
    assert!(folder.owed_rows().unwrap().is_empty());
    let rows = bed.places.catalog.objects(session(1)).await.unwrap();
    assert_eq!(rows.len(), 3);
    assert!(bed.places.catalog.end(session(1)).await.unwrap().is_some());
    let puts = bed.store.puts.lock().unwrap();
    let objects = puts.iter().filter(|(key, _)| key.contains("/idle/"));
    assert!(objects.clone().all(|(_, &times)| times == 1), "{puts:?}");
    assert_eq!(objects.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_never_answers_is_given_up_in_time() {
    let bed = Bed::new();
    let (folder, _claim) = bed.session(1);
    fs::write(folder.wal(0), wal(1, 0)).unwrap();
    let mut delivery = open(&bed, &folder).await;
    bed.store.set(Mood::Hangs);
    let fault = delivery.next(Ready::All).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Silent);
    bed.store.set(Mood::Well);
    assert!(delivery.next(Ready::All).await.unwrap().is_some());
}

/// Sends session 1 as a dead recorder left it: to the end, or until the process dies.
async fn recover(bed: &Bed, folder: &Folder) -> Option<()> {
    let whole = async {
        let mut delivery = open(bed, folder).await;
        delivery.settle(|file| panic!("{file}")).await.unwrap();
        delivery.end(EndReason::Crash, true).await.unwrap();
        delivery.end_rows().await.unwrap();
    };
    bed.life.spent(whole).await
}

/// Between sheet and object, object and read-back, read-back and row, row and spool file: wherever
/// it was killed, the next one finishes the same upload.
#[tokio::test]
async fn an_upload_that_is_killed_at_any_step_is_finished_by_the_next_process() {
    let mut whole = None;
    for steps in 0.. {
        let bed = Bed::new();
        let (folder, _claim) = bed.session(1);
        fs::write(folder.wal(0), segment(1, 0)).unwrap();
        folder.write_sheet(0, b"a sheet").unwrap();
        fs::write(folder.wal(1), wal(1, 1)).unwrap();
        bed.life.lasts((0 < steps).then(|| steps - 1));
        let first = recover(&bed, &folder).await;
        bed.life.lasts(None);
        let objects = || bed.store.objects.lock().unwrap().clone();
        let rows = || bed.catalog.rows.lock().unwrap().clone();
        let (objects_whole, rows_whole) = whole.get_or_insert_with(|| (objects(), rows()));
        if first.is_some() && 0 < steps {
            assert!(20 < steps, "it takes {steps} steps in all");
            return;
        }
        recover(&bed, &folder).await.unwrap();
        assert_eq!(objects(), *objects_whole, "killed at step {steps}");
        assert_eq!(rows(), *rows_whole, "killed at step {steps}");
        assert!(folder.pending().unwrap().is_empty());
        assert!(folder.owed_rows().unwrap().is_empty());
    }
}

/// The server took the recorder for lost, and it was not.
#[tokio::test]
async fn a_session_that_was_noted_as_interrupted_ends_as_its_own_recorder_says() {
    let (bed, _) = Bed::with_sqlite();
    let (store, catalog) = (&*bed.places.store, &*bed.places.catalog);
    let (folder, _claim) = bed.session(1);
    fs::write(folder.wal(0), wal(1, 0)).unwrap();
    let mut delivery = open(&bed, &folder).await;
    delivery.settle(|_| {}).await.unwrap();
    let at = |ms: u64| WallTime::from_unix_ms(1_800_000_000_000 + i64::try_from(ms).unwrap());
    let note = commit::Interrupted {
        format: 1,
        session: session(1),
        n: 1,
        at: at(OBJECT_MS),
    };
    commit::commit_interrupted(store, catalog, &delivery.keys, &note)
        .await
        .unwrap();
    let state = async || {
        let found = catalog.session(session(1), at(9 * OBJECT_MS)).await;
        let found = found.unwrap().unwrap();
        (found.state, found.end)
    };
    assert_eq!(state().await, (State::Interrupted, Some(at(OBJECT_MS))));
    drop(delivery);

    fs::write(folder.wal(1), wal(1, 1)).unwrap();
    recover(&bed, &folder).await.unwrap();
    assert_eq!(state().await, (State::Ended, Some(at(2 * OBJECT_MS))));
    let scan = scanned(&bed, 1).await;
    assert_eq!(scan.interrupted, [(1, at(OBJECT_MS))]);
    let (end, _) = scan.end.unwrap();
    assert_eq!((end.reason, end.recovered), (EndReason::Crash, true));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_answers_slowly_is_never_begun_anew() {
    let bed = Bed::new();
    let (folder, _claim) = bed.session(1);
    for seq in 0..9 {
        fs::write(folder.wal(seq), wal(1, seq)).unwrap();
    }
    open(&bed, &folder).await.settle(|_| {}).await.unwrap();
    fs::write(folder.wal(9), wal(1, 9)).unwrap();
    bed.store.set(Mood::Slow);
    let began = tokio::time::Instant::now();
    let mut delivery = open(&bed, &folder).await;
    let reading = began.elapsed();
    assert!(Duration::from_secs(200) < reading, "{reading:?}");
    assert_eq!(delivery.position().seq, 9);
    let step = delivery.next(Ready::All).await.unwrap();
    assert!(matches!(step, Some(Step::Stored(_))), "{step:?}");
}

/// The store has lost it, or somebody has taken it away.
#[tokio::test]
async fn a_head_that_goes_missing_is_back_at_the_end() {
    let bed = Bed::new();
    let (folder, _claim) = bed.session(1);
    fs::write(folder.wal(0), wal(1, 0)).unwrap();
    let mut delivery = open(&bed, &folder).await;
    delivery
        .settle(|file| unreachable!("{file}"))
        .await
        .unwrap();
    let head = delivery.keys.head();
    assert!(bed.store.objects.lock().unwrap().remove(&head).is_some());
    delivery.end(EndReason::Stopped, false).await.unwrap();
    let (keys, known) = (delivery.keys.clone(), verify::Known::default());
    let report = verify(&*bed.store, session(1), &keys, known).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}
