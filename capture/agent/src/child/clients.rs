//! Who operates and who watches a machine that allows one connection: served from the recorder's
//! own picture, since the connection is the recorder's (capture.md, "Recording proxy").
//!
//! They are read as they send, each on a thread of its own, and served between frames, by the loop
//! that takes these. What they do waits for one frame to be coded at most, and goes to the machine
//! before anything else.

mod client;
mod ear;

use std::{
    collections::VecDeque,
    future::poll_fn,
    io,
    net::{TcpListener as StdTcpListener, TcpStream as StdTcpStream},
    task::{Context, Poll},
};

use capture::{Framebuffer, Point, cursor::CursorShape, mark::Mark, source::SourceEvent};
use capture_vnc::{Challenge, DriverError, Password, proxy::RelayError, server};
use tokio::net::TcpListener;

use self::client::Client;
use super::{
    inbox::{Act, Told},
    recording::Desktop,
};
use crate::{clock, clock::BootTime};

/// Who is served beside the driver: a console and some viewers. Each costs up to a picture of
/// packing for every frame. More wait to be accepted.
const WATCHERS_MAX: usize = 8;

/// A driver that is connected and not yet served, and where others will join it.
pub(super) struct Waiting {
    pub(super) driver: StdTcpStream,
    pub(super) listener: StdTcpListener,
    /// What clients must know, if anything: they cannot sign in to the machine themselves.
    pub(super) password: Option<String>,
}

/// Clients being served; dropping this hangs up.
pub(super) struct Clients {
    listener: TcpListener,
    password: Option<String>,
    driver: Client,
    watchers: Vec<Client>,
    /// What was heard and is still to be told.
    told: VecDeque<Told>,
    /// Whether there is no machine: what is done meanwhile reaches nobody, and is forgotten.
    away: bool,
    /// The pointer's place and shape, for clients to come.
    at: Option<Point>,
    shape: Option<CursorShape>,
}

impl Waiting {
    /// Lets clients in.
    pub(super) fn start(self) -> io::Result<Clients> {
        self.listener.set_nonblocking(true)?;
        Ok(Clients {
            listener: TcpListener::from_std(self.listener)?,
            password: self.password,
            driver: Client::from_std(self.driver)?,
            watchers: Vec::new(),
            told: VecDeque::new(),
            away: false,
            at: None,
            shape: None,
        })
    }
}

impl Clients {
    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(1 + self.watchers.len()).unwrap_or(u32::MAX)
    }

    /// What a client did or has said next. Cancel-safe.
    pub(super) async fn next(&mut self) -> Told {
        poll_fn(|cx| self.poll(cx)).await;
        self.told.pop_front().unwrap_or(Told::Asked)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.told.is_empty() {
            return Poll::Ready(());
        }
        let mut moved = false;
        if self.watchers.len() < WATCHERS_MAX
            && let Poll::Ready(Ok((stream, _))) = self.listener.poll_accept(cx)
            && let Ok(watcher) = Client::new(stream)
        {
            self.watchers.push(watcher);
            moved = true;
        }
        let mut acts = Vec::new();
        let driver = self.driver.poll(cx, &mut acts);
        self.watchers.retain_mut(|watcher| {
            let polled = watcher.poll(cx, &mut acts);
            moved |= polled.is_ready();
            !matches!(polled, Poll::Ready(Err(_)))
        });
        self.tell(acts);
        if let Poll::Ready(polled) = driver {
            moved = true;
            self.check_driver(polled);
        }
        if moved {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn tell(&mut self, acts: Vec<Act>) {
        if !self.away {
            self.told.extend(acts.into_iter().map(Told::Act));
        }
    }

    fn check_driver(&mut self, alive: Result<(), DriverError>) {
        if let Err(error) = alive {
            let departure = RelayError::Driver(error).into();
            self.told.push_back(Told::Left(departure));
        }
    }

    /// Has `mark` told behind all that clients have sent until now.
    pub(super) fn pass(&mut self, id: u64, mark: Mark) {
        let mut acts = Vec::new();
        let driver = self.driver.catch_up(&mut acts);
        self.watchers.retain_mut(|watcher| {
            let caught_up = watcher.catch_up(&mut acts);
            caught_up.is_ok()
        });
        self.tell(acts);
        self.told.push_back(Told::Mark { id, mark });
        self.check_driver(driver);
    }

    /// Greets who is new, and answers who asked for the picture as `framebuffer` shows it.
    ///
    /// # Errors
    /// When there is no randomness.
    pub(super) fn serve(
        &mut self,
        desktop: &Desktop,
        framebuffer: &Framebuffer,
        now: BootTime,
    ) -> io::Result<()> {
        self.away = false;
        let Self {
            driver, watchers, ..
        } = self;
        for client in std::iter::once(driver).chain(watchers) {
            if client.is_new() {
                let config = server::Config {
                    size: desktop.size,
                    name: desktop.server_name.clone(),
                    password: self.password.clone().map(Password::new),
                    challenge: Challenge::new(clock::random()?),
                };
                let mut session = server::Session::new(config, now.ms());
                session.cursor(self.at, self.shape.clone());
                client.greet(session);
            }
        }
        let driver = self.driver.serve(framebuffer, now);
        self.watchers
            .retain_mut(|watcher| watcher.serve(framebuffer, now).is_ok());
        self.check_driver(driver);
        Ok(())
    }

    /// When [`serve`](Self::serve) has something to do although nothing happens.
    pub(super) fn due(&self) -> Option<BootTime> {
        let clients = std::iter::once(&self.driver).chain(&self.watchers);
        clients.filter_map(Client::due).min()
    }

    /// The machine is gone, and may come back.
    pub(super) const fn part(&mut self) {
        self.away = true;
    }

    /// Passes on what the machine tells of its screen and its clipboard.
    pub(super) fn hear(&mut self, event: &SourceEvent) {
        match event {
            SourceEvent::Start { size, .. } | SourceEvent::Resize(size) => {
                self.sessions().for_each(|session| session.resize(*size));
            }
            SourceEvent::Update { damage } => {
                self.sessions().for_each(|session| session.damage(damage));
            }
            SourceEvent::Cursor { at, shape } => self.cursor(*at, shape.as_ref()),
            SourceEvent::Clipboard(clipboard) => {
                self.sessions()
                    .for_each(|session| session.clipboard(clipboard));
            }
            SourceEvent::Proof | SourceEvent::Bell => {}
        }
    }

    /// Says that the pointer has a new place or shape.
    pub(super) fn cursor(&mut self, at: Option<Point>, shape: Option<&CursorShape>) {
        self.sessions()
            .for_each(|session| session.cursor(at, shape.cloned()));
        self.at = at.or(self.at);
        if let Some(shape) = shape {
            self.shape = Some(shape.clone());
        }
    }

    fn sessions(&mut self) -> impl Iterator<Item = &mut server::Session> {
        let clients = std::iter::once(&mut self.driver).chain(&mut self.watchers);
        clients.filter_map(Client::session)
    }
}
