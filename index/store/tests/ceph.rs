//! The S3 store passes the suite on Ceph, whose gateway checks signatures, and loses nothing when
//! a part of the cluster dies. `make test-ceph` starts the cluster and names it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says how it went"
)]

mod service;

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use service::Service;
use store::probe;
use tokio::{task::JoinSet, time::sleep};

/// Uploads, each of 256 KiB, half of them into a bucket with versions, and how many at a time.
const UPLOADS: u32 = 240;
const AT_A_TIME: u32 = 8;
/// An OSD is killed when so many are done.
const KILL_AFTER: u32 = 60;
/// The wait between tries, and how many there are: the cluster heals within seconds.
const PAUSE: Duration = Duration::from_secs(1);
const TRIES: u32 = 120;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run make test-ceph"))
}

#[tokio::test]
#[ignore = "starts no cluster by itself: run make test-ceph"]
async fn a_cluster_keeps_every_promise_and_survives_a_killed_osd() {
    let mut service = Service {
        endpoint: variable("PLAYHEAD_CEPH"),
        id: "test",
        secret: "wrong",
    };
    let refused = probe(&*service.open("plain")).await.unwrap_err();
    assert!(
        refused.to_string().contains("AWS_SECRET_ACCESS_KEY"),
        "{refused}"
    );
    service.id = "unknown";
    let refused = probe(&*service.open("plain")).await.unwrap_err();
    assert!(
        refused.to_string().contains("AWS_ACCESS_KEY_ID"),
        "{refused}"
    );

    (service.id, service.secret) = ("test", "testsecret");
    service::every_promise_is_kept(&service).await;
    nothing_is_lost_with_an_osd(&service).await;
}

async fn nothing_is_lost_with_an_osd(service: &Service) {
    let stores = ["plain/uploads", "locked/uploads"].map(|place| service.open(place));
    let store = |n: u32| Arc::clone(&stores[usize::from(n % 2 == 1)]);
    let body = |n: u32| Bytes::from(n.to_be_bytes().repeat(65_536));
    let failed = Arc::new(AtomicU32::new(0));
    let mut uploads = JoinSet::new();
    let mut done = 0;
    let mut osd = Some(variable("PLAYHEAD_CEPH_OSD"));
    for n in 0..UPLOADS {
        let (store, failed) = (store(n), Arc::clone(&failed));
        uploads.spawn(async move {
            for _ in 0..TRIES {
                match store.put_once(&format!("{n:03}"), body(n)).await {
                    Ok(()) => return,
                    Err(error) => println!("upload {n}: {error}"),
                }
                failed.fetch_add(1, Ordering::SeqCst);
                sleep(PAUSE).await;
            }
            panic!("upload {n} was never accepted");
        });
        if AT_A_TIME <= n {
            uploads.join_next().await.unwrap().unwrap();
            done += 1;
        }
        if let Some(osd) = osd.take_if(|_| done == KILL_AFTER) {
            let killed = Command::new("kill").args(["-9", &osd]).status().unwrap();
            assert!(killed.success());
            println!("killed OSD {osd} after {KILL_AFTER} uploads");
        }
    }
    while let Some(upload) = uploads.join_next().await {
        upload.unwrap();
    }
    let mut listed = 0;
    for store in &stores {
        listed += store.list("", None, 1000).await.unwrap().len();
    }
    assert_eq!(listed, usize::try_from(UPLOADS).unwrap());
    for n in 0..UPLOADS {
        let read = store(n).get(&format!("{n:03}")).await.unwrap();
        assert_eq!(read, body(n), "{n}");
    }
    let failed = failed.load(Ordering::SeqCst);
    println!("{UPLOADS} uploads stored and read back; {failed} tries failed meanwhile");
}
