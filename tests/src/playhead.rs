//! The product as its users have it: the recorder, the server, and the commands.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::Signal;
use serde_json::Value;

use crate::http::{self, Answer};
use crate::process::{Process, numbers, program};
use crate::truth::wall_ms;

/// Ports that tests serve on, unless `PLAYHEAD_TEST_PORTS` names others.
const PORTS: RangeInclusive<u16> = 18_200..=18_249;
const START: Duration = Duration::from_secs(30);
const CLOSE: Duration = Duration::from_secs(30);
/// Held from the choice of a port until it is in use.
static CHOOSING: Mutex<()> = Mutex::new(());

/// A `PLAYHEAD_HOME` of its own: store, catalogue and spool below one folder.
#[derive(Debug)]
pub struct Home {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Home {
    /// An empty one.
    ///
    /// # Errors
    /// When no folder can be made.
    pub fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("playhead-test-")
            .tempdir()?;
        let variables = Vec::new();
        Ok(Self { folder, variables })
    }

    /// The same, with this variable set for each program of the product.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Where it lies; logs of test programs lie there too.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A program of this product, set to this home.
    ///
    /// # Errors
    /// When it has not been built.
    pub fn command(&self, name: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(program(name)?);
        command
            .env("PLAYHEAD_HOME", self.path())
            // How full this machine's disk is is no part of any test.
            .env("PLAYHEAD_SPOOL_RESERVE", "1MiB")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Runs `playhead` to its end, whatever that is.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn playhead(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        Ok(self.command("playhead")?.args(arguments).output()?)
    }

    /// Runs `playhead-agent` to its end, whatever that is.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn agent(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        Ok(self.command("playhead-agent")?.args(arguments).output()?)
    }

    /// Writes a policy and gives back its path.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn policy(&self, text: &str) -> anyhow::Result<String> {
        let file = self.path().join("policy.toml");
        std::fs::write(&file, text)?;
        Ok(file.to_string_lossy().into_owned())
    }

    /// All files in the store whose path ends so, in order of their keys.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn objects(&self, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let mut folders = vec![self.path().join("store/v1")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.to_string_lossy().ends_with(ending) {
                    files.push(path);
                }
            }
        }
        files.sort();
        Ok(files)
    }
}

/// A running `playhead-agent record`.
#[derive(Debug)]
pub struct Recorder {
    /// The parent process.
    pub process: Process,
    said: PathBuf,
}

impl Recorder {
    /// Records `url` and returns when the first frame is durable.
    ///
    /// # Errors
    /// When that does not happen.
    pub fn start(home: &Home, url: &str, options: &[&str]) -> anyhow::Result<Self> {
        let ready = home.path().join("recording");
        let _ = std::fs::remove_file(&ready);
        let mut command = home.command("playhead-agent")?;
        command
            .args(["record", url, "--json", "--ready-file"])
            .arg(&ready)
            .args(options);
        Self::watch(home, &ready, &mut command)
    }

    /// Starts `command`, a recorder that creates `ready`, and returns when it has.
    ///
    /// # Errors
    /// When that does not happen.
    pub fn watch(home: &Home, ready: &Path, command: &mut Command) -> anyhow::Result<Self> {
        let mut process = Process::start("recorder", home.path(), command)?;
        process.wait_until("the first durable frame", START, || ready.exists())?;
        let said = home.path().join("recorder.out");
        Ok(Self { process, said })
    }

    /// What it has told by `--json` of this kind so far.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn events(&self, kind: &str) -> anyhow::Result<Vec<Value>> {
        events(&self.said, kind)
    }

    /// Waits until it closes by itself.
    ///
    /// # Errors
    /// When it does not.
    pub fn ended(mut self) -> anyhow::Result<ExitStatus> {
        self.process.wait(CLOSE)
    }

    /// Asks it to close, and checks that it does so cleanly.
    ///
    /// # Errors
    /// When it does not, or not in time.
    pub fn close(mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::INT)?;
        let status = self.process.wait(CLOSE)?;
        ensure!(status.success(), "the recorder closed with {status}");
        Ok(())
    }
}

