//! What reaches the recording loop beside the picture: the parent's commands, and what someone
//! does to the machine.
//!
//! INVARIANT: a mark is told after all input that was there before it. A secret's last key must
//! not be taken for the first one after it.
//!
//! INVARIANT: nobody drives the machine through the recorder before the first frame is durable, or
//! after recording has stopped.

use std::{
    collections::VecDeque,
    io::{BufRead as _, Read as _},
    time::Duration,
};

use capture::{event::Origin, input::Input, mark::Mark};
use segment::end::EndReason;
use tokio::{sync::mpsc, time::timeout};

use super::{
    clients::{self, Clients},
    guest::Guest,
    lost::Lost,
    relay::{self, Relay},
};
use crate::{
    clock::BootTime,
    wire::{Command, Deed},
};

/// The parent has at most one mark or one driver's line under way for each of the connections that
/// tell them.
const COMMANDS_MAX: usize = 32;
/// The longest command: a text of 1 MiB for the clipboard, each byte of which is escaped.
const MAX_COMMAND_BYTES: u64 = 8 << 20;
/// A buffer that one long command has made longer than this is given back.
const KEEP_CAPACITY_BYTES: usize = 64 << 10;
/// Input that waits to be recorded: a second of the fastest. Past it the driver waits, for input
/// is never dropped.
const INPUT_MAX: usize = 1024;
/// How long a relay may take to tell its last. It does nothing else by then.
const HANG_UP_PATIENCE: Duration = Duration::from_secs(1);

/// Something that happened beside the picture.
pub(super) enum Told {
    /// Recording is to stop.
    Stop(StopCause),
    /// A mark, and the command that brought it.
    Mark {
        /// What the answer names.
        id: u64,
        /// The mark.
        mark: Mark,
    },
    /// Somebody has made sure that the machine is not used while it cannot be recorded.
    Enforced,
    /// Somebody did something to the machine.
    Act(Act),
    /// Somebody wants something done to the machine.
    Operate(Operate),
    /// This driver has gone: what it holds down comes up.
    LetGo {
        /// Who.
        driver: u64,
    },
    /// Who drove the machine through the recorder does so no more.
    Left(Departure),
    /// The display on which input is seen is lost, or observed again.
    Guest {
        /// Why it is lost; `None` when it is back.
        lost: Option<String>,
    },
    /// All that was done on that display before this fence was raised has been told.
    Fence(u64),
    /// A client that is served by this process has come, asked for something or taken it.
    Asked,
}

/// Who wants the recording to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopCause {
    /// The parent asks to close the session.
    Asked(EndReason),
    /// The parent is gone; whoever recovers the spool will close the session.
    Orphaned,
}

/// What somebody did to the machine, and when its bytes arrived.
#[derive(Debug)]
pub(super) struct Act {
    /// When its bytes arrived.
    pub(super) received: BootTime,
    /// Who says so.
    pub(super) origin: Origin,
    /// What was done.
    pub(super) input: Input,
}

/// What a driver wants done to the machine, and when it said so.
pub(super) struct Operate {
    /// When the recorder heard of it.
    pub(super) received: BootTime,
    /// What the answer names.
    pub(super) id: u64,
    /// Who asks.
    pub(super) driver: u64,
    /// What is to be done, all of it or nothing.
    pub(super) deeds: Vec<Deed>,
}

/// Why nobody drives the machine through the recorder any more.
#[derive(Debug)]
pub(super) enum Departure {
    /// The driver has gone.
    Left,
    /// It was not let in, or said what cannot be recorded: so much for the record.
    Refused(String),
    /// The machine is lost.
    Lost(Lost),
    /// The recording has ended, or is about to.
    Stopped,
}

impl Departure {
    /// Why the session ends.
    pub(super) const fn reason(&self) -> EndReason {
        match self {
            Self::Left => EndReason::DriverLeft,
            Self::Refused(_) => EndReason::DriverRefused,
            Self::Lost(_) => EndReason::SourceLost,
            Self::Stopped => EndReason::Stopped,
        }
    }
}

