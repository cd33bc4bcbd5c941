//! One connection's loop: bytes in, frames and proofs out, requests back.
//!
//! Frames are taken at most `fps_max` times a second. The next request goes out when a frame was
//! taken, so no queue of frames exists anywhere: what changes meanwhile is merged by the source.

use std::time::Duration;

use capture::{Damage, GapReason, event::Origin, input::Input, source::SourceEvent};

use super::{
    connection::Connection,
    hands::Hands,
    health::{Light, State, Watch},
    inbox::{Act, Inbox, Operate, StopCause, Told},
    lost::Lost,
    recording::{Desktop, Recording},
};
use crate::{
    clock::BootTime,
    wire::{Done, Undone},
};

/// A session that is asked to stop asks for a proof that its picture stood until then, and waits
/// this long for it: a source that answers at all answers sooner.
const LAST_PROOF_MS: u64 = 1_250;
/// How often the parent hears how it goes.
const STATUS_EVERY_MS: u64 = 1_000;

/// How a connection came to its end.
pub(super) enum Outcome {
    /// Recording is to stop, as of this instant.
    Stopped(StopCause, BootTime),
    /// The source is lost.
    Lost(Lost),
}

impl Outcome {
    /// The connection is lost, to a recording that may be about to stop without it.
    fn lost(lost: Lost, stopping: Option<(StopCause, BootTime)>) -> Self {
        match stopping {
            Some((cause, since)) => Self::Stopped(cause, since),
            None => Self::Lost(lost),
        }
    }
}

/// Records what `connection` shows until it is lost or recording is to stop.
pub(super) async fn drive(
    mut connection: Connection,
    recording: &mut Recording<'_>,
    inbox: &mut Inbox,
) -> anyhow::Result<Outcome> {
    let mut view = View::default();
    let mut stopping: Option<(StopCause, BootTime)> = None;
    let mut status_due = BootTime::now();
    loop {
        let now = BootTime::now();
        if let Some((cause, since)) = stopping
            && (view.proven >= Some(since) || now.ms_since(since) >= LAST_PROOF_MS)
        {
            return Ok(Outcome::Stopped(cause, since));
        }
        view.take_if_due(&mut connection, recording, now)?;
        recording.keep(now)?;
        if recording.must_end() {
            let at = view.stop(&mut connection, recording, inbox).await?;
            return Ok(Outcome::Stopped(recording.cut_off()?, at));
        }
        view.tell_black(recording, now)?;
        if recording.started() {
            inbox.start()?;
        }
        view.serve(&connection, inbox, now)?;
        if connection.session.is_stalled(now) {
            recording.gap(GapReason::Stalled, "source does not answer")?;
        }
        if status_due <= now {
            recording.report_status(now, inbox.drivers());
            status_due = now.plus_ms(STATUS_EVERY_MS);
        }
        if let Err(lost) = connection.send().await {
            return Ok(Outcome::lost(lost, stopping));
        }
        let stop_due = stopping.map(|(_, since)| since.plus_ms(LAST_PROOF_MS));
        let source_due = connection.session.poll_timeout();
        let slot = view.slot(&connection, recording, now);
        let black_due = view.black.poll_timeout();
        let clients_due = inbox.clients().and_then(|clients| clients.due());
        let due = [
            source_due,
            slot,
            black_due,
            recording.due(),
            clients_due,
            stop_due,
        ]
        .into_iter()
        .flatten();
        let wake_in_ms = due.fold(status_due, BootTime::min).ms_since(now);
        // Fair: neither a flood of pictures nor one of input keeps the other from being recorded.
        tokio::select! {
            told = inbox.next(), if stopping.is_none() => match told {
                Told::Stop(cause) => {
                    stopping = Some((cause, view.stop(&mut connection, recording, inbox).await?));
                }
                Told::Left(departure) => {
                    let since = view.stop(&mut connection, recording, inbox).await?;
                    stopping = Some((recording.left(&departure)?, since));
                }
                Told::Mark { id, mark } => {
                    let now = BootTime::now();
                    recording.mark(now, id, &mark)?;
                    // What is beside the picture is written once the picture is proven that far,
                    // and somebody waits for this.
                    connection.session.request_proof(now);
                }
                Told::Act(act) => {
                    recording.act(&act)?;
                    if let Err(lost) = view.follow(&act, &mut connection, recording, inbox).await {
                        return Ok(Outcome::Lost(lost));
                    }
                }
                Told::Operate(asked) => {
                    let id = asked.id;
                    let done = view.operate(asked, &mut connection, recording)?;
                    // Answered once the machine has been told.
                    let sent = connection.send().await;
                    let broken = || Err(Undone::because("the machine was lost meanwhile"));
                    recording.operated(id, if sent.is_ok() { done } else { broken() });
                    if let Err(lost) = sent {
                        return Ok(Outcome::Lost(lost));
                    }
                }
                Told::LetGo { driver } => view.let_go(Some(driver), &mut connection, recording)?,
                Told::Guest { lost } => recording.guest(lost)?,
                Told::Enforced => recording.enforced()?,
                Told::Fence(_) => {} // the inbox keeps them
                Told::Asked => {} // answered with whatever else is due
            },
            received = connection.receive(), if connection.session.wants_bytes() => match received {
                Ok(received) => {
                    view.absorb(&mut connection, recording, inbox, received, stopping.is_none())?;
                    view.tell_proof(&mut connection, recording)?;
                }
                Err(lost) => return Ok(Outcome::lost(lost, stopping)),
            },
            () = tokio::time::sleep(Duration::from_millis(wake_in_ms)) => {
                if let Err(lost) = connection.session.handle_timeout(BootTime::now()) {
                    return Ok(Outcome::lost(lost, stopping));
                }
            }
        }
    }
}

