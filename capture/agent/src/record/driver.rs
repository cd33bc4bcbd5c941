//! Who operates the machine through the recorder: lines of JSON at the Unix socket `--driver`, which
//! only its owner can open (capture.md, "Input: two ways").
//!
//! ```text
//! → {"key":"Return"}                        pressed and released; with "down":true or false only that
//! → {"keys":["Control_L","c"]}              pressed in this order, released in the other
//! → {"text":"Grüße\n"}                      typed; \n is Return, \t is Tab
//! → {"pointer":[640,400]}                   moved there, in pixels of the desktop, and then one of
//!     "click":"left", "count":2             left, middle, right, back or forward; count is 1 if left out
//!     "down":"left" or "up":"left"          to drag
//!     "wheel":[0,3]                         steps to the right and down
//! → {"clipboard":"…"}                       put on the machine's clipboard
//! → {"mark":"secret.begin","text":"…"}      a mark, as the marks listener takes it
//! ← {"ok":true,"t":12345}                   done at that time of the session, in ms
//! ← {"ok":false,"error":"…","field":"key"}  nothing of it was done
//! ```
//! A key is named as X11 names it, without prefix, or is the one character that it types. Each line
//! may have an `"id"`, a number or a short text, which its answer repeats. Lines are done one after
//! the other, each as a whole or not at all, and answered when the record has them and the machine
//! was told; a mark once it is durable. `"recorded":false` stands in the answer where there was no
//! room to record and `--unrecorded fail-open` lets the machine be used all the same.
//!
//! What a connection holds down comes up when it closes. A text goes to the machine at once, which
//! may have its own mind about how fast somebody can type.

mod line;

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use capture::MediaTime;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use self::line::{Line, Order, Wrong};
use super::{
    lines::{Lines, Listener, Stream},
    marks,
};
use crate::wire::{Deed, Done, Undone};

/// More are not taken on until one has gone: an agent, and a person who helps it.
pub(super) const CONNECTIONS_MAX: usize = 4;
/// How long a driver waits for an answer. A child that dies is up again by then.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// What a driver wants of a session.
pub(super) enum Request {
    /// Something is to be done to the machine.
    Operate {
        /// Who asks.
        driver: u64,
        /// What is to be done, in order.
        deeds: Vec<Deed>,
        /// Told what became of it; dropped when that will not be known.
        done: oneshot::Sender<Result<Done, Undone>>,
    },
    /// A driver has gone.
    LetGo {
        /// Who.
        driver: u64,
    },
}

/// Where drivers come in and the session hears of them.
#[derive(Clone)]
pub(crate) struct Hub {
    session: Arc<Mutex<Option<mpsc::Sender<Request>>>>,
    marks: marks::Hub,
}

impl Hub {
    /// A hub without a session; marks go the way of all others.
    pub(crate) fn new(marks: marks::Hub) -> Self {
        Self {
            session: Arc::default(),
            marks,
        }
    }

    /// A session begins: where it will hear of drivers.
    pub(super) fn join(&self) -> mpsc::Receiver<Request> {
        let (ask, asked) = mpsc::channel(CONNECTIONS_MAX);
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(ask);
        asked
    }

    fn session(&self) -> Option<mpsc::Sender<Request>> {
        let session = self.session.lock();
        session.unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn operate(&self, driver: u64, deeds: Vec<Deed>) -> Result<Done, Undone> {
        let session = self.session();
        let session = session.ok_or_else(|| Undone::because(Undone::TOO_EARLY))?;
        let (done, answer) = oneshot::channel();
        let all = async {
            let request = Request::Operate {
                driver,
                deeds,
                done,
            };
            let sent = session.send(request).await;
            sent.map_err(|_| Undone::because("recording has stopped"))?;
            let unknown = "the recorder stopped: it may have been done, or not";
            answer
                .await
                .unwrap_or_else(|_| Err(Undone::because(unknown)))
        };
        let late = "no answer in 30 s: it may have been done, or not";
        timeout(PATIENCE, all)
            .await
            .unwrap_or_else(|_| Err(Undone::because(late)))
    }

    /// Does as `order` says, and gives back what is answered.
    async fn obey(&self, driver: u64, order: Order) -> Result<Value, Wrong> {
        let (deeds, fields): (Vec<Deed>, Vec<&str>) = match order {
            Order::Deeds(deeds) => deeds.into_iter().unzip(),
            Order::Mark(mark) => {
                let told = self.marks.tell(&mark).await;
                let t: Option<MediaTime> = told.map_err(|error| Wrong::with(error, None))?;
                return Ok(
                    t.map_or_else(|| json!({ "ok": true }), |t| json!({ "ok": true, "t": t }))
                );
            }
        };
        match self.operate(driver, deeds).await {
            Ok(Done { t, recorded: true }) => Ok(json!({ "ok": true, "t": t })),
            Ok(Done { t, recorded: false }) => Ok(json!({ "ok": true, "t": t, "recorded": false })),
            Err(Undone { error, deed }) => {
                let field = deed.and_then(|place| fields.get(place).copied());
                Err(Wrong::with(error, field))
            }
        }
    }
}

/// Takes drivers on at `socket` until the program ends.
///
/// # Errors
/// When somebody listens there already, or the socket cannot be made.
pub(crate) fn listen(socket: &Path, hub: &Hub) -> io::Result<()> {
    let listener = Listener::unix(socket)?;
    let (hub, count) = (hub.clone(), AtomicU64::new(0));
    listener.serve(CONNECTIONS_MAX, move |stream| {
        let (hub, driver) = (hub.clone(), count.fetch_add(1, Ordering::Relaxed));
        async move { serve(stream, driver, &hub).await }
    });
    Ok(())
}

/// Obeys one connection until it goes, and lets go of what it holds.
async fn serve(stream: impl Stream, driver: u64, hub: &Hub) -> io::Result<()> {
    let mut lines = Lines::of(stream, line::BYTES_MAX);
    let served = async {
        while let Some(line) = lines.next().await? {
            let Line { id, order } = Line::parse(line);
            let obeyed = match order {
                Ok(order) => hub.obey(driver, order).await,
                Err(wrong) => Err(wrong),
            };
            let mut answer = obeyed.unwrap_or_else(|wrong| wrong.answer());
            if let Some(id) = id {
                answer["id"] = id;
            }
            lines.answer(&answer).await?;
        }
        Ok(())
    };
    let served = served.await;
    if let Some(session) = hub.session() {
        let gone = session.send(Request::LetGo { driver });
        // Whoever does not hear of this within that time is a child that has let go by dying.
        let _ = timeout(PATIENCE, gone).await;
    }
    served
}

#[cfg(test)]
mod tests {
    use capture::{Point, mark::Mark};
    use policy::Policy;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    fn hub() -> Hub {
        Hub::new(marks::Hub::new(&Policy::default()))
    }

