//! One connection as a state machine: bytes and time in, pixels, events and bytes out.

use std::collections::VecDeque;

use capture::{Framebuffer, input::Input as Act, pixels::PixelFormat, source::SourceEvent};

use crate::{
    auth::Credentials,
    config::Config,
    encoding,
    error::Error,
    handshake::{Desktop, Handshake, Progress, TlsRequest},
    input::Input,
    limits,
    pace::Ask,
    request,
    stream::{Output, Stream, Terms},
    update::FIRST_PIXEL,
};

/// The state of a connection.
enum State {
    /// Until the desktop's size and name are known.
    Handshake(Box<Handshake>),
    /// Messages and pictures.
    Streaming(Box<Stream>),
    /// Over, and why. Nothing more is read or said.
    Failed(Error),
}

/// One RFB connection, without its socket and its clock.
///
/// All times are milliseconds of one monotonic clock of the caller's choice.
///
/// The caller loops: it writes what [`poll_transmit`](Self::poll_transmit) gives, handles what
/// [`poll_event`](Self::poll_event) gives, then waits for bytes to
/// [`handle_bytes`](Self::handle_bytes) or for [`poll_timeout`](Self::poll_timeout) to
/// [`handle_timeout`](Self::handle_timeout). It drains both polls before it reads more, so what
/// is queued is bounded by what one read can say.
///
/// After each [`SourceEvent::Update`] it calls [`request_update`](Self::request_update) once it
/// has consumed the picture: that is the only way for the next to come.
pub struct Session {
    config: Config,
    state: State,
    held: Vec<u8>,
    out: Vec<u8>,
    events: VecDeque<SourceEvent>,
    started_ms: u64,
    now_ms: u64,
    last_byte_ms: u64,
    received_bytes: u64,
}

impl Session {
    /// A connection that was established at `now_ms`; the server speaks first.
    #[must_use]
    pub fn new(config: Config, now_ms: u64) -> Self {
        let credentials = Credentials {
            user: config.user.clone(),
            password: config.password.clone(),
            random: config.random.clone(),
        };
        Self {
            state: State::Handshake(Box::new(Handshake::new(credentials, config.tls))),
            config,
            held: Vec::new(),
            out: Vec::new(),
            events: VecDeque::new(),
            started_ms: now_ms,
            now_ms,
            last_byte_ms: now_ms,
            received_bytes: 0,
        }
    }

    /// Takes bytes that were received at `now_ms` and paints `framebuffer`, always the same one:
    /// the session gives it the desktop's size at [`SourceEvent::Start`] and at each
    /// [`SourceEvent::Resize`], so it may begin as a single pixel.
    ///
    /// # Errors
    /// When the session is over; every later call returns the same error.
    pub fn handle_bytes(
        &mut self,
        now_ms: u64,
        bytes: &[u8],
        framebuffer: &mut Framebuffer,
    ) -> Result<(), Error> {
        self.check_deadlines(now_ms)?;
        if !bytes.is_empty() {
            self.last_byte_ms = now_ms;
            self.received_bytes = self.received_bytes.saturating_add(bytes.len() as u64);
        }
        let mut held = std::mem::take(&mut self.held);
        let mut input = Input::new(&mut held, bytes);
        let stepped = self.run(now_ms, &mut input, framebuffer);
        self.held = held;
        stepped.map_err(|error| self.fail(error))?;
        self.ask_what_is_due(now_ms);
        Ok(())
    }

    fn run(
        &mut self,
        now_ms: u64,
        input: &mut Input<'_>,
        framebuffer: &mut Framebuffer,
    ) -> Result<(), Error> {
        loop {
            let moved = match &mut self.state {
                State::Handshake(handshake) => match handshake.step(input, &mut self.out)? {
                    Progress::Starved => false,
                    Progress::Moved => true,
                    Progress::Done(desktop) => {
                        self.start(now_ms, desktop, framebuffer)?;
                        true
                    }
                },
                State::Streaming(stream) => {
                    let mut output = Output {
                        framebuffer,
                        events: &mut self.events,
                    };
                    stream.step(now_ms, input, &mut output)?
                }
                State::Failed(error) => return Err(error.clone()),
            };
            if !moved {
                return Ok(());
            }
        }
    }

