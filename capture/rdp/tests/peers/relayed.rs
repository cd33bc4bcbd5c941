//! A relay with real sockets, real TLS and a real clock, as the recorder will drive it; before it
//! `xfreerdp`, as a person would start it.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::Arc,
    time::Duration,
};

use capture::{Framebuffer, Password, Size, input::Input, source::SourceEvent};
use capture_rdp::{
    Config, Keymap, Session,
    proxy::{Channels, Credentials, End, Relay, RelayConfig, RelayError},
};
use tempfile::TempDir;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};

use crate::{
    client::believing,
    clock::Clock,
    desktop::{Desktop, Processes},
    rdp_server::certificate,
    screenshot::Screenshot,
};

/// What a driver must know.
pub(crate) const USER: &str = "operator";
pub(crate) const PASSWORD: &str = "battery staple";

/// How long anything may take here.
const LIMIT_MS: u64 = 60_000;

enum Line {
    Plain(TcpStream),
    ToDriver(Box<StreamOwned<ServerConnection, TcpStream>>),
    ToServer(Box<StreamOwned<ClientConnection, TcpStream>>),
    Closed,
}

impl Line {
    /// What came, after a short wait; `None` when it is closed.
    fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let wait = Some(Duration::from_millis(5));
        let read = match self {
            Self::Plain(socket) => {
                socket.set_read_timeout(wait).unwrap();
                socket.read(buffer)
            }
            Self::ToDriver(stream) => {
                stream.sock.set_read_timeout(wait).unwrap();
                stream.read(buffer)
            }
            Self::ToServer(stream) => {
                stream.sock.set_read_timeout(wait).unwrap();
                stream.read(buffer)
            }
            Self::Closed => return None,
        };
        match read {
            Ok(0) => None,
            Ok(len) => Some(len),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Some(0)
            }
            Err(_) => None,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let written = match self {
            Self::Plain(socket) => socket.write_all(bytes),
            Self::ToDriver(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Self::ToServer(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Self::Closed => Ok(()),
        };
        written.ok(); // that it is closed is told by the next read
    }
}

pub(crate) struct Relayed {
    pub(crate) relay: Relay,
    driver: Line,
    server: Line,
    clock: Clock,
    certificate: CertificateDer<'static>,
    tls: Arc<ServerConfig>,
    pub(crate) session: Option<Session>,
    pub(crate) screen: Framebuffer,
    pub(crate) events: Vec<SourceEvent>,
    pub(crate) acts: Vec<Input>,
}

/// A driver's `xfreerdp`, on a display of its own.
pub(crate) struct Driver {
    pub(crate) desktop: Desktop,
    _client: Processes,
}

impl Relayed {
    /// Starts a driver with this password on `display` and waits until it comes.
    pub(crate) fn start(display: u16, password: &str, port: u16, server: Config) -> (Self, Driver) {
        let folder = TempDir::new().unwrap();
        certificate(folder.path());
        let own = CertificateDer::from_pem_file(folder.path().join("cert.pem")).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let desktop = Desktop::bare(display, "1280x800");
        let mut client = Processes::default();
        client.spawn(
            Command::new("xfreerdp")
                .env("DISPLAY", desktop.display())
                .env("HOME", folder.path())
                .arg(format!("/v:{address}"))
                .arg(format!("/u:{USER}"))
                .arg(format!("/p:{password}"))
                .arg("/cert:ignore"),
        );
        let (driver, _) = listener.accept().unwrap();
        let config = RelayConfig {
            server,
            driver: Some(Credentials {
                user: USER.into(),
                password: Password::new(PASSWORD.into()),
            }),
            channels: Channels::default(),
            keymap: Box::new(|_| Keymap::us()),
        };
        let relayed = Self {
            relay: Relay::new(config, 0),
            driver: Line::Plain(driver),
            server: Line::Plain(TcpStream::connect(("127.0.0.1", port)).unwrap()),
            clock: Clock::start(),
            tls: Arc::new(serving(folder.path(), &own)),
            certificate: own,
            session: None,
            screen: Framebuffer::new(Size::new(1, 1), 42).unwrap(),
            events: Vec::new(),
            acts: Vec::new(),
        };
        let driver = Driver {
            desktop,
            _client: client,
        };
        (relayed, driver)
    }