/// What the connection shows that is not yet recorded.
#[derive(Default)]
struct View {
    desktop: Option<Desktop>,
    /// Where the picture changed since a frame was taken, and when the last of it was received.
    changed: Option<(Damage, BootTime)>,
    /// Since when a pointer that we lay over the picture is not as in the last frame.
    pointer_since: Option<BootTime>,
    /// An update is painted and the next one not yet requested.
    unconsumed: bool,
    /// When the last frame was taken.
    taken: Option<BootTime>,
    /// When the source last proved its picture.
    proven: Option<BootTime>,
    /// How long the screen has been black.
    black: Watch,
    /// What is held down by who operates the machine over this connection.
    hands: Hands,
}

impl View {
    /// Takes in what the bytes received at `received` have brought. A picture that is not `wanted`
    /// any more only proves that the one before it stood until now.
    fn absorb(
        &mut self,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
        inbox: &mut Inbox,
        received: BootTime,
        wanted: bool,
    ) -> anyhow::Result<()> {
        while let Some(mut event) = connection.session.poll_event() {
            if let SourceEvent::Update { damage } = &mut event {
                *damage = connection.framebuffer.settle(damage);
            }
            if let Some(clients) = inbox.clients() {
                clients.hear(&event);
            }
            match event {
                SourceEvent::Start { size, server_name } => {
                    self.desktop = Some(Desktop { size, server_name });
                }
                SourceEvent::Update { damage } => {
                    if wanted && !damage.is_empty() {
                        if self.changed.is_some() {
                            recording.merged();
                        }
                        let (all, last) = self.changed.get_or_insert((Damage::EMPTY, received));
                        all.merge(&damage);
                        *last = received;
                    }
                    self.unconsumed = true;
                }
                SourceEvent::Resize(size) => {
                    self.changed = None; // it was of the old picture
                    if let Some(desktop) = &mut self.desktop {
                        desktop.size = size;
                    }
                }
                SourceEvent::Clipboard(clipboard) => recording.clipboard(received, clipboard)?,
                SourceEvent::Cursor { at, shape } => {
                    if recording.cursor(at, shape) && wanted {
                        self.pointer_changed(received, connection);
                    }
                }
                SourceEvent::Proof | SourceEvent::Bell => {}
            }
        }
        self.proven = connection.session.last_proof();
        Ok(())
    }