/// A running `playhead-agent proxy`.
#[derive(Debug)]
pub struct Proxy {
    /// The parent process.
    pub process: Process,
    /// Where drivers connect.
    pub address: SocketAddr,
    said: PathBuf,
}

impl Proxy {
    /// Stands before `url` and returns when drivers may connect.
    ///
    /// # Errors
    /// When that does not happen.
    pub fn start(home: &Home, url: &str, options: &[&str]) -> anyhow::Result<Self> {
        let mut command = home.command("playhead-agent")?;
        command
            .args(["proxy", url, "--json", "--listen", "127.0.0.1:0"])
            .args(options);
        let mut process = Process::start("proxy", home.path(), &mut command)?;
        let said = home.path().join("proxy.out");
        let listening = || events(&said, "listening").ok()?.pop();
        process.wait_until("the proxy's address", START, || listening().is_some())?;
        let listening = listening().context("the proxy's address")?;
        let address = listening["address"].as_str().context("no address")?;
        Ok(Self {
            process,
            address: address.parse()?,
            said,
        })
    }

    /// What it has told by `--json` of this kind so far.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn events(&self, kind: &str) -> anyhow::Result<Vec<Value>> {
        events(&self.said, kind)
    }

    /// Waits until it has told of this kind so many times.
    ///
    /// # Errors
    /// When it does not.
    pub fn wait_for(&mut self, kind: &str, count: usize) -> anyhow::Result<Vec<Value>> {
        let said = self.said.clone();
        self.process.wait_until(kind, START, || {
            events(&said, kind).is_ok_and(|told| count <= told.len())
        })?;
        self.events(kind)
    }

    /// Asks it to close, and checks that it does so cleanly.
    ///
    /// # Errors
    /// When it does not, or not in time.
    pub fn close(mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::TERM)?;
        let status = self.process.wait(CLOSE)?;
        ensure!(status.success(), "the proxy closed with {status}");
        Ok(())
    }
}

/// The JSON objects of this kind in a log of `--json` lines; the last may be half written.
fn events(log: &Path, kind: &str) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(log)?;
    let told = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(told.filter(|told: &Value| told["event"] == kind).collect())
}

/// A running `playhead serve`.
#[derive(Debug)]
pub struct Server {
    _process: Process,
    address: SocketAddr,
}

impl Server {
    /// Serves what lies in `home`, on the first free port.
    ///
    /// # Errors
    /// When no port is free or the server does not come up.
    pub fn start(home: &Home) -> anyhow::Result<Self> {
        let _choosing = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
        let ports = numbers("PLAYHEAD_TEST_PORTS", PORTS);
        let address = ports
            .clone()
            .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .find(|address| TcpListener::bind(address).is_ok())
            .with_context(|| format!("ports {ports:?} are in use"))?;
        let mut command = home.command("playhead")?;
        command.args(["serve", "--listen", &address.to_string()]);
        let mut process = Process::start("server", home.path(), &mut command)?;
        process.wait_until("playhead serve", START, || {
            http::get(address, "/readyz").is_ok_and(|answer| answer.status == 200)
        })?;
        Ok(Self {
            _process: process,
            address,
        })
    }

    /// What a browser is given.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks for `path`, whatever the answer is.
    ///
    /// # Errors
    /// When none comes.
    pub fn get(&self, path: &str) -> anyhow::Result<Answer> {
        http::get(self.address, path)
    }

