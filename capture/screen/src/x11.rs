//! Who types and points on an X11 display, whoever does it: a person, a VNC client, or a program
//! such as xdotool that injects input on the display itself.
//!
//! The display is observed by its RECORD extension rather than by XInput2's raw events, because
//! only RECORD tells everything in *one* order: the modifiers and the place at each event, warps of
//! the pointer, keys that repeat, and the requests that change the keyboard's mapping. Programs
//! type what the keyboard lacks by binding a spare key for less than a millisecond; who asks for
//! the mapping when the key's event has come is told what the key means *now*, and is wrong.
//!
//! What is put on the clipboard is told as well, by XFixes: a paste that a VNC client makes is no
//! program's request, and RECORD would not see it.
//!
//! X11's root window begins at (0, 0) however monitors lie, so places are those of the picture.
//!
//! The display is as hostile as the machine that runs it: see [`line`] for the bounds.

mod error;
mod keyboard;
mod line;
mod pointer;
mod record;
mod selection;

use std::{collections::VecDeque, sync::Arc};

use capture::input::Input;
use x11rb::{
    connection::{ReplyOrError, RequestConnection as _},
    protocol::record::EnableContextReply,
    x11_utils::TryParse as _,
};

pub use self::error::ObserverError;
use self::{
    error::lost, keyboard::Keyboard, line::Connection, pointer::Pointers, record::Seen,
    selection::Selection,
};

/// Checks that `display` is a name that an X11 display can have.
///
/// # Errors
/// When it is none.
pub fn check_name(display: &str) -> Result<(), ObserverError> {
    line::parse(display).map(drop)
}

/// What an observer tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Somebody did something.
    Input(Input),
    /// All that happened before this [`Fence::raise`], and those before it, was told.
    Fence(u64),
}

/// Raises fences between what happened before and after, from any thread.
#[derive(Clone)]
pub struct Fence {
    control: Arc<Connection>,
}

impl Fence {
    /// Raises fence `id`: the observer tells it behind all that the display has seen by now.
    ///
    /// # Errors
    /// When the display is gone; the observer says so too.
    pub fn raise(&self, id: u64) -> Result<(), ObserverError> {
        record::raise_fence(&self.control, id)
    }
}

/// An X11 display under observation.
///
/// The cookie of the display is found as any X client finds it: in `XAUTHORITY`, or in the home
/// folder.
pub struct Observer {
    /// Answers questions.
    control: Arc<Connection>,
    /// Tells what happens, without end.
    data: Connection,
    /// The request that `data` answers without end.
    told_for: u64,
    keyboard: Keyboard,
    pointers: Pointers,
    selection: Selection,
    /// A clock of the caller's that only runs forward, in ms.
    now_ms: fn() -> u64,
    ready: VecDeque<Told>,
}

impl Observer {
    /// Begins to observe `display`, such as `:0` or `host:1`. `now_ms` is any clock that only runs
    /// forward.
    ///
    /// # Errors
    /// When there is no such display, it lets nobody in, or it lacks an extension.
    pub fn connect(display: &str, now_ms: fn() -> u64) -> Result<Self, ObserverError> {
        let control = Arc::new(line::connect(display)?);
        let data = line::connect(display)?;
        let keyboard = Keyboard::open(&control)?;
        let context = record::prepare(&control)?;
        let told_for = record::enable(&data, context)?;
        data.stream().watch_beside(&control);
        let pointers = Pointers::open(&control)?;
        let selection = Selection::open(&control)?;
        Ok(Self {
            control,
            data,
            told_for,
            keyboard,
            pointers,
            selection,
            now_ms,
            ready: VecDeque::new(),
        })
    }

    /// With what fences are raised.
    #[must_use]
    pub fn fence(&self) -> Fence {
        Fence {
            control: Arc::clone(&self.control),
        }
    }

    /// Waits for what happens next, however long that takes. A caller stamps it when this returns.
    ///
    /// # Errors
    /// When the display is gone, does not answer, or speaks nonsense.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would hide that this waits and that an error is the end"
    )]
    pub fn next(&mut self) -> Result<Told, ObserverError> {
        loop {
            if let Some(told) = self.ready.pop_front() {
                return Ok(told);
            }
            let packet = match self.data.wait_for_reply_or_raw_error(self.told_for) {
                Ok(ReplyOrError::Reply(packet)) => packet,
                Ok(ReplyOrError::Error(_)) => return Err(ObserverError::Refused),
                Err(error) if line::is_idle(&error) => {
                    self.look_at_clipboard()?;
                    continue;
                }
                Err(error) => return Err(lost(error)),
            };
            let (told, _) = EnableContextReply::try_parse(&packet).map_err(lost)?;
            line::forget_events(&self.data)?;
            for seen in record::parse(&told, record::client(&self.control)) {
                self.take(seen)?;
            }
        }
    }

    /// Hears all that the display has said of its clipboard until now, and has it hand out what it
    /// has for [`data`](Self::data).
    fn look_at_clipboard(&mut self) -> Result<(), ObserverError> {
        line::nudge(&self.control)?;
        let now_ms = (self.now_ms)();
        self.selection.look(&self.control, now_ms, &mut self.ready)
    }

    fn take(&mut self, seen: Seen) -> Result<(), ObserverError> {
        match seen {
            Seen::Key(event) => {
                let keys = self.keyboard.key(&self.control, event)?;
                self.ready.extend(keys.map(Input::Key).map(Told::Input));
            }
            Seen::Button { detail, down, at } => {
                let pointer = self.pointers.button(detail, down, at);
                self.ready
                    .extend(pointer.map(Input::Pointer).map(Told::Input));
            }
            Seen::Motion { at } => {
                let pointer = self.pointers.motion(at);
                self.ready
                    .extend(pointer.map(Input::Pointer).map(Told::Input));
            }
            Seen::Bound { first, bindings } => self.keyboard.bind(first, bindings),
            Seen::Relaid => self.keyboard.forget(),
            Seen::Fence(id) => {
                self.look_at_clipboard()?;
                self.selection.fence(id, &mut self.ready);
            }
        }
        Ok(())
    }
}