    /// The pointer that is laid over the picture is not where it was, or as it was. That proves
    /// nothing of the picture under it, which may have stalled.
    fn pointer_changed(&mut self, at: BootTime, connection: &mut Connection) {
        let (damage, last) = self.changed.get_or_insert((Damage::EMPTY, at));
        *last = at.max(*last); // what was done is read beside the picture, and may be older
        if damage.is_empty() && !self.unconsumed {
            connection.session.request_proof(at);
        }
        self.pointer_since.get_or_insert(at);
    }

    /// Follows what somebody did through the recorder, and passes it on to the machine if no relay
    /// has. The recording has heard of it before.
    async fn follow(
        &mut self,
        act: &Act,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
        inbox: &mut Inbox,
    ) -> Result<(), Lost> {
        if act.origin != Origin::Wire {
            return Ok(());
        }
        self.lead(act, connection, recording);
        if let Some(clients) = inbox.clients() {
            if let Input::Pointer(pointer) = &act.input {
                clients.cursor(Some(pointer.at), None);
            }
            connection.session.send_input(&act.input);
            connection.send().await?;
        }
        Ok(())
    }

    /// The pointer goes where `act` has moved it.
    fn lead(&mut self, act: &Act, connection: &mut Connection, recording: &mut Recording<'_>) {
        if let Input::Pointer(pointer) = &act.input
            && recording.cursor(Some(pointer.at), None)
        {
            self.pointer_changed(act.received, connection);
        }
    }

    /// Does what a driver wants done to the machine, over this connection, if all of it can be
    /// done.
    fn operate(
        &mut self,
        asked: Operate,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
    ) -> anyhow::Result<Result<Done, Undone>> {
        let size = match &self.desktop {
            Some(desktop) if recording.started() => desktop.size,
            _ => return Ok(Err(Undone::because(Undone::TOO_EARLY))),
        };
        if recording.refuses_drivers() {
            let error = "there is no room to record; see --unrecorded";
            return Ok(Err(Undone::because(error)));
        }
        let session = &connection.session;
        let refusal = |inputs: &[Input]| session.refusal(inputs);
        let inputs = self
            .hands
            .operate(asked.driver, &asked.deeds, size, refusal);
        let inputs = match inputs {
            Ok(inputs) => inputs,
            Err(undone) => return Ok(Err(undone)),
        };
        self.act(inputs, asked.received, connection, recording)?;
        Ok(Ok(recording.done()))
    }

    /// Lets go of all that `driver` holds down, or everybody.
    fn let_go(
        &mut self,
        driver: Option<u64>,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
    ) -> anyhow::Result<()> {
        let inputs = self.hands.let_go(driver);
        self.act(inputs, BootTime::now(), connection, recording)
    }

    /// Records each of `inputs`, and then has the machine told.
    fn act(
        &mut self,
        inputs: Vec<Input>,
        received: BootTime,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
    ) -> anyhow::Result<()> {
        for input in inputs {
            let act = Act {
                received,
                origin: Origin::Driver,
                input,
            };
            recording.act(&act)?;
            self.lead(&act, connection, recording);
            connection.session.send_input(&act.input);
        }
        Ok(())
    }

    /// Serves whoever is served by this process, once there is a whole picture.
    fn serve(
        &self,
        connection: &Connection,
        inbox: &mut Inbox,
        now: BootTime,
    ) -> std::io::Result<()> {
        match (inbox.clients(), &self.desktop) {
            (Some(clients), Some(desktop))
                if connection.session.last_proof().is_some()
                    && connection.session.is_whole(now) =>
            {
                clients.serve(desktop, &connection.framebuffer, now)
            }
            _ => Ok(()),
        }
    }

