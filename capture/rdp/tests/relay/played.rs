//! A relay both of whose ends are played.

use capture::{Framebuffer, Password, Size, input::Input, source::SourceEvent};
use capture_rdp::{
    Config, Keymap, Security, Session,
    proxy::{Channels, Credentials, End, Relay, RelayConfig, RelayError},
};

const DIALOGUE: &[u8] = include_bytes!("dialogue.bin");

/// Where the machine is signed in to.
pub(crate) const USER: &str = "WORK\\ada";
pub(crate) const PASSWORD: &str = "correct horse";

/// What each end said.
pub(crate) fn dialogue() -> Vec<(End, &'static [u8])> {
    let mut rest = DIALOGUE;
    let mut said = Vec::new();
    while let Some((&[end, l0, l1, l2, l3], behind)) = rest.split_first_chunk() {
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let end = [End::Driver, End::Server][usize::from(end)];
        said.push((end, &behind[..len]));
        rest = &behind[len..];
    }
    said
}

pub(crate) struct Played {
    pub(crate) relay: Relay,
    pub(crate) to_driver: Vec<u8>,
    pub(crate) to_server: Vec<u8>,
    pub(crate) acts: Vec<Input>,
    pub(crate) session: Option<Session>,
    pub(crate) screen: Framebuffer,
    pub(crate) events: Vec<SourceEvent>,
    pub(crate) asked: Vec<u8>,
    pub(crate) now_ms: u64,
}

pub(crate) fn config(driver: Option<Credentials>) -> RelayConfig {
    RelayConfig {
        server: Config {
            user: Some(USER.into()),
            password: Some(Password::new(PASSWORD.into())),
            security: Security::Tls,
            ..Config::default()
        },
        driver,
        channels: Channels::default(),
        keymap: Box::new(|_| Keymap::us()),
    }
}

impl Played {
    /// A relay that lets in whoever comes, and lets through what it does.
    pub(crate) fn open() -> Self {
        let mut played = Self::new(config(None));
        played.relay.let_through();
        played
    }

    pub(crate) fn new(config: RelayConfig) -> Self {
        Self {
            relay: Relay::new(config, 0),
            to_driver: Vec::new(),
            to_server: Vec::new(),
            acts: Vec::new(),
            session: None,
            screen: Framebuffer::new(Size::new(1, 1), 7).unwrap(),
            events: Vec::new(),
            asked: Vec::new(),
            now_ms: 1,
        }
    }

    /// Has `end` say `bytes`, encrypts when it is time, and takes what comes of it.
    pub(crate) fn hear(&mut self, end: End, bytes: &[u8]) -> Result<(), RelayError> {
        let heard = self.relay.handle_bytes(self.now_ms, end, bytes);
        self.drain();
        heard?;
        while let Some(end) = self.relay.poll_upgrade() {
            self.relay.handle_upgraded(self.now_ms, end, &[])?;
            self.drain();
        }
        Ok(())
    }

    pub(crate) fn drain(&mut self) {
        let transmit = |relay: &mut Relay, to| relay.poll_transmit(to).unwrap_or_default();
        let to_driver = transmit(&mut self.relay, End::Driver);
        self.to_driver.extend(to_driver);
        let to_server = transmit(&mut self.relay, End::Server);
        self.to_server.extend(to_server);
        while let Some(act) = self.relay.poll_input() {
            self.acts.push(act);
        }
        if let Some(desktop) = self.relay.poll_desktop() {
            self.session = Some(Session::watching(desktop, Config::default(), self.now_ms));
        }
        let shown = self.relay.poll_shown().unwrap_or_default();
        let Some(session) = &mut self.session else {
            assert!(shown.is_empty());
            return;
        };
        // What is wrong with a picture is for who watches to find.
        let seen = session.handle_bytes(self.now_ms, &shown, &mut self.screen);
        while let Some(event) = session.poll_event() {
            if let SourceEvent::Update { damage } = &event {
                self.screen.settle(damage);
                session.request_update(self.now_ms);
            }
            self.events.push(event);
        }
        if seen.is_ok() {
            self.asked
                .extend(session.poll_transmit().unwrap_or_default());
        }
    }

    /// Plays the dialogue up to what `until` says.
    pub(crate) fn play(&mut self, until: impl Fn(usize, End, &[u8]) -> bool) -> usize {
        for (number, (end, bytes)) in dialogue().into_iter().enumerate() {
            if until(number, end, bytes) {
                return number;
            }
            self.hear(end, bytes).unwrap();
        }
        dialogue().len()
    }
}
