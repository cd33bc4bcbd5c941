//! A session with a real socket, real TLS and a real clock, as the recorder will drive it.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use capture::{Framebuffer, Size, source::SourceEvent};
use capture_rdp::{Config, Error, Session};
use tokio_rustls::rustls::{
    self, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use crate::{clock::Clock, desktop::Desktop, screenshot::Screenshot};

/// How long anything may take here.
const LIMIT_MS: u64 = 30_000;

enum Transport {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

pub(crate) struct Client {
    transport: Option<Transport>,
    pub(crate) session: Session,
    pub(crate) screen: Framebuffer,
    clock: Clock,
    pub(crate) events: Vec<SourceEvent>,
}

impl Client {
    pub(crate) fn connect(port: u16, config: Config) -> Self {
        Self {
            transport: Some(Transport::Plain(
                TcpStream::connect(("127.0.0.1", port)).unwrap(),
            )),
            session: Session::new(config, 0),
            screen: Framebuffer::new(Size::new(1, 1), 42).unwrap(),
            clock: Clock::start(),
            events: Vec::new(),
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Records until `done`, which must come.
    pub(crate) fn record_until(
        &mut self,
        what: &str,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<(), Error> {
        let end_ms = self.now_ms() + LIMIT_MS;
        while !done(self) {
            assert!(self.now_ms() < end_ms, "waited too long for {what}");
            self.step()?;
        }
        Ok(())
    }

    /// Records until the picture is the screen's own, but for `apart` in red, green and blue.
    pub(crate) fn record_until_equal(&mut self, desktop: &Desktop, apart: [u8; 3]) {
        let end_ms = self.now_ms() + LIMIT_MS;
        loop {
            let shown = Screenshot::take(desktop);
            let taken_ms = self.now_ms();
            self.record_until("proof of the picture", |client| {
                client.session.last_proof_ms() > Some(taken_ms)
            })
            .unwrap();
            let differing = shown.differing_px(&self.screen, apart);
            if differing == Some(0) && shown.colours() > 5 {
                return;
            }
            let late = self.now_ms() >= end_ms;
            assert!(!late, "{differing:?} px of {} differ", shown.size);
        }
    }

    /// The error that the connection ends with.
    pub(crate) fn error(&mut self) -> Error {
        self.record_until("the end", |_| false).unwrap_err()
    }

    /// Says what there is to say, waits for bytes or time, and takes note of what came of them.
    fn step(&mut self) -> Result<(), Error> {
        self.send()?;
        let wait_ms = self
            .session
            .poll_timeout()
            .map_or(50, |at| at.saturating_sub(self.now_ms()))
            .clamp(1, 50);
        let mut buffer = vec![0; 64 * 1024];
        let wait = Duration::from_millis(wait_ms);
        let read = match self.transport.as_mut().unwrap() {
            Transport::Plain(socket) => {
                socket.set_read_timeout(Some(wait)).unwrap();
                socket.read(&mut buffer)
            }
            Transport::Encrypted(stream) => {
                stream.sock.set_read_timeout(Some(wait)).unwrap();
                stream.read(&mut buffer)
            }
        };
        let now_ms = self.now_ms();
        let heard = match read {
            Ok(0) => Err(self.session.handle_close()),
            Ok(n) => self
                .session
                .handle_bytes(now_ms, &buffer[..n], &mut self.screen),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.session.handle_timeout(now_ms)
            }
            Err(_) => Err(self.session.handle_close()),
        };
        while let Some(event) = self.session.poll_event() {
            if let SourceEvent::Update { damage } = &event {
                self.screen.settle(damage);
                self.session.request_update(now_ms);
            }
            self.events.push(event);
        }
        heard
    }

    fn send(&mut self) -> Result<(), Error> {
        loop {
            while let Some(bytes) = self.session.poll_transmit() {
                match self.transport.as_mut().unwrap() {
                    Transport::Plain(socket) => socket.write_all(&bytes).ok(),
                    Transport::Encrypted(stream) => {
                        stream.write_all(&bytes).ok();
                        stream.flush().ok()
                    }
                };
            }
            if !self.session.poll_upgrade() {
                return Ok(());
            }
            let Some(Transport::Plain(mut socket)) = self.transport.take() else {
                panic!("asked to encrypt twice");
            };
            socket.set_read_timeout(None).unwrap();
            let mut tls = ClientConnection::new(
                Arc::new(believing()),
                ServerName::try_from("localhost").unwrap(),
            )
            .unwrap();
            while tls.is_handshaking() {
                tls.complete_io(&mut socket).unwrap();
            }
            let certificate = tls.peer_certificates().unwrap()[0].to_vec();
            self.transport = Some(Transport::Encrypted(Box::new(StreamOwned::new(
                tls, socket,
            ))));
            self.session.handle_upgraded(self.now_ms(), &certificate)?;
        }
    }
}

/// TLS that believes any certificate: who these servers are is known.
pub(crate) fn believing() -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Believing(provider)))
        .with_no_client_auth()
}

#[derive(Debug)]
struct Believing(Arc<CryptoProvider>);

impl ServerCertVerifier for Believing {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
