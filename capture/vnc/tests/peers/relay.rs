//! The relay between real clients and a real server: neither notices it, and all that the client
//! does is read.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use capture::{
    Point,
    input::{Buttons, Input, Key, Keysym, Pointer},
};
use capture_vnc::{
    Challenge, Config, DriverError, Error, Password, Tls,
    proxy::{End, Relay, RelayConfig, RelayError},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};
use vnc::{VncEncoding, X11Event};

use crate::{
    clock::{Clock, wait_for},
    desktop::Desktop,
    oracle,
    recorder::Recorder,
    xvnc::{password_file, with_password},
};

/// What relays saw.
#[derive(Default)]
struct Seen {
    acts: Vec<Input>,
    ended: Vec<RelayError>,
}

/// A port behind which every driver is relayed to a desktop.
struct Proxy {
    port: u16,
    seen: Arc<Mutex<Seen>>,
    runtime: Option<tokio::runtime::Runtime>,
}

/// How relays reach a desktop.
#[derive(Clone)]
struct Access {
    port: u16,
    config: RelayConfig,
    /// What encrypts the way there, if it is to be.
    tls: Option<TlsConnector>,
}

impl Proxy {
    fn to(desktop: &Desktop) -> Self {
        Self::by(Access {
            port: desktop.port(),
            config: RelayConfig {
                user: None,
                password: None,
                random: None,
                tls: None,
                challenge: Challenge::new(*b"as if it were so"),
            },
            tls: None,
        })
    }

    fn by(access: Access) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let for_drivers = seen.clone();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            while let Ok((driver, _)) = listener.accept().await {
                let (access, seen) = (access.clone(), for_drivers.clone());
                tokio::spawn(async move {
                    let ended = relay(driver, access, &seen).await;
                    seen.lock().unwrap().ended.push(ended);
                });
            }
        });
        Self {
            port,
            seen,
            runtime: Some(runtime),
        }
    }

    fn acts(&self) -> Vec<Input> {
        self.seen.lock().unwrap().acts.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What a server is reached through.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

async fn relay(mut driver: TcpStream, access: Access, seen: &Mutex<Seen>) -> RelayError {
    let server = TcpStream::connect(("127.0.0.1", access.port)).await;
    let mut server: Box<dyn Wire> = Box::new(server.unwrap());
    let clock = Clock::start();
    let mut relay = Relay::new(access.config, 0);
    let mut said_by_driver = vec![0; 64 * 1024];
    let mut said_by_server = said_by_driver.clone();
    let mut ended = Ok(());
    loop {
        while let Some(bytes) = relay.poll_transmit(End::Driver) {
            driver.write_all(&bytes).await.ok();
        }
        while let Some(bytes) = relay.poll_transmit(End::Server) {
            server.write_all(&bytes).await.ok();
        }
        let acts = std::iter::from_fn(|| relay.poll_input());
        seen.lock().unwrap().acts.extend(acts);
        if let Err(error) = ended {
            return error;
        }
        if let Some(request) = relay.poll_upgrade() {
            assert!(!request.anonymous);
            let name = ServerName::try_from("127.0.0.1").unwrap();
            let encrypted = access.tls.as_ref().unwrap().connect(name, server).await;
            server = Box::new(encrypted.unwrap());
            ended = relay.handle_upgraded(clock.now_ms());
            continue;
        }
        let due_ms = relay.poll_timeout().unwrap_or(u64::MAX);
        let wait = due_ms.saturating_sub(clock.now_ms()).min(60_000);
        let (end, read) = tokio::select! {
            read = driver.read(&mut said_by_driver) => (End::Driver, read.unwrap_or(0)),
            read = server.read(&mut said_by_server) => (End::Server, read.unwrap_or(0)),
            () = tokio::time::sleep(Duration::from_millis(wait)) => {
                ended = relay.handle_timeout(clock.now_ms());
                continue;
            }
        };
        let said = match end {
            End::Driver => &said_by_driver[..read],
            End::Server => &said_by_server[..read],
        };
        ended = if read == 0 {
            Err(relay.handle_close(end))
        } else {
            relay.handle_bytes(clock.now_ms(), end, said)
        };
    }
}

/// A terminal in the upper left corner that writes the line typed into it to `path`.
fn open_terminal(desktop: &mut Desktop, path: &Path) {
    let read = format!("head -n1 > {}", path.display());
    desktop.open(&["xterm", "-geometry", "80x24+0+0", "-e", "sh", "-c", &read]);
    desktop.run(&[
        "xdotool",
        "search",
        "--sync",
        "--onlyvisible",
        "--class",
        "xterm",
    ]);
    wait_for("the terminal's shell", || path.exists().then_some(()));
}

fn wait_until_typed(path: &Path, expected: &str) {
    wait_for("the line", || {
        (std::fs::read_to_string(path).unwrap() == expected).then_some(())
    });
}

/// What types "hi" into the terminal that the pointer is moved to first.
fn typing() -> Vec<Input> {
    let pointer = Input::Pointer(Pointer {
        at: Point { x: 100, y: 100 },
        buttons: Buttons(0),
    });
    let keys = [0x68, 0x69, 0xff0d].into_iter().flat_map(|keysym| {
        [true, false].map(|down| {
            Input::Key(Key {
                keysym: Keysym(keysym),
                down,
                scan_code: None,
            })
        })
    });
    std::iter::once(pointer).chain(keys).collect()
}

#[test]
fn peer_relay_is_not_noticed_by_our_own_client() {
    let mut desktop = Desktop::xvnc(165, &["-depth", "24"]);
    let proxy = Proxy::to(&desktop);
    desktop.draw();
    let mut recorder = Recorder::connect_to(proxy.port, Config::default());
    recorder.record_until_equal(&desktop);

    let folder = tempfile::tempdir().unwrap();
    let line = folder.path().join("line");
    open_terminal(&mut desktop, &line);
    for act in typing() {
        recorder.session.send_input(&act);
    }
    recorder
        .record_until("the line", |_| {
            std::fs::read_to_string(&line).unwrap() == "hi\n"
        })
        .unwrap();
    assert_eq!(proxy.acts(), typing());

    drop(recorder);
    let inside_message = false;
    let closed = DriverError::Closed { inside_message };
    let ended = wait_for("the end", || proxy.seen.lock().unwrap().ended.pop());
    assert_eq!(ended, RelayError::Driver(closed));
}

#[test]
fn peer_relay_is_not_noticed_by_another_client() {
    let mut desktop = Desktop::xvnc(166, &["-depth", "24"]);
    let proxy = Proxy::to(&desktop);
    let folder = tempfile::tempdir().unwrap();
    let line = folder.path().join("line");
    open_terminal(&mut desktop, &line);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = oracle::connect(proxy.port, VncEncoding::Tight, "").await;
        for act in typing() {
            let event = match act {
                Input::Key(Key { keysym, down, .. }) => X11Event::KeyEvent((keysym.0, down).into()),
                _ => X11Event::PointerEvent((100, 100, 0).into()),
            };
            client.input(event).await.unwrap();
        }
        wait_until_typed(&line, "hi\n");
        client.close().await.ok();
    });
    assert_eq!(proxy.acts(), typing());
}

