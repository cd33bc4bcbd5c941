//! Which session does a row belong to? A pure function of the row and the sessions, so that a
//! rebuilt catalogue links every row as before (api.md, "Event rows").
//!
//! A row that names its session belongs there and nowhere else. Another belongs to the one
//! session that its trace, else its run, else its actor points to and that was going on at its
//! time. Two such sessions are no answer: a wrong frame is worse evidence than none.

use capture::WallTime;

use crate::row::EventRow;

/// A session that a row may belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate<K> {
    /// The session.
    pub session: K,
    /// What points from the row to it.
    pub tie: Tie,
    /// When it began.
    pub start: WallTime,
    /// When it ended; `None` while it goes on.
    pub until: Option<WallTime>,
    /// The run its head names.
    pub run: Option<String>,
    /// The actor its head names.
    pub actor: Option<String>,
}

/// What points from a row to a session, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tie {
    /// The session's head, or a row that names the session, has the row's trace.
    Trace,
    /// The session's head has the row's run.
    Run,
    /// The session's head has the row's actor.
    Actor,
}

impl Tie {
    /// Every tie, strongest first.
    pub const ALL: [Self; 3] = [Self::Trace, Self::Run, Self::Actor];
}

/// The session that a row without a `session` belongs to, among everything its ties point to.
#[must_use]
pub fn choose<K: Copy>(row: &EventRow, candidates: &[Candidate<K>]) -> Option<K> {
    let stage = |tie| {
        let possible = move |candidate: &&Candidate<K>| {
            candidate.tie == tie && covers(candidate, row.time) && !contradicts(candidate, row)
        };
        candidates.iter().filter(possible)
    };
    let tie = Tie::ALL
        .into_iter()
        .find(|&tie| stage(tie).next().is_some())?;
    // A trace may pass through several machines at once; then the actor tells them apart.
    let same_actor = || {
        let has_actor = |c: &&Candidate<K>| row.actor.is_some() && c.actor == row.actor;
        only(stage(tie).filter(has_actor))
    };
    only(stage(tie)).or_else(same_actor)
}

fn covers<K>(candidate: &Candidate<K>, time: WallTime) -> bool {
    candidate.start <= time && candidate.until.is_none_or(|until| time < until)
}

/// A session of another run is not the row's, whatever else agrees.
fn contradicts<K>(candidate: &Candidate<K>, row: &EventRow) -> bool {
    matches!((&candidate.run, &row.run), (Some(a), Some(b)) if a != b)
}

fn only<'a, K: Copy + 'a>(mut found: impl Iterator<Item = &'a Candidate<K>>) -> Option<K> {
    let first = found.next()?.session;
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fields: &str) -> EventRow {
        let line = format!(r#"{{"time":"2026-11-30T09:00:10Z","text":"x"{fields}}}"#);
        crate::row::parse(line.as_bytes(), 1).unwrap()
    }

    /// A session that began `start_s` and ended `until_s` seconds after 09:00.
    fn session(n: u32, tie: Tie, start_s: i64, until_s: Option<i64>) -> Candidate<u32> {
        let nine: WallTime = "2026-11-30T09:00:00Z".parse().unwrap();
        Candidate {
            session: n,
            tie,
            start: nine.plus_ms(start_s * 1000),
            until: until_s.map(|s| nine.plus_ms(s * 1000)),
            run: None,
            actor: None,
        }
    }

    fn check(fields: &str, candidates: &[Candidate<u32>], chosen: Option<u32>) {
        assert_eq!(choose(&row(fields), candidates), chosen, "{candidates:?}");
    }

    #[test]
    fn the_strongest_tie_that_covers_the_time_decides() {
        let actor = session(1, Tie::Actor, 0, None);
        let run = session(2, Tie::Run, 0, None);
        let trace = session(3, Tie::Trace, 0, Some(20));
        check("", &[actor.clone(), run.clone(), trace.clone()], Some(3));
        let over = session(3, Tie::Trace, 0, Some(10));
        check("", &[actor.clone(), run, over], Some(2));
        check("", &[actor, session(4, Tie::Trace, 11, None)], Some(1));
        check("", &[], None);
    }

    #[test]
    fn two_sessions_at_once_are_no_answer() {
        let (a, b) = (
            session(1, Tie::Actor, 0, None),
            session(2, Tie::Actor, 5, None),
        );
        check("", &[a.clone(), b], None);
        check("", &[a, session(2, Tie::Actor, 0, Some(9))], Some(1));
    }

    #[test]
    fn the_actor_tells_two_machines_of_one_trace_apart() {
        let on = |n, actor: &str| Candidate {
            actor: Some(actor.into()),
            ..session(n, Tie::Trace, 0, None)
        };
        check(r#","actor":"b""#, &[on(1, "a"), on(2, "b")], Some(2));
        check("", &[on(1, "a"), on(2, "b")], None);
    }

    #[test]
    fn a_session_of_another_run_is_never_the_rows() {
        let other = Candidate {
            run: Some("r-2".into()),
            ..session(1, Tie::Actor, 0, None)
        };
        check(r#","run":"r-1""#, std::slice::from_ref(&other), None);
        check("", &[other], Some(1));
    }
}
