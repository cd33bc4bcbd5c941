//! A session is sound, or the object that is wrong is named.

use std::{fs, path::PathBuf};

use capture::session::{RunContext, SessionHead};
use index::{
    catalog::Stored,
    verify::{FaultKind, Known, Report, verify},
};
use segment::key::SessionKeys;

use crate::home::{Home, eight_seconds, head};

struct Recorded {
    home: Home,
    head: SessionHead,
    end: Option<Stored>,
}

impl Recorded {
    async fn new(end: Option<u64>) -> Self {
        let (home, head) = (Home::new(), head(0, RunContext::default()));
        home.record(&head, eight_seconds(&head), end).await;
        let end = home.catalog.end(head.id).await.unwrap();
        Self { home, head, end }
    }

    fn path(&self, name: &str) -> PathBuf {
        let keys = SessionKeys::new(self.head.id, self.head.start);
        self.home
            .folder
            .path()
            .join("store")
            .join(keys.prefix())
            .join(name)
    }

    async fn verify(&self, known: Known) -> Report {
        let keys = SessionKeys::new(self.head.id, self.head.start);
        verify(self.home.store.as_ref(), self.head.id, &keys, known)
            .await
            .unwrap()
    }
}

const OBJECTS: [&str; 7] = [
    "session.json",
    "thumb/00000000.jpg",
    "segment/00000000.mp4",
    "idle/00000001.json.zst",
    "segment/00000002.mp4",
    "idle/00000003.json.zst",
    "end.json",
];

/// Damages a fresh session and checks which object is blamed for what.
async fn check(damage: impl Fn(&Recorded), object: &str, kind: FaultKind) {
    let recorded = Recorded::new(Some(8000)).await;
    damage(&recorded);
    let end = recorded.end;
    let report = recorded
        .verify(Known {
            end,
            ..Known::default()
        })
        .await;
    let blamed =
        |fault: &index::verify::Fault| fault.object.ends_with(object) && fault.kind == kind;
    assert!(
        report.faults.iter().any(blamed),
        "{object} {kind:?}: {report:#?}"
    );
}

#[tokio::test]
async fn an_untouched_session_is_sound() {
    let recorded = Recorded::new(Some(8000)).await;
    let report = recorded.verify(Known::default()).await;
    assert_eq!(report.faults, []);
    assert!(report.complete && report.is_sound());
    assert_eq!(report.objects, 7);
}

#[tokio::test]
async fn every_flipped_object_is_named() {
    for object in OBJECTS {
        for part in [0.1, 0.5, 0.99] {
            let flip = |recorded: &Recorded| {
                let path = recorded.path(object);
                let mut bytes = fs::read(&path).unwrap();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss,
                    reason = "a place in a small file"
                )]
                let place = (bytes.len() as f64 * part) as usize;
                bytes[place] ^= 1;
                fs::write(path, bytes).unwrap();
            };
            check(flip, object, FaultKind::Changed).await;
        }
    }
}

#[tokio::test]
async fn every_missing_object_is_named() {
    for object in OBJECTS {
        let remove = |recorded: &Recorded| fs::remove_file(recorded.path(object)).unwrap();
        check(remove, object, FaultKind::Missing).await;
    }
}

#[tokio::test]
async fn every_truncated_object_is_named() {
    for object in &OBJECTS[..6] {
        let cut = |recorded: &Recorded| {
            let path = recorded.path(object);
            let bytes = fs::read(&path).unwrap();
            fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
        };
        check(cut, object, FaultKind::Truncated).await;
    }
}

#[tokio::test]
async fn two_objects_in_each_others_place_are_both_named() {
    let (a, b) = ("segment/00000000.mp4", "segment/00000002.mp4");
    let swap = |recorded: &Recorded| {
        let (a, b) = (recorded.path(a), recorded.path(b));
        let (bytes_a, bytes_b) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
        fs::write(a, bytes_b).unwrap();
        fs::write(b, bytes_a).unwrap();
    };
    check(swap, a, FaultKind::Swapped).await;
    check(swap, b, FaultKind::Swapped).await;
}

#[tokio::test]
async fn an_object_that_was_added_is_named() {
    let repeat = |recorded: &Recorded| {
        let from = recorded.path("segment/00000002.mp4");
        fs::copy(from, recorded.path("segment/00000004.mp4")).unwrap();
    };
    check(repeat, "segment/00000004.mp4", FaultKind::Unlisted).await;
}

#[tokio::test]
async fn an_end_record_that_was_rewritten_is_named() {
    let rewrite = |recorded: &Recorded| {
        let path = recorded.path("end.json");
        let text = fs::read_to_string(&path).unwrap();
        let later = text.replace("stopped", "crash");
        assert_ne!(text, later);
        fs::write(path, later).unwrap();
    };
    check(rewrite, "end.json", FaultKind::Changed).await;
}

#[tokio::test]
async fn a_live_session_is_incomplete_and_sound_and_a_dead_one_is_not() {
    let recorded = Recorded::new(None).await;
    let live = Known {
        live: true,
        ..Known::default()
    };
    let report = recorded.verify(live).await;
    assert!(report.is_sound() && !report.complete, "{report:#?}");
    let report = recorded.verify(Known::default()).await;
    assert_eq!(report.faults.len(), 1);
    assert_eq!(report.faults[0].kind, FaultKind::NoEnd);
}

#[tokio::test]
async fn a_live_sessions_chain_shows_what_was_touched() {
    for object in &OBJECTS[..5] {
        let recorded = Recorded::new(None).await;
        let path = recorded.path(object);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
        let report = recorded
            .verify(Known {
                live: true,
                ..Known::default()
            })
            .await;
        let blamed = report
            .faults
            .iter()
            .any(|fault| fault.object.ends_with(object));
        assert!(blamed, "{object}: {report:#?}");
    }
}
