//! One connection as a state machine: bytes and time in, pixels, events and bytes out.

use std::collections::VecDeque;

use capture::{
    Damage, Framebuffer, Size, budget::Budget, input::Input as Act, source::SourceEvent,
};
use ironrdp_connector::ConnectionResult;

use crate::{
    config::Config,
    error::Error,
    graphics,
    handshake::{Handshake, Progress},
    limits,
    pieces::Pieces,
    proxy::Desktop,
    sealed,
    stream::{Output, Stream},
};

/// The state of a connection.
enum State {
    /// Until the desktop's size is known.
    Handshake(Box<Handshake>),
    /// A desktop that another client has agreed on, until there is something to paint it in.
    Agreed(Desktop),
    /// Messages and pictures.
    Streaming(Box<Stream>),
    /// Over, and why. Nothing more is read or said.
    Failed(Error),
}

/// One RDP connection, without its socket and its clock.
///
/// All times are milliseconds of one monotonic clock of the caller's choice.
///
/// The caller loops: it writes what [`poll_transmit`](Self::poll_transmit) gives, encrypts the
/// connection when [`poll_upgrade`](Self::poll_upgrade) asks for it, handles what
/// [`poll_event`](Self::poll_event) gives, then waits for bytes to
/// [`handle_bytes`](Self::handle_bytes) or for [`poll_timeout`](Self::poll_timeout) to
/// [`handle_timeout`](Self::handle_timeout). It drains both polls before it reads more, so what
/// is queued is bounded by what one read can say.
pub struct Session {
    config: Config,
    state: State,
    held: Vec<u8>,
    out: Vec<u8>,
    events: VecDeque<SourceEvent>,
    pixels: Budget,
    /// Pixels painted since the caller consumed a picture.
    ahead_px: u64,
    /// When the first and the last of them were painted.
    painted_ms: Option<(u64, u64)>,
    started_ms: u64,
    now_ms: u64,
    last_byte_ms: u64,
}

impl Session {
    /// A connection that was established at `now_ms`; we speak first.
    #[must_use]
    pub fn new(config: Config, now_ms: u64) -> Self {
        let mut out = Vec::new();
        let begun = sealed::run(|| Handshake::begin(config.clone(), &mut out));
        let state = match begun {
            Ok(handshake) => State::Handshake(Box::new(handshake)),
            Err(error) => State::Failed(error),
        };
        let mut session = Self::begin(config, now_ms, state);
        session.out = out;
        session
    }

    /// Watches a `desktop` that a driver and its machine have agreed on: what the machine says from
    /// then on is to be handled, and what asks for proof of the picture is all there is to
    /// transmit. Answers are the driver's to give, as when it agrees on another size.
    #[must_use]
    pub fn watching(desktop: Desktop, config: Config, now_ms: u64) -> Self {
        Self::begin(config, now_ms, State::Agreed(desktop))
    }

    const fn begin(config: Config, now_ms: u64, state: State) -> Self {
        Self {
            config,
            state,
            held: Vec::new(),
            out: Vec::new(),
            events: VecDeque::new(),
            pixels: Budget::new(limits::PIXELS_PER_S, limits::PIXEL_WINDOW_S, now_ms),
            ahead_px: 0,
            painted_ms: None,
            started_ms: now_ms,
            now_ms,
            last_byte_ms: now_ms,
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
        }
        let mut held = std::mem::take(&mut self.held);
        let mut input = Pieces::new(&mut held, bytes);
        let stepped = sealed::run(|| self.run(now_ms, &mut input, framebuffer));
        self.held = held;
        stepped.map_err(|error| self.fail(error))?;
        if let State::Streaming(stream) = &mut self.state {
            self.out.extend(stream.talk());
        }
        self.ask_what_is_due(now_ms);
        Ok(())
    }