    fn start(
        &mut self,
        now_ms: u64,
        desktop: Desktop,
        framebuffer: &mut Framebuffer,
    ) -> Result<(), Error> {
        let size = desktop.size;
        framebuffer.resize(size)?;
        let format = match self.config.pixel_format {
            Some(format) => {
                self.out.extend(request::set_pixel_format(format));
                format
            }
            None => PixelFormat::parse(&desktop.pixel_format)?,
        };
        let offered = encoding::offer(&self.config);
        self.out.extend(request::set_encodings(&offered));
        self.out.extend(request::update(false, size.rect()));
        let terms = Terms {
            size,
            name: desktop.name.clone(),
            format,
            offered,
            proof_every_ms: self.config.proof_every_ms,
        };
        self.state = State::Streaming(Box::new(Stream::new(terms, now_ms)?));
        self.events.push_back(SourceEvent::Start {
            size,
            server_name: desktop.name,
        });
        Ok(())
    }

    /// The encryption to wrap the connection in now. Until [`handle_upgraded`](Self::handle_upgraded)
    /// nothing else happens: everything to transmit was given out before, and bytes the peer sends
    /// belong to the encryption and not to the session.
    #[must_use]
    pub fn poll_upgrade(&self) -> Option<TlsRequest> {
        match &self.state {
            State::Handshake(handshake) => handshake.upgrade(),
            State::Streaming(_) | State::Failed(_) => None,
        }
    }

    /// Says that the connection is encrypted: what is transmitted and handled from now on is what
    /// the encryption carries. Nothing happens unless [`poll_upgrade`](Self::poll_upgrade) asks.
    ///
    /// # Errors
    /// When it took too long; every later call returns the same error.
    pub fn handle_upgraded(&mut self, now_ms: u64) -> Result<(), Error> {
        self.check_deadlines(now_ms)?;
        if let State::Handshake(handshake) = &mut self.state {
            handshake.upgraded(&mut self.out);
        }
        Ok(())
    }

    /// Does what has become due by `now_ms`.
    ///
    /// # Errors
    /// When the peer has been silent for too long; every later call returns the same error.
    pub fn handle_timeout(&mut self, now_ms: u64) -> Result<(), Error> {
        self.check_deadlines(now_ms)?;
        self.ask_what_is_due(now_ms);
        Ok(())
    }

