//! Where is a bucket to record into? ministack on loopback, and a line to it that can be cut.

use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;

use crate::http;
use crate::playhead::Home;
use crate::process::Process;

/// It may have to be installed first.
const START: Duration = Duration::from_secs(240);
/// The key that recorders are given. ministack takes any, and no test may find it anywhere.
pub const KEY: &str = "hunter2";

/// An S3 service with one bucket, `recordings`.
#[derive(Debug)]
pub struct Service {
    /// Where it listens.
    pub address: SocketAddr,
    process: Process,
}

impl Service {
    /// Starts one that logs to `folder`.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start(folder: &Path) -> anyhow::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/ministack");
        let mut command = Command::new(script);
        command.arg(address.port().to_string());
        let mut process = Process::start("ministack", folder, &mut command)?;
        process.wait_until("ministack", START, || http::get(address, "/").is_ok())?;
        let service = Self { address, process };
        service.request("recordings", &["--request", "PUT"])?;
        Ok(service)
    }

    /// Puts a file at `place`, a bucket and a key.
    ///
    /// # Errors
    /// When the service does not take it.
    pub fn put(&self, place: &str, file: &Path) -> anyhow::Result<()> {
        self.request(place, &["--upload-file", &file.to_string_lossy()])
    }

    fn request(&self, place: &str, how: &[&str]) -> anyhow::Result<()> {
        let done = Command::new("curl")
            .args(["--silent", "--fail", "--output", "/dev/null"])
            .args(how)
            .arg(format!("http://{}/{place}", self.address))
            .status()?;
        ensure!(done.success(), "{place}: {done}");
        Ok(())
    }

    /// The service's process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

/// The bucket's folder `prefix`, reached at `address`.
#[must_use]
pub fn url(prefix: &str, address: SocketAddr) -> String {
    format!("s3://recordings/{prefix}?endpoint=http://{address}")
}

/// A home whose programs record to `url`, with the key.
///
/// # Errors
/// When no folder can be made.
pub fn home(url: &str) -> anyhow::Result<Home> {
    Ok(Home::new()?
        .with("PLAYHEAD_STORE", url)
        .with("AWS_ACCESS_KEY_ID", "test")
        .with("AWS_SECRET_ACCESS_KEY", KEY))
}

/// What a line does with who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It puts them through.
    Open,
    /// It hangs up.
    Refused,
    /// It takes all they say and never answers.
    Silent,
}

/// A line to a service. It ends when it is dropped.
#[derive(Debug)]
pub struct Line {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    passage: Option<Passage>,
    calls: Vec<TcpStream>,
}

impl Line {
    /// An open one to `service`.
    ///
    /// # Errors
    /// When no port is free.
    pub fn to(service: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State {
            passage: Some(Passage::Open),
            calls: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for call in listener.incoming() {
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(passage) = state.passage else { return };
                if let Ok(kept) = call.and_then(|call| put_through(call, passage, service)) {
                    state.calls.extend(kept);
                }
            }
        });
        Ok(Self { address, state })
    }

    /// Treats all who call from now on so, and hangs up on those who have called.
    pub fn set(&self, passage: Passage) {
        self.change(Some(passage));
    }

    fn change(&self, passage: Option<Passage>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.passage = passage;
        for call in state.calls.drain(..) {
            let _ = call.shutdown(Shutdown::Both); // it may be over
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.change(None);
        let _ = TcpStream::connect(self.address); // so that the listener looks
    }
}

/// What has to be hung up to end the call.
fn put_through(
    call: TcpStream,
    passage: Passage,
    service: SocketAddr,
) -> io::Result<Vec<TcpStream>> {
    let kept = call.try_clone()?;
    match passage {
        Passage::Refused => Ok(Vec::new()),
        Passage::Silent => {
            std::thread::spawn(move || {
                let mut call = call;
                let mut heard = [0; 64 * 1024];
                while call.read(&mut heard).is_ok_and(|bytes| 0 < bytes) {}
            });
            Ok(vec![kept])
        }
        Passage::Open => {
            let onward = TcpStream::connect(service)?;
            relay(call.try_clone()?, onward.try_clone()?);
            relay(onward.try_clone()?, call);
            Ok(vec![kept, onward])
        }
    }
}

fn relay(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}