/// A driver that waits for the first frame.
pub(super) enum Waiting {
    /// Its connection is relayed to the machine.
    Relayed(relay::Waiting),
    /// It is served by this process.
    Served(clients::Waiting),
}

/// The receiving side, in the recording loop.
pub(super) struct Inbox {
    commands: mpsc::Receiver<(BootTime, Command)>,
    told: mpsc::Receiver<Told>,
    /// A driver that waits for the first frame.
    waiting: Option<Waiting>,
    /// A driver that drives through a relay.
    relay: Option<Relay>,
    /// Why it no longer does, where that was heard as the recording ended.
    departure: Option<Departure>,
    /// A driver, and others, that this process serves.
    clients: Option<Clients>,
    /// Whether the first frame is durable. Before it there is nothing that marks could change.
    started: bool,
    held: VecDeque<(u64, Mark)>,
    /// A display on which input is seen.
    guest: Option<Guest>,
    /// Marks before which everything has been told.
    due: VecDeque<(u64, Mark)>,
    /// The fence behind which nothing more is wanted from the display.
    last_fence: Option<u64>,
}

impl Inbox {
    /// Listens to the parent, on a thread of its own since standard input cannot be polled, and
    /// to whoever is given the sender.
    pub(super) fn open() -> std::io::Result<(Self, mpsc::Sender<Told>)> {
        let (command, commands) = mpsc::channel(COMMANDS_MAX);
        std::thread::Builder::new()
            .name("parent".to_owned())
            .spawn(move || listen(&command))?;
        let (tell, told) = mpsc::channel(INPUT_MAX);
        let inbox = Self {
            commands,
            told,
            waiting: None,
            relay: None,
            departure: None,
            clients: None,
            started: false,
            held: VecDeque::new(),
            guest: None,
            due: VecDeque::new(),
            last_fence: None,
        };
        Ok((inbox, tell))
    }

    /// A driver waits to be let through.
    pub(super) fn admit(&mut self, driver: Waiting) {
        self.waiting = Some(driver);
    }

    /// A driver has come whom `relay` lets in; it operates nothing yet.
    pub(super) fn enter(&mut self, relay: Relay) {
        self.relay = Some(relay);
    }

    /// Input is seen on the machine's own display.
    pub(super) fn watch(&mut self, guest: Guest) {
        self.guest = Some(guest);
    }

    /// The first frame is durable: lets the driver through, and the marks.
    pub(super) fn start(&mut self) -> std::io::Result<()> {
        if !std::mem::replace(&mut self.started, true)
            && let Some(relay) = &self.relay
        {
            relay.let_through();
        }
        match self.waiting.take() {
            Some(Waiting::Relayed(waiting)) => self.relay = Some(waiting.start()?),
            Some(Waiting::Served(waiting)) => self.clients = Some(waiting.start()?),
            None => {}
        }
        Ok(())
    }

    /// Whoever is served by this process.
    pub(super) const fn clients(&mut self) -> Option<&mut Clients> {
        self.clients.as_mut()
    }

    /// How many are connected through the recorder.
    pub(super) fn drivers(&self) -> u32 {
        let served = self.clients.as_ref().map_or(0, Clients::count);
        u32::from(self.relay.is_some()) + served
    }

