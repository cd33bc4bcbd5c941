use std::{fs, io, time::Duration};

use serde_json::Value;
use tokio::task::JoinHandle;

use super::*;
use crate::{
    delivery::testbed::{Bed, Mood, session, wal},
    spool::Claim,
};

const MINUTE: Duration = Duration::from_secs(60);

/// One session's carrier, what it announces, and what it still has to carry.
struct Trip {
    n: u8,
    folder: Folder,
    _claim: Claim,
    said: Said,
    sealed: watch::Sender<u64>,
    orders: mpsc::Sender<Finish>,
    task: JoinHandle<()>,
}

#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Said {
    /// The health states that were announced, in order.
    fn health(&self) -> Vec<String> {
        let said = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = said.lines().map(|line| serde_json::from_str(line).unwrap());
        let health = lines.filter(|line: &Value| line["event"] == "health");
        health
            .map(|line| line["state"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Trip {
    fn start(bed: &Bed, n: u8) -> Self {
        let (folder, claim) = bed.session(n);
        let said = Said::default();
        let announcer = Announcer::to(Box::new(said.clone()), session(n), true);
        let sealed = watch::Sender::new(0);
        let (orders, receiver) = mpsc::channel(1);
        let carrier = Carrier::new(
            bed.places.clone(),
            folder.clone(),
            Arc::new(Mutex::new(announcer)),
            sealed.subscribe(),
            watch::Sender::new(Position::START),
            receiver,
        );
        Self {
            n,
            folder,
            _claim: claim,
            said,
            sealed,
            orders,
            task: tokio::spawn(carrier.carry()),
        }
    }

    fn seal(&self, seq: u64) {
        fs::write(self.folder.wal(seq), wal(self.n, seq)).unwrap();
        self.sealed.send_replace(seq + 1);
    }

    /// Orders the end, and gives what tells how far that is.
    async fn order(&self) -> watch::Receiver<Sent> {
        let (sent, told) = watch::channel(Sent::Partly);
        let reason = EndReason::Stopped;
        self.orders.send(Finish { reason, sent }).await.unwrap();
        told
    }

    async fn finish(self) -> Said {
        let mut sent = self.order().await;
        sent.wait_for(|&sent| sent == Sent::Wholly).await.unwrap();
        self.task.await.unwrap();
        assert!(self.folder.pending().unwrap().is_empty());
        self.said
    }
}

/// A day of faults: each kind for an hour, with an hour without any between.
#[tokio::test(start_paused = true)]
async fn a_day_of_store_faults_loses_nothing_and_tells_each_once() {
    let bed = Bed::new();
    let (one, other) = (Trip::start(&bed, 1), Trip::start(&bed, 2));
    let moods = [
        Mood::Refuses,
        Mood::Fails,
        Mood::Slow,
        Mood::Hangs,
        Mood::Lies,
        Mood::LosesAnswers,
    ];
    let mut told_before = [0, 0];
    let mut outages = Vec::new();
    for minute in 0..24 * 60 {
        let hour = minute / 60;
        let mood = match hour % 4 {
            1 => moods[hour / 4 % moods.len()],
            _ => Mood::Well,
        };
        if minute % 60 == 0 {
            bed.store.set(mood);
        }
        if minute % 10 == 0 {
            let seq = u64::try_from(minute / 10).unwrap();
            one.seal(seq);
            other.seal(seq);
        }
        tokio::time::sleep(MINUTE).await;
        if minute % 240 == 239 {
            let told = [&one, &other].map(|trip| trip.said.health());
            outages.push([0, 1].map(|n| told[n][told_before[n]..].join(" ")));
            told_before = told.map(|told| told.len());
        }
    }
    let outage = "store-unavailable store-available";
    outages[5].sort(); // one answer is lost, of either session
    let [both, none] = [outage, ""].map(|told| [told, told]);
    assert_eq!(outages, [both, both, none, both, both, ["", outage]]);
    let held = bed
        .store
        .held_bytes_max
        .load(std::sync::atomic::Ordering::SeqCst);
    assert!(held < 2 * 1024, "{held} bytes were held at once");
    one.finish().await;
    other.finish().await;
    for n in [1, 2] {
        let stored = bed.stored(n);
        assert_eq!(stored.len(), 144 + 2, "{stored:?}");
    }
}

/// An hour without the store, with a catalogue that is well.
#[tokio::test(start_paused = true)]
async fn a_session_is_finished_when_the_store_is_back() {
    let bed = Bed::new();
    let trip = Trip::start(&bed, 1);
    bed.store.set(Mood::Refuses);
    for seq in 0..60 {
        trip.seal(seq);
        tokio::time::sleep(MINUTE).await;
    }
    assert_eq!(trip.folder.pending().unwrap().len(), 60);
    bed.store.set(Mood::Well);
    let said = trip.finish().await;
    assert_eq!(bed.stored(1).len(), 62);
    assert_eq!(said.health(), ["store-unavailable"]);
}

#[tokio::test(start_paused = true)]
async fn a_catalogue_that_is_away_holds_up_no_object_and_is_told_all() {
    let bed = Bed::new();
    let trip = Trip::start(&bed, 1);
    *bed.catalog.away.lock().unwrap() = true;
    for seq in 0..60 {
        trip.seal(seq);
        tokio::time::sleep(MINUTE).await;
    }
    assert_eq!(bed.stored(1).len(), 61);
    *bed.catalog.away.lock().unwrap() = false;
    tokio::time::sleep(MINUTE * 3).await;
    let folder = trip.folder.clone();
    assert!(folder.owed_rows().unwrap().is_empty());
    let said = trip.finish().await;
    assert_eq!(said.health(), ["catalog-unavailable", "catalog-available"]);
    assert_eq!(bed.catalog.rows.lock().unwrap().len(), 62);
    let puts = bed.store.puts.lock().unwrap();
    assert!(puts.values().all(|&times| times == 1), "{puts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_only_the_catalogue_lacks_is_told_to_be_stored() {
    let bed = Bed::new();
    let trip = Trip::start(&bed, 1);
    *bed.catalog.away.lock().unwrap() = true;
    trip.seal(0);
    let mut sent = trip.order().await;
    sent.wait_for(|&sent| sent == Sent::Stored).await.unwrap();
    assert_eq!(bed.stored(1).len(), 3);
    *bed.catalog.away.lock().unwrap() = false;
    sent.wait_for(|&sent| sent == Sent::Wholly).await.unwrap();
    assert_eq!(bed.catalog.rows.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn one_damaged_file_among_fifty_is_set_aside_with_one_word() {
    let bed = Bed::new();
    let trip = Trip::start(&bed, 1);
    for seq in 0..51 {
        trip.seal(seq);
        if seq == 25 {
            fs::write(trip.folder.wal(seq), "this is no spool file").unwrap();
        }
    }
    let said = trip.finish().await;
    assert_eq!(said.health(), ["spool-damaged"]);
    assert_eq!(bed.stored(1).len(), 51 + 2);
    let aside = bed.spool().join("set-aside").join(session(1).to_string());
    assert_eq!(
        fs::read(aside.join("00000025.wal")).unwrap(),
        b"this is no spool file"
    );
}
