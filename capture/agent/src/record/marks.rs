//! Marks reach every session that is recorded, and those that will be: who may tell them, and what
//! is answered.

mod listener;

use std::sync::{Arc, Mutex, PoisonError};

use capture::{MediaTime, event::Origin, mark::Mark};
use policy::{Keeper, Marks, Policy};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

pub(crate) use listener::{Address, listen};

/// Marks under way to one session: one for each connection that tells them.
const UNDER_WAY_MAX: usize = listener::CONNECTIONS_MAX;
/// How long who told a mark waits for it to be in force. A child that dies is up again by then.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// A mark on its way into a session, and where its time is awaited.
pub(super) struct Request {
    /// The mark.
    pub(super) mark: Mark,
    /// Told when it is in force and durable; dropped when it never will be.
    pub(super) marked: oneshot::Sender<MediaTime>,
}

/// Where marks come in and sessions wait for them.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Mutex<State>>);

struct State {
    /// Knows which marks are open, for the sessions that begin later.
    keeper: Keeper,
    sessions: Vec<mpsc::Sender<Request>>,
}

/// Why a mark is not in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TellError {
    #[error("the recorder stopped before the mark was in force; tell it again")]
    Stopped,
    #[error("the mark is not in force after {} s; tell it again", PATIENCE.as_secs())]
    Late,
}

impl Hub {
    /// A hub in which no mark is open.
    pub(crate) fn new(policy: &Policy) -> Self {
        Self(Arc::new(Mutex::new(State {
            keeper: Keeper::new(policy, [0; 32], Marks::default()),
            sessions: Vec::new(),
        })))
    }

    /// A session begins: the marks that are open, and where it will hear of others.
    pub(super) fn join(&self) -> (Marks, mpsc::Receiver<Request>) {
        let (tell, told) = mpsc::channel(UNDER_WAY_MAX);
        let mut state = self.state();
        state.sessions.retain(|session| !session.is_closed());
        state.sessions.push(tell);
        (state.keeper.marks().clone(), told)
    }

    /// Tells `mark` to every session and waits until it is in force in each. The answer is its
    /// time in the one that began first; `None` when nothing is recorded now.
    pub(super) async fn tell(&self, mark: &Mark) -> Result<Option<MediaTime>, TellError> {
        let sessions = {
            let mut state = self.state();
            let mut ignored = Vec::new();
            let (t, origin) = (MediaTime::ZERO, Origin::Driver);
            state.keeper.mark(t, origin, mark, &mut ignored);
            state.sessions.retain(|session| !session.is_closed());
            state.sessions.clone()
        };
        let mut first = None;
        for session in sessions {
            let (marked, in_force) = oneshot::channel();
            let mark = mark.clone();
            let all = async {
                session.send(Request { mark, marked }).await.ok()?;
                in_force.await.ok()
            };
            match timeout(PATIENCE, all).await {
                Ok(Some(t)) => first = first.or(Some(t)),
                // A session that has ended shows nothing any more.
                Ok(None) if session.is_closed() => {}
                Ok(None) => return Err(TellError::Stopped),
                Err(_) => return Err(TellError::Late),
            }
        }
        Ok(first)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub() -> Hub {
        Hub::new(&Policy::default())
    }

    fn begin() -> Mark {
        Mark::new(Mark::SECRET_BEGIN.to_owned(), None).unwrap()
    }

    /// Puts the next mark in force at `t_ms`.
    async fn mark(told: &mut mpsc::Receiver<Request>, t_ms: u64) {
        let request = told.recv().await.unwrap();
        assert_eq!(request.mark, begin());
        request.marked.send(MediaTime::from_ms(t_ms)).unwrap();
    }

    #[tokio::test]
    async fn a_mark_is_in_force_once_every_session_has_it() {
        let hub = hub();
        let ((_, mut first), (_, mut second)) = (hub.join(), hub.join());
        let sessions = async {
            mark(&mut first, 7).await;
            mark(&mut second, 3).await;
        };
        let mark = begin();
        let (told, ()) = tokio::join!(hub.tell(&mark), sessions);
        assert_eq!(told, Ok(Some(MediaTime::from_ms(7))));
    }

    #[tokio::test]
    async fn a_session_that_begins_later_knows_what_is_open() {
        let hub = hub();
        assert_eq!(hub.tell(&begin()).await, Ok(None));
        let (open, _told) = hub.join();
        assert!(open.is_open(Mark::SECRET_BEGIN));
    }

    #[tokio::test]
    async fn a_recorder_that_stops_puts_nothing_in_force() {
        let hub = hub();
        let (_, mut told) = hub.join();
        let mark = begin();
        let dies = async { drop(told.recv().await.unwrap().marked) };
        let (answer, ()) = tokio::join!(hub.tell(&mark), dies);
        assert_eq!(answer, Err(TellError::Stopped));
        drop(told);
        assert_eq!(
            hub.tell(&mark).await,
            Ok(None),
            "an ended session shows nothing"
        );
    }
}