    /// The next that happens. Cancel-safe.
    pub(super) async fn next(&mut self) -> Told {
        loop {
            while self.started
                && let Some((id, mark)) = self.held.pop_front()
            {
                // What the driver has sent before goes first, so the mark takes the same way.
                match (&self.relay, &mut self.clients) {
                    (Some(relay), _) if relay.pass(id, &mark) => {}
                    (_, Some(clients)) => clients.pass(id, mark),
                    _ => self.put_behind_guest((id, mark)),
                }
            }
            if let Some((id, mark)) = self.due.pop_front() {
                return Told::Mark { id, mark };
            }
            let told = tokio::select! {
                biased;
                Some(told) = self.told.recv() => told,
                command = self.commands.recv() => {
                    let Some((received, command)) = command else {
                        return Told::Stop(StopCause::Orphaned);
                    };
                    match command {
                        Command::Stop(reason) => return Told::Stop(StopCause::Asked(reason)),
                        Command::Enforced => return Told::Enforced,
                        Command::Mark { id, mark } => {
                            self.held.push_back((id, mark));
                            continue;
                        }
                        Command::Operate { id, driver, deeds } => {
                            return Told::Operate(Operate { received, id, driver, deeds });
                        }
                        Command::LetGo { driver } => return Told::LetGo { driver },
                    }
                }
                Some(told) = next(&mut self.clients) => told,
            };
            match told {
                Told::Mark { id, mark } => self.put_behind_guest((id, mark)),
                Told::Fence(number) => self.release(number),
                Told::Guest { lost: Some(_) } => {
                    self.release(u64::MAX);
                    return told;
                }
                Told::Left(_) => {
                    self.relay = None;
                    self.clients = None;
                    return told;
                }
                Told::Act(_)
                | Told::Operate(_)
                | Told::LetGo { .. }
                | Told::Guest { .. }
                | Told::Stop(_)
                | Told::Enforced
                | Told::Asked => return told,
            }
        }
    }

    /// What was done on the display before `mark` goes first.
    fn put_behind_guest(&mut self, mark: (u64, Mark)) {
        let due = match &mut self.guest {
            Some(guest) => guest.hold(mark),
            None => Some(mark),
        };
        self.due.extend(due);
    }

    /// Marks up to fence `number` wait for nothing more.
    fn release(&mut self, number: u64) {
        if let Some(guest) = &mut self.guest {
            self.due.extend(guest.passed(number));
        }
    }

    /// Lets go of the driver. What was done until then is told by [`last`](Self::last).
    pub(super) fn hang_up(&mut self) {
        self.waiting = None;
        self.clients = None;
        if let Some(relay) = &mut self.relay {
            relay.hang_up();
        }
        self.last_fence = self.guest.as_mut().and_then(Guest::raise);
    }

    /// What was done before [`hang_up`](Self::hang_up); `None` when that was all.
    pub(super) async fn last(&mut self) -> Option<Act> {
        loop {
            let told = if self.relay.is_none() && self.last_fence.is_none() {
                self.told.try_recv().ok()?
            } else {
                timeout(HANG_UP_PATIENCE, self.told.recv()).await.ok()??
            };
            match told {
                Told::Act(act) => return Some(act),
                Told::Left(departure) => {
                    self.relay = None;
                    self.departure = Some(departure);
                }
                Told::Fence(number) => {
                    self.last_fence = self.last_fence.filter(|last| number < *last);
                }
                Told::Guest { .. } => self.last_fence = None,
                // The recording ends, and whoever told a mark will hear that it is not in force.
                Told::Mark { .. }
                | Told::Operate(_)
                | Told::LetGo { .. }
                | Told::Stop(_)
                | Told::Enforced
                | Told::Asked => {}
            }
        }
    }

    /// Why the driver had gone when it was let go of, if it had.
    pub(super) fn departure(&mut self) -> Option<Departure> {
        let had_gone = |departure: &mut Departure| !matches!(departure, Departure::Stopped);
        self.departure.take_if(had_gone)
    }
}

/// The next of whoever is served by this process, if anybody is.
async fn next(clients: &mut Option<Clients>) -> Option<Told> {
    Some(clients.as_mut()?.next().await)
}

/// Passes on what the parent says until it is gone or says what no parent of ours would.
fn listen(tell: &mpsc::Sender<(BootTime, Command)>) {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        line.shrink_to(KEEP_CAPACITY_BYTES);
        let read = (&mut input)
            .take(MAX_COMMAND_BYTES)
            .read_until(b'\n', &mut line);
        let whole = read.is_ok() && line.ends_with(b"\n");
        let Some(command) = whole.then(|| serde_json::from_slice(&line).ok()).flatten() else {
            return;
        };
        if tell.blocking_send((BootTime::now(), command)).is_err() {
            return; // nobody listens any more: the session has ended
        }
    }
}
