//! What is recorded beside the picture: input, clipboard and marks, as far as the policy lets it be
//! kept (redaction.md).

use std::collections::VecDeque;

use anyhow::Context as _;
use capture::{
    MediaTime,
    event::{Event, Origin},
    input::{Clipboard, Input},
    mark::Mark,
};
use encoder::Output;
use policy::{Keeper, Marks, Policy};
use segment::Record;

use super::Recording;
use crate::{
    child::{
        health::State,
        inbox::{Act, Departure, StopCause},
        unseen::Witnesses,
    },
    clock::{self, BootTime},
    spool::{Folder, is_out_of_room},
    wire::{Done, Report, Spec, Undone},
};

/// All who are seen to operate the machine.
pub(in crate::child) const EVERYBODY: [Origin; 3] = [Origin::Wire, Origin::Guest, Origin::Driver];

/// Decides what is kept, and knows which marks still have to be answered.
pub(super) struct Beside {
    keeper: Keeper,
    /// Where both the recorder and the machine's display tell of input.
    witnesses: Option<Witnesses>,
    /// What the keeper has just put out; empty between calls.
    events: Vec<Event>,
    /// Marks that are in force and not yet durable, oldest first.
    unanswered: VecDeque<Unanswered>,
    /// How many marks were given to the track, and how many it has given to the spool.
    marks_given: u64,
    marks_spooled: u64,
    /// Which marks are open could not be written, for want of room.
    marks_owed: bool,
}

/// A mark that is in force and not yet durable.
struct Unanswered {
    answer: Report,
    /// It is durable once this many marks are.
    after: u64,
}

impl Beside {
    /// Begins as `spec` says, or goes on as the run before has left it in `folder`.
    pub(super) fn new(spec: &Spec, policy: &Policy, folder: &Folder) -> anyhow::Result<Self> {
        let marks = if spec.resume.is_some() {
            // What cannot be read may say that all has to be hidden.
            folder.marks().unwrap_or(Marks::Unknown)
        } else {
            spec.marks.clone()
        };
        folder.write_marks(&marks)?;
        let key = match folder.clipboard_key() {
            Ok(key) => key,
            Err(_) => {
                let key = clock::random()?;
                folder.write_clipboard_key(&key)?;
                key
            }
        };
        let driven = spec.driven.is_some() || spec.operated;
        Ok(Self {
            keeper: Keeper::new(policy, key, marks),
            witnesses: (driven && spec.input.is_some()).then(Witnesses::default),
            events: Vec::new(),
            unanswered: VecDeque::new(),
            marks_given: 0,
            marks_spooled: 0,
            marks_owed: false,
        })
    }

    /// Which marks are open.
    pub(super) const fn marks(&self) -> &Marks {
        self.keeper.marks()
    }

    /// Writes which marks are open, or owes it.
    fn write_marks(&mut self, folder: &Folder) -> anyhow::Result<()> {
        let written = folder.write_marks(self.keeper.marks());
        self.marks_owed = written.as_ref().is_err_and(is_out_of_room);
        if self.marks_owed {
            return Ok(());
        }
        written.context("writing which marks are open")
    }

    /// Notes what has just been given to the spool.
    pub(super) fn spooled(&mut self, output: &Output) {
        if let Output::Append {
            record: Record::Event(event),
            ..
        } = output
            && event.kind == "mark"
        {
            self.marks_spooled += 1;
        }
    }

    /// The next answer that is due once the spool is synced.
    fn answer(&mut self) -> Option<Report> {
        let written = self.marks_spooled;
        let due = self.unanswered.pop_front_if(|mark| mark.after <= written)?;
        Some(due.answer)
    }

    fn answer_is_due(&self) -> bool {
        let written = self.marks_spooled;
        let first = self.unanswered.front();
        first.is_some_and(|mark| mark.after <= written)
    }
}

