//! Input seen on the machine's own display, by an observer on a thread of its own.
//!
//! What the display tells is a claim of the machine. A display that is lost is tried again for as
//! long as recording goes on; the picture does not depend on it.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use capture::{event::Origin, input::Input, mark::Mark};
use capture_screen::x11::{self, Fence, Observer, ObserverError};
use tokio::sync::mpsc;

use super::inbox::{Act, Told};
use crate::{clock::BootTime, input::InputSource, wire::Refusal};

/// The first wait before a lost display is tried again; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// More input than this within [`FLOOD_MS`] is nobody's: what pastes by typing stays below.
const FLOOD_INPUTS: u64 = 50_000;
/// So much text on the clipboard counts as one more: fifty megabytes of it are a flood, and no more
/// of them can wait to be recorded.
const INPUT_TEXT_BYTES: u64 = 1_000;
/// How long input is counted.
const FLOOD_MS: u64 = 10_000;

/// A display whose input is recorded, and the marks that wait for what was done there before.
pub(super) struct Guest {
    fence: Arc<Mutex<Option<Fence>>>,
    /// How many fences were raised; each is named by its number.
    raised: u64,
    /// Marks, each behind a fence.
    marks: VecDeque<(u64, (u64, Mark))>,
}

/// How a display that cannot be observed is reported.
pub(super) const fn refusal(error: &ObserverError) -> Refusal {
    match error {
        ObserverError::Refused => Refusal::Authentication,
        _ => Refusal::Unreachable,
    }
}

/// Begins to observe `source`.
pub(super) fn observe(source: &InputSource) -> Result<Observer, ObserverError> {
    let InputSource::X11(display) = source;
    Observer::connect(display, || BootTime::now().ms())
}

impl Guest {
    /// Has `tell` told what is done at `source`, at first by `observer`.
    pub(super) fn start(
        source: InputSource,
        observer: Result<Observer, ObserverError>,
        tell: mpsc::Sender<Told>,
    ) -> io::Result<Self> {
        let fence = Arc::new(Mutex::new(observer.as_ref().ok().map(Observer::fence)));
        let watch = Watch {
            source,
            fence: Arc::clone(&fence),
            tell,
        };
        std::thread::Builder::new()
            .name("guest".to_owned())
            .spawn(move || {
                let Err(Ended) = watch.run(observer);
            })?;
        Ok(Self {
            fence,
            raised: 0,
            marks: VecDeque::new(),
        })
    }

    /// Raises a fence, which is told behind all that was done on the display until now. `None`
    /// when nobody observes the display.
    pub(super) fn raise(&mut self) -> Option<u64> {
        let number = self.raised + 1;
        let fence = lock(&self.fence);
        fence.as_ref()?.raise(number).ok()?;
        self.raised = number;
        Some(number)
    }

    /// Keeps `mark` until what was done on the display before it has been told; gives it back when
    /// that cannot be.
    pub(super) fn hold(&mut self, mark: (u64, Mark)) -> Option<(u64, Mark)> {
        let Some(number) = self.raise() else {
            return Some(mark);
        };
        self.marks.push_back((number, mark));
        None
    }

    /// The marks up to fence `number`, which has been told.
    pub(super) fn passed(&mut self, number: u64) -> impl Iterator<Item = (u64, Mark)> {
        let behind = self.marks.iter().filter(|(fence, _)| *fence <= number);
        let count = behind.count();
        self.marks.drain(..count).map(|(_, mark)| mark)
    }
}

fn lock(fence: &Mutex<Option<Fence>>) -> MutexGuard<'_, Option<Fence>> {
    fence.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The observer's thread.
struct Watch {
    source: InputSource,
    fence: Arc<Mutex<Option<Fence>>>,
    tell: mpsc::Sender<Told>,
}

/// Nobody listens any more: recording has ended.
struct Ended;

impl Watch {
    fn run(self, mut observer: Result<Observer, ObserverError>) -> Result<Infallible, Ended> {
        loop {
            let lost = match observer {
                Ok(observer) => self.observe(observer)?,
                Err(error) => error.to_string(),
            };
            // Fences raised before this are never told; whoever waits for one hears of the loss.
            *lock(&self.fence) = None;
            self.tell(Told::Guest { lost: Some(lost) })?;
            let back = self.reconnect()?;
            *lock(&self.fence) = Some(back.fence());
            self.tell(Told::Guest { lost: None })?;
            observer = Ok(back);
        }
    }

    /// Tells what is done until the display is lost, and why it is.
    fn observe(&self, mut observer: Observer) -> Result<String, Ended> {
        let (mut since, mut inputs) = (BootTime::now(), 0);
        loop {
            let told = observer.next();
            let received = BootTime::now();
            if FLOOD_MS <= received.ms_since(since) {
                (since, inputs) = (received, 0);
            }
            match told {
                Ok(x11::Told::Input(_)) if FLOOD_INPUTS <= inputs => {
                    return Ok("display tells of more input than anybody makes".to_owned());
                }
                Ok(x11::Told::Input(input)) => {
                    inputs += weight(&input);
                    let origin = Origin::Guest;
                    self.tell(Told::Act(Act {
                        received,
                        origin,
                        input,
                    }))?;
                }
                Ok(x11::Told::Fence(id)) => self.tell(Told::Fence(id))?,
                Err(error) => return Ok(error.to_string()),
            }
        }
    }

    fn reconnect(&self) -> Result<Observer, Ended> {
        let mut wait = FIRST_WAIT;
        loop {
            std::thread::sleep(wait);
            if self.tell.is_closed() {
                return Err(Ended);
            }
            if let Ok(observer) = observe(&self.source) {
                return Ok(observer);
            }
            wait = (2 * wait).min(LONGEST_WAIT);
        }
    }

    fn tell(&self, told: Told) -> Result<(), Ended> {
        self.tell.blocking_send(told).map_err(|_| Ended)
    }
}

/// For how much input `input` counts.
fn weight(input: &Input) -> u64 {
    let text = match input {
        Input::Clipboard(clipboard) => clipboard.text.as_deref().unwrap_or_default(),
        Input::Key(_) | Input::Pointer(_) => "",
    };
    1 + text.len() as u64 / INPUT_TEXT_BYTES
}