    fn check_deadlines(&mut self, now_ms: u64) -> Result<(), Error> {
        self.now_ms = now_ms;
        let late = match &self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Handshake(handshake) => handshake.cut_short(Error::HandshakeTimeout),
            State::Streaming(_) => Error::MessageTimeout,
        };
        match self.deadline_ms() {
            Some(deadline) if deadline <= now_ms => Err(self.fail(late)),
            _ => Ok(()),
        }
    }

    /// When the peer's silence ends the session.
    fn deadline_ms(&self) -> Option<u64> {
        match &self.state {
            State::Handshake(_) => Some(self.started_ms.saturating_add(limits::HANDSHAKE_MS)),
            State::Streaming(_) if self.is_inside_message() => {
                Some(self.last_byte_ms.saturating_add(limits::MESSAGE_SILENCE_MS))
            }
            State::Streaming(_) | State::Failed(_) => None,
        }
    }

    /// Whether a message has begun and not ended. Inside an update the framebuffer shows parts
    /// of two pictures and must not be taken for either.
    #[must_use]
    pub fn is_inside_message(&self) -> bool {
        match &self.state {
            State::Streaming(stream) => !stream.between_messages() || !self.held.is_empty(),
            State::Handshake(_) | State::Failed(_) => false,
        }
    }

    fn ask_what_is_due(&mut self, now_ms: u64) {
        while let State::Streaming(stream) = &mut self.state
            && let Some(ask) = stream.pace.due(now_ms)
        {
            self.ask(ask);
        }
    }

    fn ask(&mut self, ask: Ask) {
        let State::Streaming(stream) = &self.state else {
            return;
        };
        let screen = stream.size().rect();
        self.out.extend(match ask {
            Ask::Whole => request::update(false, screen),
            Ask::Changes => request::update(true, screen),
            Ask::FirstPixel => request::update(false, FIRST_PIXEL),
        });
    }

    /// Says that the last [`SourceEvent::Update`] is consumed: the server may send the next. The
    /// caller sets the frame rate by when it calls this. Calling it more often does nothing.
    pub fn request_update(&mut self, now_ms: u64) {
        if let State::Streaming(stream) = &mut self.state
            && let Some(ask) = stream.pace.request(now_ms)
        {
            self.ask(ask);
        }
    }

    /// Asks for proof of the picture at once instead of when it is due, as before a stop. An
    /// update not yet consumed counts as consumed: proof is of all there is to show. Does nothing
    /// while an answer is owed already; when it comes, it is the proof.
    pub fn request_proof(&mut self, now_ms: u64) {
        self.request_update(now_ms);
        if let State::Streaming(stream) = &mut self.state
            && let Some(ask) = stream.pace.request_proof(now_ms)
        {
            self.ask(ask);
        }
    }

    /// Operates the machine, for a recorder whose connection is the only one there is. Nothing is
    /// said before the desktop is known. Of a clipboard the text goes: as Latin-1 unless the server
    /// speaks the extended protocol that [`Config::extended_clipboard`] asks for.
    pub fn send_input(&mut self, input: &Act) {
        let State::Streaming(stream) = &mut self.state else {
            return;
        };
        match input {
            Act::Key(key) => self.out.extend(request::key_event(*key)),
            Act::Pointer(pointer) => self.out.extend(request::pointer_event(*pointer)),
            Act::Clipboard(clipboard) => {
                if let Some(text) = &clipboard.text {
                    stream.talk.put(text.clone());
                    stream.talk.say(&mut self.out);
                }
            }
        }
    }

    /// Says that the peer has closed the connection, and gives back what that means here.
    pub fn handle_close(&mut self) -> Error {
        let inside_message = self.is_inside_message();
        let closed = Error::Closed { inside_message };
        let error = match &self.state {
            State::Handshake(handshake) => handshake.cut_short(closed),
            State::Streaming(_) => closed,
            State::Failed(error) => error.clone(),
        };
        self.fail(error)
    }

    fn fail(&mut self, error: Error) -> Error {
        self.held = Vec::new();
        self.out = Vec::new();
        self.state = State::Failed(error.clone());
        error
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SourceEvent> {
        self.events.pop_front()
    }

    /// What to write to the peer next.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        if let State::Streaming(stream) = &mut self.state {
            stream.talk.say(&mut self.out);
        }
        (!self.out.is_empty()).then(|| std::mem::take(&mut self.out))
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), or look at
    /// [`is_stalled`](Self::is_stalled), if no bytes come before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let State::Streaming(stream) = &self.state else {
            return self.deadline_ms();
        };
        let stalled = stream.pace.stalled_from_ms(self.last_byte_ms);
        // A stall is no call for action of ours, so it is announced once.
        let stalled = stalled.filter(|&at| self.now_ms < at);
        [self.deadline_ms(), stream.pace.due_ms(), stalled]
            .into_iter()
            .flatten()
            .min()
    }

    /// When the picture was last proven to be the server's own: an update answered, or stillness
    /// was confirmed. `None` before the first picture.
    #[must_use]
    pub const fn last_proof_ms(&self) -> Option<u64> {
        match &self.state {
            State::Streaming(stream) => stream.pace.last_proof_ms(),
            State::Handshake(_) | State::Failed(_) => None,
        }
    }

    /// Whether an answer that no server may hold back is overdue at `now_ms`. The picture is then
    /// unproven since [`last_proof_ms`](Self::last_proof_ms): the caller's to record as a gap. The
    /// session goes on, and the server may yet answer.
    #[must_use]
    pub fn is_stalled(&self, now_ms: u64) -> bool {
        let State::Streaming(stream) = &self.state else {
            return false;
        };
        let from_ms = stream.pace.stalled_from_ms(self.last_byte_ms);
        from_ms.is_some_and(|from| from <= now_ms)
    }

    /// The name that the server now gives the desktop: hostile text, bounded, not escaped. `None`
    /// before the start and after the end.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        match &self.state {
            State::Streaming(stream) => Some(stream.name()),
            State::Handshake(_) | State::Failed(_) => None,
        }
    }

    /// Bytes received so far.
    #[must_use]
    pub const fn received_bytes(&self) -> u64 {
        self.received_bytes
    }
}