impl Recording<'_> {
    /// Records what somebody did. What was done before the first frame is not recorded.
    pub(in crate::child) fn act(&mut self, act: &Act) -> anyhow::Result<()> {
        let Some(film) = &self.film else {
            return Ok(());
        };
        let t = film.clock.at(act.received);
        let Beside { keeper, events, .. } = &mut self.beside;
        keeper.input(t, act.origin, &act.input, events);
        // That there were keys at all is not told of a secret.
        let suppressed = keeper.suppressed();
        let unseen = self.beside.witnesses.as_mut();
        match unseen.and_then(|witnesses| witnesses.act(act)) {
            Some(unseen) if !suppressed => self.note(act.received, "input-unseen", unseen.text()),
            _ => self.write(),
        }
    }

    /// What was recorded last of who operates the machine over our own connection.
    pub(in crate::child) fn done(&self) -> Done {
        Done {
            t: self.beside.keeper.now(),
            recorded: !self.is_unrecorded(),
        }
    }

    /// Answers a driver.
    pub(in crate::child) fn operated(&self, id: u64, result: Result<Done, Undone>) {
        self.reports.send(&Report::Operated { id, result });
    }

    /// The display on which input is seen is lost, for this reason, or observed again.
    pub(in crate::child) fn guest(&mut self, lost: Option<String>) -> anyhow::Result<()> {
        let now = BootTime::now();
        let Some(detail) = lost else {
            return self.note(now, "input-back", "display is observed again");
        };
        if let Some(film) = &self.film {
            let Beside { keeper, events, .. } = &mut self.beside;
            keeper.close(film.clock.at(now), Origin::Guest, events);
        }
        self.note(now, "input-lost", &detail)
    }

    /// Records what the machine has put on its clipboard.
    pub(in crate::child) fn clipboard(
        &mut self,
        received: BootTime,
        clipboard: Clipboard,
    ) -> anyhow::Result<()> {
        self.act(&Act {
            received,
            origin: Origin::Wire,
            input: Input::Clipboard(clipboard),
        })
    }

    /// Puts `mark` in force as of `received`. It is answered once that is durable.
    pub(in crate::child) fn mark(
        &mut self,
        received: BootTime,
        id: u64,
        mark: &Mark,
    ) -> anyhow::Result<()> {
        let Some(film) = &self.film else {
            return Ok(());
        };
        // From then on it is in force: a picture of the same ms is older, and stands recorded.
        let t = film.clock.at(received).max(film.track.earliest());
        let beside = &mut self.beside;
        beside
            .keeper
            .mark(t, Origin::Driver, mark, &mut beside.events);
        beside.write_marks(&self.folder)?;
        // The keeper tells each mark last, as one event, and moves time only forward.
        let t = beside.events.last().map_or(t, |mark| mark.t);
        beside.marks_given += 1;
        beside.unanswered.push_back(Unanswered {
            answer: Report::Marked { id, t },
            after: beside.marks_given,
        });
        self.give_events();
        if let Some(film) = &mut self.film {
            let marks = self.beside.keeper.marks();
            film.track.marks(t, marks, &mut film.outputs)?;
        }
        self.write()
    }

    /// Who drove the machine has gone, which ends the recording: tells why.
    pub(in crate::child) fn left(&mut self, departure: &Departure) -> anyhow::Result<StopCause> {
        match &departure {
            Departure::Refused(detail) => self.health(State::DriverRefused, detail),
            Departure::Lost(lost) => self.health(State::Disconnected, &lost.detail),
            Departure::Left | Departure::Stopped => {}
        }
        self.write()?;
        Ok(StopCause::Asked(departure.reason()))
    }

    /// Nobody seen by `witnesses` drives the machine any more: what is still open of their input is
    /// closed.
    pub(in crate::child) fn hands_off(
        &mut self,
        at: BootTime,
        witnesses: &[Origin],
    ) -> anyhow::Result<()> {
        let Some(film) = &self.film else {
            return Ok(());
        };
        let t = film.clock.at(at);
        let Beside { keeper, events, .. } = &mut self.beside;
        for &origin in witnesses {
            keeper.close(t, origin, events);
        }
        self.write()
    }

    /// Tells something about the recording that is not about its picture.
    pub(super) fn note(&mut self, at: BootTime, state: &str, detail: &str) -> anyhow::Result<()> {
        if let Some(film) = &self.film {
            let event = Event::health(film.clock.at(at), state, detail);
            self.beside.events.push(event);
            self.reports.send(&Report::Health {
                state: state.to_owned(),
                detail: detail.to_owned(),
            });
        }
        self.write()
    }

    /// Ends typed runs and paths that were not gone on with.
    pub(super) fn keep_beside(&mut self, now: BootTime) -> anyhow::Result<()> {
        let Some(film) = &self.film else {
            return Ok(());
        };
        let t = film.clock.at(now);
        let Beside { keeper, events, .. } = &mut self.beside;
        if keeper.poll_timeout().is_none_or(|due| t < due) {
            return Ok(());
        }
        keeper.handle_timeout(t, events);
        self.write()
    }

    /// When [`keep_beside`](Self::keep_beside) has something to do.
    pub(super) fn beside_due(&self) -> Option<BootTime> {
        let due = self.beside.keeper.poll_timeout()?;
        Some(self.film.as_ref()?.clock.when(due))
    }

    /// Gives the track what the keeper has put out.
    pub(super) fn give_events(&mut self) {
        let unrecorded = self.is_unrecorded();
        if let Some(film) = &mut self.film {
            for event in self.beside.events.drain(..) {
                if unrecorded && !is_kept_without_room(&event, film.proven) {
                    continue;
                }
                film.told = film.told.max(event.t);
                film.track.event(event, &mut film.outputs);
            }
        }
    }

    /// Answers the marks that are in the spool, once they are durable there.
    pub(super) fn answer_marks(&mut self) -> anyhow::Result<()> {
        if self.beside.answer_is_due() {
            if self.beside.marks_owed {
                self.beside.write_marks(&self.folder)?;
            }
            if self.beside.marks_owed {
                return Ok(());
            }
            self.journal.sync().context("syncing the spool")?;
        }
        while let Some(answer) = self.beside.answer() {
            self.reports.send(&answer);
        }
        Ok(())
    }
}

/// Whether `event` is recorded though there is no room for what happens after `proven`: what began
/// before, and what tells of the recording itself.
fn is_kept_without_room(event: &Event, proven: MediaTime) -> bool {
    event.t <= proven || ["health", "mark"].contains(&event.kind.as_str())
}