    /// Relays until `done`, which must come.
    pub(crate) fn relay_until(
        &mut self,
        what: &str,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<(), RelayError> {
        let end_ms = self.clock.now_ms() + LIMIT_MS;
        while !done(self) {
            assert!(self.clock.now_ms() < end_ms, "waited too long for {what}");
            self.step()?;
        }
        Ok(())
    }

    /// Relays until the picture of who watches is the machine's own.
    pub(crate) fn relay_until_equal(&mut self, desktop: &Desktop) {
        let end_ms = self.clock.now_ms() + LIMIT_MS;
        loop {
            let shown = Screenshot::take(desktop);
            let taken_ms = self.clock.now_ms();
            self.relay_until("proof of the picture", |relayed| {
                let session = relayed.session.as_ref();
                session.and_then(Session::last_proof_ms) > Some(taken_ms)
            })
            .unwrap();
            let differing = shown.differing_px(&self.screen, [0; 3]);
            if differing == Some(0) && shown.colours() > 5 {
                return;
            }
            let late = self.clock.now_ms() >= end_ms;
            assert!(!late, "{differing:?} px of {} differ", shown.size);
        }
    }

    fn step(&mut self) -> Result<(), RelayError> {
        let mut buffer = vec![0; 64 * 1024];
        for end in [End::Driver, End::Server] {
            self.send()?;
            if !self.relay.wants_bytes(end) {
                continue;
            }
            let line = match end {
                End::Driver => &mut self.driver,
                End::Server => &mut self.server,
            };
            let read = line.read(&mut buffer);
            let now_ms = self.clock.now_ms();
            let heard = match read {
                Some(0) => self.relay.handle_timeout(now_ms),
                Some(len) => self.relay.handle_bytes(now_ms, end, &buffer[..len]),
                None => Err(self.relay.handle_close(end)),
            };
            self.watch(now_ms);
            if let Err(error) = heard {
                self.transmit();
                return Err(error);
            }
        }
        Ok(())
    }

    fn watch(&mut self, now_ms: u64) {
        while let Some(act) = self.relay.poll_input() {
            self.acts.push(act);
        }
        if let Some(desktop) = self.relay.poll_desktop() {
            self.session = Some(Session::watching(desktop, Config::default(), now_ms));
        }
        let Some(session) = &mut self.session else {
            return;
        };
        let shown = self.relay.poll_shown().unwrap_or_default();
        session
            .handle_bytes(now_ms, &shown, &mut self.screen)
            .unwrap();
        while let Some(event) = session.poll_event() {
            if let SourceEvent::Update { damage } = &event {
                self.screen.settle(damage);
                session.request_update(now_ms);
            }
            self.events.push(event);
        }
        while let Some(asked) = session.poll_transmit() {
            self.relay.ask(&asked);
        }
    }

    fn transmit(&mut self) {
        while let Some(bytes) = self.relay.poll_transmit(End::Driver) {
            self.driver.write(&bytes);
        }
        while let Some(bytes) = self.relay.poll_transmit(End::Server) {
            self.server.write(&bytes);
        }
    }

    fn send(&mut self) -> Result<(), RelayError> {
        loop {
            self.transmit();
            let Some(end) = self.relay.poll_upgrade() else {
                return Ok(());
            };
            let certificate = match end {
                End::Driver => self.encrypt_to_driver(),
                End::Server => self.encrypt_to_server(),
            };
            let now_ms = self.clock.now_ms();
            self.relay.handle_upgraded(now_ms, end, &certificate)?;
        }
    }

    fn encrypt_to_driver(&mut self) -> Vec<u8> {
        let Line::Plain(mut socket) = std::mem::replace(&mut self.driver, Line::Closed) else {
            panic!("asked to encrypt twice");
        };
        socket.set_read_timeout(None).unwrap();
        let mut tls = ServerConnection::new(Arc::clone(&self.tls)).unwrap();
        while tls.is_handshaking() {
            tls.complete_io(&mut socket).unwrap();
        }
        self.driver = Line::ToDriver(Box::new(StreamOwned::new(tls, socket)));
        self.certificate.to_vec()
    }

    fn encrypt_to_server(&mut self) -> Vec<u8> {
        let Line::Plain(mut socket) = std::mem::replace(&mut self.server, Line::Closed) else {
            panic!("asked to encrypt twice");
        };
        socket.set_read_timeout(None).unwrap();
        let config: Arc<ClientConfig> = Arc::new(believing());
        let name = ServerName::try_from("localhost").unwrap();
        let mut tls = ClientConnection::new(config, name).unwrap();
        while tls.is_handshaking() {
            tls.complete_io(&mut socket).unwrap();
        }
        let certificate = tls.peer_certificates().unwrap()[0].to_vec();
        self.server = Line::ToServer(Box::new(StreamOwned::new(tls, socket)));
        certificate
    }
}

fn serving(folder: &Path, own: &CertificateDer<'static>) -> ServerConfig {
    let key = fs::read(folder.join("key.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(&key).unwrap();
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.clone()], key)
        .unwrap()
}
