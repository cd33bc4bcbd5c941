//! Whatever comes first, the catalogue says the same in the end.

use std::collections::BTreeMap;

use capture::{
    Anchor, MediaTime, SessionId,
    session::{RunContext, SessionHead},
};
use index::{
    Catalog,
    catalog::{CommittedObject, LogObject, ObjectBody, Stored},
    open_catalog,
    row::EventRow,
};
use proptest::prelude::*;
use segment::{
    IdleRecord, Sha256,
    end::{EndBody, ObjectEntry},
    manifest::{FORMAT, Span},
};

use crate::home::{SPAN, TRACE, at, end_body, head, ms};

/// Something that a catalogue is told.
#[derive(Clone, Debug)]
enum Step {
    Head(Box<SessionHead>),
    Object(CommittedObject),
    Interrupted(SessionId, i64),
    End(EndBody),
    Row(usize, Box<EventRow>),
}

impl Step {
    async fn tell(&self, catalog: &dyn Catalog) {
        let stored = Stored::of(b"some bytes");
        match self {
            Self::Head(head) => catalog.put_head(head, stored).await,
            Self::Object(object) => catalog.put_object(object).await,
            Self::Interrupted(id, utc) => catalog.put_interrupted(*id, 1, at(*utc)).await,
            Self::End(end) => catalog.put_end(end, stored).await,
            Self::Row(n, row) => {
                let key = format!("v1/rows/2027/01/15/x/{n:04}.ndjson.zst");
                let rows = std::slice::from_ref(row.as_ref());
                catalog
                    .put_rows(&LogObject { key, stored }, rows)
                    .await
                    .map(drop)
            }
        }
        .unwrap();
    }
}

/// An object of a second with one anchor, `off` ms away from a steady clock.
fn object(head: &SessionHead, seq: u64, off: i64) -> CommittedObject {
    let (from, to) = (ms(seq * 1000), ms(seq * 1000 + 1000));
    let utc = head.start.plus_ms(i64::try_from(seq).unwrap() * 1000 + off);
    let anchor = |t: MediaTime| Anchor {
        t,
        utc,
        error_ms: None,
        step: off != 0,
    };
    let span = Span {
        session: head.id,
        seq,
        run: 1,
        from,
        to,
        prev: Sha256::of(b"the one before"),
        repeats: vec![],
        gaps: vec![],
        anchors: vec![anchor(from)],
        masks: vec![],
        activity: vec![],
        checkpoint: None,
    };
    let key = format!("{}/{seq}", head.id);
    let entry = ObjectEntry {
        key,
        sha256: Sha256::of(b"bytes"),
        bytes: 5,
        from,
        to,
    };
    let body = ObjectBody::Idle(Box::new(IdleRecord {
        format: FORMAT,
        span,
        events: vec![],
    }));
    CommittedObject {
        entry,
        thumb: None,
        body,
    }
}

/// What happens to one session, in its own order.
fn session(n: u8) -> impl Strategy<Value = Vec<Step>> {
    let actor = prop::option::of(prop::sample::select(vec!["ann", "bob"]));
    let run = prop::option::of(prop::sample::select(vec!["r-1", "r-2"]));
    let offsets = prop::collection::vec(prop_oneof![Just(0), -3000..3000i64], 0..4);
    let ends = (any::<bool>(), any::<bool>());
    (actor, run, any::<bool>(), offsets, ends).prop_map(
        move |(actor, run, traced, offsets, ends)| {
            let traceparent = traced.then(|| format!("00-{TRACE}-{SPAN}-01").parse().unwrap());
            let context = RunContext {
                actor: actor.map(str::to_owned),
                run: run.map(str::to_owned),
                traceparent,
                ..RunContext::default()
            };
            let head = head(n, context);
            let mut steps = vec![Step::Head(Box::new(head.clone()))];
            for (seq, off) in (0..).zip(&offsets) {
                steps.push(Step::Object(object(&head, seq, *off)));
            }
            if ends.0 {
                steps.push(Step::Interrupted(head.id, i64::from(n) * 1000 + 1500));
            }
            if ends.1 {
                let duration = offsets.len() as u64 * 1000;
                steps.push(Step::End(end_body(&head, duration, vec![])));
            }
            steps
        },
    )
}

fn event_row(n: usize) -> impl Strategy<Value = Vec<Step>> {
    let one_of = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        prop::option::of(prop::sample::select(words))
    };
    let named = prop::option::weighted(0.3, 0..3u8);
    (
        -1000..8000i64,
        named,
        one_of(&[TRACE, "00000000000000000000000000000007"]),
        one_of(&["r-1", "r-2"]),
        one_of(&["ann", "bob"]),
        0..4usize,
    )
        .prop_map(move |(t, named, trace, run, actor, id)| {
            let id = if id == 0 {
                "same".to_owned()
            } else {
                format!("row-{n}")
            };
            let mut fields: BTreeMap<&str, String> = [
                ("id", id),
                ("time", at(t).to_string()),
                ("text", format!("row {n}")),
            ]
            .into();
            let named = named.map(|n| head(n, RunContext::default()).id.to_string());
            for (name, value) in [
                ("session", named),
                ("trace_id", trace),
                ("run", run),
                ("actor", actor),
            ] {
                fields.extend(value.map(|value| (name, value)));
            }
            let line = serde_json::to_vec(&fields).unwrap();
            let row = index::row::parse(&line, 1).unwrap();
            vec![Step::Row(n, Box::new(row))]
        })
}

/// Three sessions and some rows, each a sequence that keeps its own order.
fn sequences() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let rows: Vec<_> = (0..8).map(event_row).collect();
    (session(0), session(1), session(2), rows).prop_map(|(a, b, c, rows)| {
        let mut sequences = vec![a, b, c];
        sequences.extend(rows);
        sequences
    })
}

async fn told(folder: &std::path::Path, name: &str, steps: &[Step]) -> Dump {
    let catalog = open_catalog(&format!("sqlite://{}/{name}", folder.display())).unwrap();
    catalog.begin_rebuild().await.unwrap(); // no fsync for each write
    for step in steps {
        step.tell(catalog.as_ref()).await;
    }
    catalog.dump().await.unwrap()
}

type Dump = BTreeMap<String, Vec<String>>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn linking_does_not_depend_on_what_came_first(
        sequences in sequences(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let rebuilt: Vec<Step> = sequences.iter().flatten().cloned().collect();
        // The same steps, taken from any sequence that has one left.
        let mut left: Vec<_> = sequences.into_iter().map(Vec::into_iter).collect();
        let mut grown = Vec::new();
        let mut picks = picks.into_iter().cycle();
        while !left.is_empty() {
            let Some(pick) = picks.next() else { break };
            let i = pick.index(left.len());
            match left[i].next() {
                Some(step) => grown.push(step),
                None => drop(left.swap_remove(i)),
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (grown, rebuilt) = runtime.block_on(async {
            let grown = told(folder.path(), "grown.db", &grown).await;
            (grown, told(folder.path(), "rebuilt.db", &rebuilt).await)
        });
        prop_assert_eq!(grown, rebuilt);
    }
}