    /// Sends event rows.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn post_rows(&self, ndjson: &str) -> anyhow::Result<Answer> {
        let kind = "application/x-ndjson";
        http::post(self.address, "/api/v1/events", kind, ndjson.as_bytes())
    }

    /// The JSON at `path`, which must be there.
    ///
    /// # Errors
    /// When the status is not 200 or the body is not JSON.
    pub fn json(&self, path: &str) -> anyhow::Result<Value> {
        let answer = self.get(path)?;
        ensure!(
            answer.status == 200,
            "{path}: {} {}",
            answer.status,
            answer.text()
        );
        answer.json()
    }

    /// The only session that is listed.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn only_session(&self) -> anyhow::Result<Session<'_>> {
        let listed = self.json("/api/v1/sessions")?;
        let sessions = listed["sessions"].as_array().context("no sessions")?;
        ensure!(sessions.len() == 1, "expected one session: {listed}");
        Ok(self.session(sessions[0]["id"].as_str().context("no id")?))
    }

    /// The session of that id.
    #[must_use]
    pub fn session(&self, id: &str) -> Session<'_> {
        Session {
            server: self,
            path: format!("/api/v1/sessions/{id}"),
            id: id.to_owned(),
        }
    }
}

/// Something that was recorded beside the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// When, in ms since the session's start.
    pub t: u64,
    /// What it is.
    pub kind: String,
    /// Who says so.
    pub origin: String,
    /// What else there is to say.
    pub data: Value,
}

/// A session as the API tells it.
#[derive(Debug)]
pub struct Session<'a> {
    server: &'a Server,
    path: String,
    /// Its id.
    pub id: String,
}

impl Session<'_> {
    /// What the API says of the session itself.
    ///
    /// # Errors
    /// When it does not.
    pub fn head(&self) -> anyhow::Result<Value> {
        self.server.json(&self.path)
    }

    /// When media time was zero, in ms since 1970.
    ///
    /// # Errors
    /// When the API does not say.
    pub fn start_ms(&self) -> anyhow::Result<u64> {
        wall_ms(self.head()?["start"].as_str().context("no start")?)
    }

    /// Spans without picture as (from, to, reason), in ms since the session's start.
    ///
    /// # Errors
    /// When the timeline does not say.
    pub fn gaps(&self) -> anyhow::Result<Vec<(u64, u64, String)>> {
        let timeline = self.json("/timeline")?;
        let listed = timeline["gaps"].as_array().context("no gaps")?;
        let gap = |gap: &Value| {
            let reason = gap["reason"].as_str()?.to_owned();
            Some((gap["from"].as_u64()?, gap["to"].as_u64()?, reason))
        };
        let gaps: Option<Vec<_>> = listed.iter().map(gap).collect();
        gaps.with_context(|| timeline["gaps"].to_string())
    }

    /// The JSON of a part: `/timeline`, `/events?kinds=log`.
    ///
    /// # Errors
    /// When there is no such part.
    pub fn json(&self, part: &str) -> anyhow::Result<Value> {
        self.server.json(&format!("{}{part}", self.path))
    }

    /// What was recorded beside the picture, of these kinds, in order.
    ///
    /// # Errors
    /// When the API does not say, or says more than fits on a page.
    pub fn recorded(&self, kinds: &str) -> anyhow::Result<Vec<Recorded>> {
        let answer = self.json(&format!("/events?limit=1000&kinds={kinds}"))?;
        ensure!(answer["next"].is_null(), "more than a page of {kinds}");
        let columns = answer["columns"].as_array().context("no columns")?;
        let column = |name: &str| columns.iter().position(|column| column == name);
        let (t, kind) = (
            column("t").context("no t")?,
            column("kind").context("no kind")?,
        );
        let origin = column("origin").context("no origin")?;
        let data = column("data").context("no data")?;
        let rows = answer["rows"].as_array().context("no rows")?.iter();
        let recorded = rows.map(|row| {
            Some(Recorded {
                t: row[t].as_u64()?,
                kind: row[kind].as_str()?.to_owned(),
                origin: row[origin].as_str()?.to_owned(),
                data: row[data].clone(),
            })
        });
        let recorded: Option<Vec<_>> = recorded.collect();
        recorded.with_context(|| answer.to_string())
    }

    /// A part, whatever the answer is.
    ///
    /// # Errors
    /// When none comes.
    pub fn get(&self, part: &str) -> anyhow::Result<Answer> {
        self.server.get(&format!("{}{part}", self.path))
    }
}