    /// Passes a proof on, unless a frame that precedes it is still to be taken.
    fn tell_proof(
        &mut self,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
    ) -> anyhow::Result<()> {
        if self.changed.is_some() {
            return Ok(());
        }
        // A screen without a picture is proven to be one; the gap goes on.
        if let Some(proven) = self.proven.filter(|_| !self.black.is_blank()) {
            recording.proof(proven, &connection.framebuffer)?;
        }
        if std::mem::take(&mut self.unconsumed) {
            connection.session.request_update(BootTime::now());
        }
        Ok(())
    }

    /// Tells of a screen that has been black for too long.
    fn tell_black(&mut self, recording: &mut Recording<'_>, now: BootTime) -> anyhow::Result<()> {
        match self.black.handle_timeout(now) {
            Some(Light::None) => recording.gap(GapReason::SourceBlack, "not one pixel is lit"),
            Some(Light::Spot) => {
                recording.health(State::Black, "the screen is black but for a spot");
                Ok(())
            }
            Some(Light::Lit) | None => Ok(()),
        }
    }

    /// Whether there is a picture to take: not one that is half painted, nor an old one that may
    /// not stand any more under a pointer that has moved.
    fn is_whole(&self, connection: &Connection, now: BootTime) -> bool {
        let only_pointer = self
            .changed
            .as_ref()
            .is_some_and(|(damage, _)| damage.is_empty());
        let stands = !only_pointer || self.pointer_since <= self.proven;
        stands && connection.session.is_whole(now)
    }

    /// When the changed picture may be taken as a frame; `None` while there is none to take.
    fn slot(
        &self,
        connection: &Connection,
        recording: &Recording<'_>,
        now: BootTime,
    ) -> Option<BootTime> {
        let (_, received) = self.changed.as_ref()?;
        if !self.is_whole(connection, now) {
            return None;
        }
        let by_rate = self
            .taken
            .map(|taken| taken.plus_ms(recording.frame_interval_ms()));
        Some(by_rate.map_or(*received, |slot| slot.max(*received)))
    }

    fn take_if_due(
        &mut self,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
        now: BootTime,
    ) -> anyhow::Result<()> {
        match self.slot(connection, recording, now) {
            Some(slot) if slot <= now => self.take(connection, recording, now),
            _ => Ok(()),
        }
    }

    /// Takes the last picture and lets go of the driver. Gives back when recording stops.
    async fn stop(
        &mut self,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
        inbox: &mut Inbox,
    ) -> anyhow::Result<BootTime> {
        self.take(connection, recording, BootTime::now())?;
        self.let_go(None, connection, recording)?;
        let since = super::hang_up(recording, inbox).await?;
        connection.session.request_proof(since);
        Ok(since)
    }

    /// Records the picture if it changed and is whole, and asks for the next.
    fn take(
        &mut self,
        connection: &mut Connection,
        recording: &mut Recording<'_>,
        now: BootTime,
    ) -> anyhow::Result<()> {
        let whole = self.is_whole(connection, now);
        if let Some(desktop) = &self.desktop
            && let Some((damage, received)) = self.changed.take_if(|_| whole)
        {
            self.pointer_since = None;
            let framebuffer = &connection.framebuffer;
            let was_blank = self.black.is_blank();
            let light = Light::of(framebuffer);
            self.black.picture(received, light);
            if !self.black.is_blank() {
                // What changed while there was no picture was not recorded.
                let whole = || Damage::of(framebuffer.size().rect());
                let damage = if was_blank { whole() } else { damage };
                recording.frame(received, desktop, framebuffer, &damage)?;
            }
            if light == Light::Lit {
                recording.health(State::Ok, "the screen is lit");
            }
            self.taken = Some(now);
        }
        if std::mem::take(&mut self.unconsumed) {
            connection.session.request_update(now);
        }
        Ok(())
    }
}