#[test]
fn peer_relay_passes_a_password_through() {
    let file = password_file("correct!");
    let path = file.path().to_str().unwrap();
    let secured = ["-SecurityTypes", "VncAuth", "-PasswordFile", path];
    let desktop = Desktop::xvnc(167, &secured);
    let proxy = Proxy::to(&desktop);

    let mut right = Recorder::connect_to(proxy.port, with_password("correct!"));
    right
        .record_until("the first picture", |recorder| recorder.updates > 0)
        .unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = oracle::connect(proxy.port, VncEncoding::Zrle, "correct!").await;
        client.close().await.ok();
    });

    let mut wrong = Recorder::connect_to(proxy.port, with_password("incorrect"));
    let refused = wrong.record_until("the refusal", |_| false).unwrap_err();
    assert!(
        matches!(refused, Error::PasswordRefused { .. }),
        "{refused:?}"
    );
    let ended = wait_for("the refusal", || {
        let refusal = RelayError::Server(refused.clone());
        let ended = proxy.seen.lock().unwrap().ended.clone();
        ended.into_iter().find(|error| *error == refusal)
    });
    assert_eq!(ended.end(), End::Server);
}

/// A certificate that vouches for itself, and its key.
fn certificate(folder: &Path) -> [String; 2] {
    let files = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
    let [certificate, key] = files.map(|file| file.to_str().unwrap().to_owned());
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-days", "2", "-subj", "/CN=desk", "-nodes"])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-addext", "basicConstraints=critical,CA:false"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-out", &certificate, "-keyout", &key])
        .output()
        .unwrap();
    assert!(made.status.success(), "openssl failed");
    [certificate, key]
}

fn trusting(certificate: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(certificate).unwrap();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[test]
fn peer_relay_encrypts_by_itself_and_asks_the_driver_for_the_same_password() {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = certificate(folder.path());
    let passwords = password_file("correct!");
    let mut desktop = Desktop::xvnc(
        168,
        &[
            &["-SecurityTypes", "X509Vnc", "-X509Cert", &certificate][..],
            &["-X509Key", &key, "-PasswordFile"],
            &[passwords.path().to_str().unwrap()],
        ]
        .concat(),
    );
    desktop.draw();
    let proxy = Proxy::by(Access {
        port: desktop.port(),
        config: RelayConfig {
            user: None,
            password: Some(Password::new("correct!".into())),
            random: None,
            tls: Some(Tls::Certified),
            challenge: Challenge::new(*b"as if it were so"),
        },
        tls: Some(trusting(&certificate)),
    });

    let mut right = Recorder::connect_to(proxy.port, with_password("correct!"));
    right.record_until_equal(&desktop);
    let mut wrong = Recorder::connect_to(proxy.port, with_password("incorrect"));
    let refused = wrong.record_until("the refusal", |_| false).unwrap_err();
    let said = "the password is wrong".into();
    assert_eq!(refused, Error::PasswordRefused { said });
    let wrong = RelayError::Driver(DriverError::PasswordWrong);
    wait_for("the refusal", || {
        proxy
            .seen
            .lock()
            .unwrap()
            .ended
            .contains(&wrong)
            .then_some(())
    });
}
