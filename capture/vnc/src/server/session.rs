//! One client's connection: bytes and time in, input and bytes out.

use std::collections::VecDeque;

use capture::{
    Damage, Framebuffer, Point, Size,
    cursor::CursorShape,
    input::{Clipboard, Input as Act},
    pixels::PixelFormat,
};

use super::{Config, encode::Pointer, serving::Serving};
use crate::{
    driver::{self, Accept, DriverError, Step},
    handshake::Desktop,
    input::Input,
    limits,
};

/// The state of a connection.
enum State {
    /// Until the client is let in.
    SignIn(Box<Accept>),
    /// Requests and pictures.
    Serving(Box<Serving>),
    /// Over, and why. Nothing more is read.
    Failed(DriverError),
}

/// One client, without its socket and its clock.
///
/// All times are milliseconds of one monotonic clock of the caller's choice.
///
/// The caller hands over what it reads, drains [`poll_input`](Self::poll_input), and whenever its
/// socket has taken all that [`poll_transmit`](Self::poll_transmit) gave before, calls
/// [`update`](Self::update) and writes what there is then. So a client that does not read is sent
/// no more, and what it gets in the end is the latest picture. After an error the caller still
/// writes what there is: it tells the client why it is not let in.
pub struct Session {
    state: State,
    name: String,
    size: Size,
    pointer: Pointer,
    held: Vec<u8>,
    out: Vec<u8>,
    acts: VecDeque<Act>,
    /// Since when the client's sign-in or the rest of a message is waited for.
    since_ms: u64,
}

impl Session {
    /// A client that connected at `now_ms`; we speak first.
    #[must_use]
    pub fn new(config: Config, now_ms: u64) -> Self {
        let mut out = Vec::new();
        let accept = Accept::new(config.password, config.challenge, &mut out);
        Self {
            state: State::SignIn(Box::new(accept)),
            name: config.name,
            size: config.size,
            pointer: Pointer::default(),
            held: Vec::new(),
            out,
            acts: VecDeque::new(),
            since_ms: now_ms,
        }
    }

    /// Takes bytes that were received at `now_ms`.
    ///
    /// # Errors
    /// When the session is over; every later call returns the same error.
    pub fn handle_bytes(&mut self, now_ms: u64, bytes: &[u8]) -> Result<(), DriverError> {
        self.handle_timeout(now_ms)?;
        if !bytes.is_empty() && self.is_serving() {
            self.since_ms = now_ms;
        }
        let mut held = std::mem::take(&mut self.held);
        let mut input = Input::new(&mut held, bytes);
        let run = self.run(&mut input);
        self.held = held;
        run.map_err(|error| self.fail(error))
    }

    fn run(&mut self, input: &mut Input<'_>) -> Result<(), DriverError> {
        loop {
            let moved = match &mut self.state {
                State::SignIn(accept) => match accept.step(input, &mut self.out)? {
                    Step::Starved => false,
                    Step::Moved => true,
                    Step::Done => {
                        self.serve();
                        true
                    }
                },
                State::Serving(serving) => serving.step(input, &self.pointer, &mut self.acts)?,
                State::Failed(error) => return Err(error.clone()),
            };
            if !moved {
                return Ok(());
            }
        }
    }

    fn serve(&mut self) {
        let desktop = Desktop {
            size: self.size,
            pixel_format: PixelFormat::BGRX.to_bytes(),
            name: self.name.clone(),
        };
        driver::server_init(&desktop, &mut self.out);
        self.state = State::Serving(Box::new(Serving::new(self.size)));
    }

    /// Ends the session if the client has been silent for too long.
    ///
    /// # Errors
    /// When it is over; every later call returns the same error.
    pub fn handle_timeout(&mut self, now_ms: u64) -> Result<(), DriverError> {
        let late = match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::SignIn(_) => DriverError::HandshakeTimeout,
            State::Serving(_) => DriverError::MessageTimeout,
        };
        match self.poll_timeout() {
            Some(deadline) if deadline <= now_ms => Err(self.fail(late)),
            _ => Ok(()),
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) if no bytes come before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let limit_ms = match &self.state {
            State::SignIn(_) => limits::DRIVER_SIGN_IN_MS,
            State::Serving(serving) if serving.is_inside_message() || !self.held.is_empty() => {
                limits::MESSAGE_SILENCE_MS
            }
            State::Serving(_) | State::Failed(_) => return None,
        };
        Some(self.since_ms.saturating_add(limit_ms))
    }

    fn fail(&mut self, error: DriverError) -> DriverError {
        self.held = Vec::new();
        self.state = State::Failed(error.clone());
        error
    }

    /// Whether the client is let in and not dropped.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        matches!(self.state, State::Serving(_))
    }

    /// What the client did next.
    pub fn poll_input(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }

    /// Says where the framebuffer changed.
    pub fn damage(&mut self, damage: &Damage) {
        if let State::Serving(serving) = &mut self.state {
            serving.damage(damage);
        }
    }

    /// Says that the framebuffer has a new size, and so new pixels.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        if let State::Serving(serving) = &mut self.state {
            serving.damage_all();
        }
    }

    /// Says that the pointer has a new place or a new shape. A client that draws no pointer by
    /// itself gets it painted into the picture, once both are known.
    pub fn cursor(&mut self, at: Option<Point>, shape: Option<CursorShape>) {
        let before = self.pointer.rect_on(self.size);
        let reshaped = shape.is_some();
        self.pointer.set(at, shape);
        let after = self.pointer.rect_on(self.size);
        if let State::Serving(serving) = &mut self.state {
            serving.pointer_changed([before, after], reshaped);
        }
    }

    /// Puts the recorded machine's clipboard on the client's. One without text is not passed on.
    pub fn clipboard(&mut self, clipboard: &Clipboard) {
        if let (State::Serving(serving), Some(text)) = (&mut self.state, &clipboard.text) {
            serving.talk.put(text.clone());
        }
    }

    /// Says what there is to say and asked for, of what `framebuffer` shows now: nothing while
    /// something is still to be transmitted, and a large picture in several parts.
    pub fn update(&mut self, framebuffer: &Framebuffer) {
        if let State::Serving(serving) = &mut self.state
            && self.out.is_empty()
        {
            serving.update(framebuffer, &self.pointer, self.size, &mut self.out);
        }
    }

    /// What to write to the client next.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        (!self.out.is_empty()).then(|| std::mem::take(&mut self.out))
    }
}