    /// What is answered to these lines while `session` answers what it is asked, which comes back.
    async fn answers(
        said: &str,
        session: impl Fn(&[Deed]) -> Option<Result<Done, Undone>>,
    ) -> (Vec<Value>, Vec<Request>) {
        let hub = hub();
        let mut asked = hub.join();
        let (mut client, server) = duplex(64 << 10);
        client.write_all(said.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let mut requests = Vec::new();
        let records = async {
            while let Some(request) = asked.recv().await {
                match request {
                    Request::Operate {
                        driver,
                        deeds,
                        done,
                    } => {
                        if let Some(answer) = session(&deeds) {
                            done.send(answer).unwrap();
                        }
                        let (done, _) = oneshot::channel();
                        requests.push(Request::Operate {
                            driver,
                            deeds,
                            done,
                        });
                    }
                    gone @ Request::LetGo { .. } => {
                        requests.push(gone);
                        return;
                    }
                }
            }
        };
        let (served, ()) = tokio::join!(serve(server, 7, &hub), records);
        served.unwrap();
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        let answers = answers
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        (answers.collect(), requests)
    }

    #[tokio::test]
    async fn lines_are_done_in_order_and_answered_with_their_ids() {
        let said = "{\"key\":\"a\",\"id\":1}\n{\"key\":\"\",\"id\":\"two\"}\n{\"pointer\":[1,2]}\n";
        let (answers, requests) = answers(said, |deeds| {
            let t = MediaTime::from_ms(deeds.len() as u64);
            let recorded = deeds.len() == 2;
            Some(Ok(Done { t, recorded }))
        })
        .await;
        assert_eq!(answers[0], json!({ "ok": true, "t": 2, "id": 1 }));
        assert_eq!(answers[1]["id"], "two");
        assert_eq!(answers[1]["field"], "key");
        assert_eq!(answers[2], json!({ "ok": true, "t": 1, "recorded": false }));
        assert_eq!(requests.len(), 3, "the second was not told to the session");
        let place = Point { x: 1, y: 2 };
        assert!(
            matches!(&requests[1], Request::Operate { deeds, .. } if *deeds == [Deed::Move(place)])
        );
        assert!(matches!(requests[2], Request::LetGo { driver: 7 }));
    }

    #[tokio::test]
    async fn what_cannot_be_done_names_the_field_that_asked_for_it() {
        let said = "{\"pointer\":[1,2],\"click\":\"forward\"}\n{\"text\":\"a\"}\n";
        let (answers, _) = answers(said, |deeds| {
            let deed = (deeds.len() > 1).then_some(1);
            let error = "cannot".to_owned();
            Some(Err(Undone { error, deed }))
        })
        .await;
        let first = json!({ "ok": false, "error": "cannot", "field": "click" });
        assert_eq!(answers[0], first);
        assert_eq!(answers[1], json!({ "ok": false, "error": "cannot" }));
    }

    #[tokio::test]
    async fn a_recorder_that_stops_leaves_no_line_unanswered() {
        let (answers, _) = answers("{\"key\":\"a\"}\n", |_| None).await;
        assert!(
            answers[0]["error"].as_str().unwrap().contains("stopped"),
            "{answers:?}"
        );
        let hub = hub();
        let early = hub.operate(1, Vec::new()).await.unwrap_err();
        assert!(early.error.contains("yet"), "{early:?}");
        drop(hub.join());
        let over = hub.operate(1, Vec::new()).await.unwrap_err();
        assert!(over.error.contains("has stopped"), "{over:?}");
    }

    #[tokio::test]
    async fn marks_go_the_way_of_all_others() {
        let hub = hub();
        let mark = Mark::new(Mark::SECRET_BEGIN.to_owned(), None).unwrap();
        let told = hub.obey(1, Order::Mark(mark)).await;
        assert!(matches!(told, Ok(answer) if answer == json!({ "ok": true })));
        let (open, _told) = hub.marks.join();
        assert!(open.is_open(Mark::SECRET_BEGIN));
    }
}
