//! RDP on loopback: FreeRDP's shadow server, which shows an X display.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    sync::Arc,
    time::Duration,
};

use capture::{Framebuffer, Password, Point, Size, source::SourceEvent};
use capture_rdp::{Config, Session};
use pipeline_tests::{
    process::Process,
    rdp_server::{PASSWORD, RdpServer, USER},
};
use tempfile::TempDir;
use tokio_rustls::rustls::{
    self, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::X11;
use crate::{machine::Machine, recorder::Link, screenshot::Screenshot};

/// How long one step waits for bytes.
const WAIT_MS: u64 = 50;

/// A display, and an RDP server that shows it.
pub(crate) struct Rdp {
    display: X11,
    server: RdpServer,
    _folder: TempDir,
}

impl Rdp {
    /// FreeRDP's shadow server on the same display, which its VNC server has besides.
    pub(crate) fn shadow(number: u16) -> Self {
        let (display, folder) = desktop(number);
        let server = RdpServer::shadow_at(folder.path(), number).unwrap();
        Self {
            display,
            server,
            _folder: folder,
        }
    }
}

fn desktop(number: u16) -> (X11, TempDir) {
    (X11::xvnc(number, "24", &[]), tempfile::tempdir().unwrap())
}

impl Machine for Rdp {
    fn connect(&self) -> Box<dyn Link> {
        let size = self.screenshot().size;
        Box::new(RdpLink::connect(self.server.port(), size))
    }

    fn screenshot(&self) -> Screenshot {
        self.display.screenshot()
    }

    fn paint(&mut self, scene: u8) {
        self.display.paint(scene);
    }

    fn blacken(&mut self) {
        self.display.blacken();
    }

    fn burst(&mut self) {
        self.display.burst();
    }

    fn sizes(&self) -> Vec<Size> {
        self.display.sizes()
    }

    fn resize(&mut self, size: Size) {
        self.display.resize(size);
    }

    fn point(&mut self, at: Point) {
        self.display.point(at);
    }

    fn server(&mut self) -> &mut Process {
        &mut self.server.server
    }
}

enum Transport {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

struct RdpLink {
    transport: Option<Transport>,
    session: Session,
    buffer: Box<[u8]>,
    received_bytes: u64,
}

impl RdpLink {
    fn connect(port: u16, size: Size) -> Self {
        let config = Config {
            user: Some(USER.into()),
            password: Some(Password::new(PASSWORD.into())),
            security: capture_rdp::Security::NlaOrTls,
            size,
            ..Config::default()
        };
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        Self {
            transport: Some(Transport::Plain(socket)),
            session: Session::new(config, 0),
            buffer: vec![0; 64 * 1024].into(),
            received_bytes: 0,
        }
    }

    fn send(&mut self, now_ms: u64) -> Result<(), String> {
        loop {
            while let Some(bytes) = self.session.poll_transmit() {
                // A connection that is closed tells so when it is read.
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
            let name = ServerName::try_from("localhost").unwrap();
            let mut tls = ClientConnection::new(Arc::new(believing()), name).unwrap();
            while tls.is_handshaking() {
                tls.complete_io(&mut socket)
                    .map_err(|error| error.to_string())?;
            }
            let certificate = tls.peer_certificates().unwrap().first().unwrap().to_vec();
            let stream = StreamOwned::new(tls, socket);
            self.transport = Some(Transport::Encrypted(Box::new(stream)));
            let upgraded = self.session.handle_upgraded(now_ms, &certificate);
            upgraded.map_err(|error| error.to_string())?;
        }
    }
}

impl Link for RdpLink {
    fn step(
        &mut self,
        now_ms: &dyn Fn() -> u64,
        screen: &mut Framebuffer,
    ) -> Result<Vec<SourceEvent>, String> {
        self.send(now_ms())?;
        let due_ms = self.session.poll_timeout().unwrap_or(u64::MAX);
        let wait_ms = due_ms.saturating_sub(now_ms()).clamp(1, WAIT_MS);
        let wait = Some(Duration::from_millis(wait_ms));
        let read = match self.transport.as_mut().unwrap() {
            Transport::Plain(socket) => {
                socket.set_read_timeout(wait).unwrap();
                socket.read(&mut self.buffer)
            }
            Transport::Encrypted(stream) => {
                stream.sock.set_read_timeout(wait).unwrap();
                stream.read(&mut self.buffer)
            }
        };
        let now_ms = now_ms();
        let heard = match read {
            Ok(0) => Err(self.session.handle_close()),
            Ok(n) => {
                self.received_bytes += n as u64;
                self.session.handle_bytes(now_ms, &self.buffer[..n], screen)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.session.handle_timeout(now_ms)
            }
            Err(_) => Err(self.session.handle_close()),
        };
        heard.map_err(|error| error.to_string())?;
        Ok(std::iter::from_fn(|| self.session.poll_event()).collect())
    }

    fn request_update(&mut self, now_ms: u64) {
        self.session.request_update(now_ms);
    }

    fn last_proof_ms(&self) -> Option<u64> {
        self.session.last_proof_ms()
    }

    fn is_stalled(&self, now_ms: u64) -> bool {
        self.session.is_stalled(now_ms)
    }

    fn received_bytes(&self) -> u64 {
        self.received_bytes
    }
}

/// TLS that believes any certificate: who these servers are is known.
fn believing() -> ClientConfig {
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