    fn run(
        &mut self,
        now_ms: u64,
        input: &mut Pieces<'_>,
        framebuffer: &mut Framebuffer,
    ) -> Result<(), Error> {
        loop {
            let moved = match &mut self.state {
                State::Handshake(handshake) => {
                    match handshake.step(now_ms, input, &mut self.out)? {
                        Progress::Starved => false,
                        Progress::Moved => true,
                        Progress::Done(result) => {
                            let stream = self.start(now_ms, *result, framebuffer)?;
                            self.state = State::Streaming(Box::new(stream));
                            true
                        }
                    }
                }
                State::Agreed(desktop) => {
                    let result = desktop.clone().into_result(&self.config)?;
                    let stream = self.start(now_ms, result, framebuffer)?.watching();
                    self.state = State::Streaming(Box::new(stream));
                    true
                }
                State::Streaming(stream) => {
                    let mut output = Output {
                        framebuffer,
                        events: &mut self.events,
                        out: &mut self.out,
                        pixels: &mut self.pixels,
                        now_ms,
                        damage: Damage::EMPTY,
                    };
                    let moved = stream.step(input, &mut output)?;
                    let damage = output.damage;
                    self.tell(now_ms, damage);
                    moved
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
        result: ConnectionResult,
        framebuffer: &mut Framebuffer,
    ) -> Result<Stream, Error> {
        let desktop = result.desktop_size;
        let size = Size::new(u32::from(desktop.width), u32::from(desktop.height));
        framebuffer.resize(size)?;
        self.events.push_back(SourceEvent::Start {
            size,
            server_name: String::new(),
        });
        // Until the server says otherwise, the pointer is what the client's system has.
        self.events.push_back(SourceEvent::Cursor {
            at: None,
            shape: graphics::arrow(),
        });
        let proof_every_ms = self.config.proof_every_ms;
        Ok(Stream::new(result, size, proof_every_ms, now_ms))
    }

    /// Tells that `damage` is painted. Servers send a picture in many pieces; what came at once is
    /// told at once.
    fn tell(&mut self, now_ms: u64, damage: Damage) {
        let State::Streaming(stream) = &mut self.state else {
            return;
        };
        if damage.is_empty() {
            return;
        }
        let painted = damage.rects().iter().map(|rect| rect.area_px());
        self.ahead_px = self.ahead_px.saturating_add(painted.sum());
        let (first_ms, _) = self.painted_ms.unwrap_or((now_ms, now_ms));
        self.painted_ms = Some((first_ms, now_ms));
        let answered = stream.pace.painted(now_ms);
        match self.events.back_mut() {
            Some(SourceEvent::Update { damage: last }) => last.merge(&damage),
            _ => self.events.push_back(SourceEvent::Update { damage }),
        }
        if answered {
            self.events.push_back(SourceEvent::Proof);
        }
    }

    /// Whether the connection is to be encrypted now, by TLS. Until
    /// [`handle_upgraded`](Self::handle_upgraded) nothing else happens: everything to transmit was
    /// given out before, and bytes the peer sends belong to the encryption and not to the session.
    #[must_use]
    pub fn poll_upgrade(&self) -> bool {
        match &self.state {
            State::Handshake(handshake) => self.out.is_empty() && handshake.upgrade_is_due(),
            State::Agreed(_) | State::Streaming(_) | State::Failed(_) => false,
        }
    }

    /// Says that the connection is encrypted, to who holds the key of `certificate_der`: what is
    /// transmitted and handled from now on is what the encryption carries. Whether the certificate
    /// is to be believed is the caller's to decide, before. Nothing happens unless
    /// [`poll_upgrade`](Self::poll_upgrade) asks.
    ///
    /// # Errors
    /// When it took too long, or the certificate cannot be read and is needed to sign in; every
    /// later call returns the same error.
    pub fn handle_upgraded(&mut self, now_ms: u64, certificate_der: &[u8]) -> Result<(), Error> {
        self.check_deadlines(now_ms)?;
        let State::Handshake(handshake) = &mut self.state else {
            return Ok(());
        };
        let upgraded = sealed::run(|| {
            handshake.upgraded(certificate_der, &mut self.out)?;
            // Where nobody signs in, it is our turn to speak.
            let mut nothing = Vec::new();
            let mut input = Pieces::new(&mut nothing, &[]);
            while let Progress::Moved = handshake.step(now_ms, &mut input, &mut self.out)? {}
            Ok(())
        });
        upgraded.map_err(|error| self.fail(error))
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
        if let State::Failed(error) = &self.state {
            return Err(error.clone());
        }
        match self.deadline() {
            Some((deadline_ms, late)) if deadline_ms <= now_ms => Err(self.fail(late)),
            _ => Ok(()),
        }
    }

    /// When the peer's silence ends the session, and how.
    fn deadline(&self) -> Option<(u64, Error)> {
        match &self.state {
            State::Handshake(handshake) => {
                let at_ms = self.started_ms.saturating_add(limits::HANDSHAKE_MS);
                Some((at_ms, handshake.cut_short(Error::HandshakeTimeout)))
            }
            State::Streaming(stream) => {
                let silent_ms = self.last_byte_ms.saturating_add(limits::MESSAGE_SILENCE_MS);
                let inside = self.is_inside_message();
                let silence = inside.then_some((silent_ms, Error::MessageTimeout));
                let blank = stream.pace.blank_until_ms();
                let blank = blank.map(|at_ms| (at_ms, Error::NoGraphics));
                let both = [silence, blank].into_iter().flatten();
                both.min_by_key(|(at_ms, _)| *at_ms)
            }
            State::Agreed(_) => {
                let at_ms = self.started_ms.saturating_add(limits::FIRST_PICTURE_MS);
                Some((at_ms, Error::NoGraphics))
            }
            State::Failed(_) => None,
        }
    }

    /// Whether a message has begun and not ended.
    #[must_use]
    pub fn is_inside_message(&self) -> bool {
        match &self.state {
            State::Streaming(stream) => !stream.between_messages() || !self.held.is_empty(),
            State::Handshake(_) | State::Agreed(_) | State::Failed(_) => false,
        }
    }

    fn ask_what_is_due(&mut self, now_ms: u64) {
        if let State::Streaming(stream) = &mut self.state
            && stream.pace.due(now_ms)
        {
            self.out.extend(stream.ask_for_proof());
        }
    }

    /// Whether the picture is one that the machine showed, and not half of the next
    /// ([`limits::SETTLES_MS`]).
    #[must_use]
    pub fn is_whole(&self, now_ms: u64) -> bool {
        self.whole_from_ms().is_none_or(|from| from <= now_ms)
    }

    /// From when on what is painted counts as whole, if nothing else is.
    fn whole_from_ms(&self) -> Option<u64> {
        let (first_ms, last_ms) = self.painted_ms?;
        let at_rest = last_ms.saturating_add(limits::SETTLES_MS);
        Some(at_rest.min(first_ms.saturating_add(limits::SETTLED_BY_MS)))
    }

    /// Whether to read on. An RDP server sends what changes without being asked; a caller that
    /// does not read while this is false lets the network slow it down to the rate at which
    /// pictures are consumed.
    #[must_use]
    pub fn wants_bytes(&self) -> bool {
        match &self.state {
            State::Streaming(stream) => self.ahead_px < stream.size().area_px(),
            State::Handshake(_) | State::Agreed(_) | State::Failed(_) => true,
        }
    }

    /// Says that the last [`SourceEvent::Update`] is consumed: more may be read. The caller sets
    /// the frame rate by when it calls this.
    pub const fn request_update(&mut self, _now_ms: u64) {
        self.ahead_px = 0;
        self.painted_ms = None;
    }

    /// Asks for proof of the picture at once instead of when it is due, as before a stop. An
    /// update not yet consumed counts as consumed: proof is of all there is to show. Does nothing
    /// while an answer is owed already; when it comes, it is the proof.
    pub fn request_proof(&mut self, now_ms: u64) {
        self.ahead_px = 0;
        if let State::Streaming(stream) = &mut self.state
            && stream.pace.request_proof(now_ms)
        {
            self.out.extend(stream.ask_for_proof());
        }
    }

    /// Operates the machine. Nothing is said before the desktop is known. Of a clipboard the text is
    /// offered, where [`Config::clipboard`] asks for one, and goes when the machine asks for it.
    pub fn send_input(&mut self, input: &Act) {
        if let State::Streaming(stream) = &mut self.state {
            self.out.extend(stream.operate(input));
        }
    }

    /// Which of `inputs`, sent in this order, the server could not be told, and why.
    #[must_use]
    pub fn refusal(&self, inputs: &[Act]) -> Option<(usize, &'static str)> {
        match &self.state {
            State::Streaming(stream) => stream.refusal(inputs),
            _ => None,
        }
    }

    /// Says that the peer has closed the connection, and gives back what that means here.
    pub fn handle_close(&mut self) -> Error {
        let inside_message = self.is_inside_message();
        let closed = Error::Closed { inside_message };
        let error = match &self.state {
            State::Handshake(handshake) => handshake.cut_short(closed),
            State::Agreed(_) | State::Streaming(_) => closed,
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
        (!self.out.is_empty()).then(|| std::mem::take(&mut self.out))
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), or look at
    /// [`is_stalled`](Self::is_stalled), if no bytes come before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let deadline = self.deadline().map(|(at_ms, _)| at_ms);
        match &self.state {
            State::Handshake(_) | State::Agreed(_) => deadline,
            State::Streaming(stream) => {
                let stalled = stream.pace.stalled_from_ms(self.last_byte_ms);
                // A stall is no call for action of ours, so it is announced once.
                let stalled = stalled.filter(|&at| self.now_ms < at);
                let whole = self.whole_from_ms().filter(|&at| self.now_ms < at);
                [deadline, stream.pace.due_ms(), stalled, whole]
                    .into_iter()
                    .flatten()
                    .min()
            }
            // A session that never began has its error to tell.
            State::Failed(_) => Some(self.now_ms),
        }
    }

    /// When the picture was last proven to be the server's own. `None` before the first picture.
    #[must_use]
    pub const fn last_proof_ms(&self) -> Option<u64> {
        match &self.state {
            State::Streaming(stream) => stream.pace.last_proof_ms(),
            State::Handshake(_) | State::Agreed(_) | State::Failed(_) => None,
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
}
