//! Who is told that a machine cannot be recorded? `--on-unrecorded`: a command, or a URL, which is
//! to pause or destroy it, and is told again until it says that it has (store.md, "Spool and
//! upload").

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use capture::{GapReason, SessionId, WallTime};
use http::{Request, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde::Serialize;
use tokio::{
    io::AsyncWriteExt as _,
    process::Command,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_rustls::rustls::crypto::ring;
use url::Url;

/// What is told gets this long to answer, each time.
const PATIENCE: Duration = Duration::from_secs(30);
/// The wait before it is told again; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What becomes of a machine that cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Unrecorded {
    /// It goes on unrecorded.
    FailOpen,
    /// It is not used: its driver is cut off, or --on-unrecorded sees to it.
    FailClosed,
}

/// Whom to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// A command line for `sh`, which reads the news on its input and acknowledges with exit code 0.
    Command(String),
    /// A web address, which is sent the news and acknowledges with a 2xx.
    Web(Url),
}

/// Why a text names nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HookError {
    #[error("it is empty")]
    Empty,
    #[error("its URL names a user; give a command, such as curl")]
    User,
    #[error(transparent)]
    Url(#[from] url::ParseError),
}

impl std::str::FromStr for Hook {
    type Err = HookError;

    fn from_str(text: &str) -> Result<Self, HookError> {
        if text.trim().is_empty() {
            return Err(HookError::Empty);
        }
        if !["http://", "https://"]
            .iter()
            .any(|web| text.starts_with(web))
        {
            return Ok(Self::Command(text.to_owned()));
        }
        let url = Url::parse(text)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HookError::User);
        }
        Ok(Self::Web(url))
    }
}

/// What is told.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct News {
    /// The session that is not recorded.
    pub(super) session: SessionId,
    /// Why.
    pub(super) reason: GapReason,
    /// Since when.
    pub(super) since: WallTime,
}

/// Tells of one session, until it is acknowledged or there is nothing to tell any more.
pub(super) struct Alarm {
    hook: Option<Hook>,
    telling: Option<JoinHandle<()>>,
    acknowledged: bool,
}

impl Alarm {
    /// An alarm for whoever `hook` is; nobody hears one without.
    pub(super) const fn new(hook: Option<Hook>) -> Self {
        Self {
            hook,
            telling: None,
            acknowledged: false,
        }
    }

    /// Begins to tell `news`, unless some are being told.
    pub(super) fn raise(&mut self, news: News) {
        if let (Some(hook), None, false) = (&self.hook, &self.telling, self.acknowledged) {
            let hook = hook.clone();
            self.telling = Some(tokio::spawn(async move { hook.tell(news).await }));
        }
    }

    /// There is nothing to tell any more.
    pub(super) fn clear(&mut self) {
        self.acknowledged = false;
        if let Some(telling) = self.telling.take() {
            telling.abort();
        }
    }

    /// Waits until what is told is acknowledged. Cancel-safe.
    pub(super) async fn acknowledged(&mut self) {
        match &mut self.telling {
            Some(telling) => self.acknowledged = telling.await.is_ok(),
            None => std::future::pending().await,
        }
        self.telling = None;
    }

    /// Whether it was.
    pub(super) const fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Hook {
    /// Tells `news` until they are acknowledged.
    async fn tell(&self, news: News) {
        let Ok(body) = serde_json::to_string(&news) else {
            return std::future::pending().await; // three texts are always JSON
        };
        let mut wait = FIRST_WAIT;
        loop {
            let told = match self {
                Self::Command(line) => timeout(PATIENCE, run(line, &body)).await,
                Self::Web(url) => timeout(PATIENCE, post(url, &body)).await,
            };
            let error = match told {
                Ok(Ok(())) => return,
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
            };
            tracing::warn!(session = %news.session, error, "Not acknowledged by --on-unrecorded");
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

async fn run(line: &str, body: &str) -> anyhow::Result<()> {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let mut child = command.spawn().context("starting it")?;
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(body.as_bytes()).await; // it need not read it
    }
    let status = child.wait().await?;
    ensure!(status.success(), "it ended with {status}");
    Ok(())
}

async fn post(url: &Url, body: &str) -> anyhow::Result<()> {
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(ring::default_provider())
        .context("reading this system's root certificates")?
        .https_or_http()
        .enable_http1()
        .build();
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let request = Request::post(url.as_str())
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body.to_owned())))?;
    let status = client.request(request).await?.status();
    ensure!(status.is_success(), "it answers {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt as _, net::TcpListener};

    use super::*;

    fn news() -> News {
        News {
            session: SessionId::new(1, [1; 10]),
            reason: GapReason::DiskFull,
            since: WallTime::from_unix_ms(0),
        }
    }

    #[tokio::test]
    async fn a_command_is_run_until_it_succeeds() {
        let dir = tempfile::tempdir().unwrap();
        let (seen, shown) = (dir.path().join("seen"), dir.path().display());
        // It fails the first time.
        let line = format!(
            "cat >> {shown}/seen; echo >> {shown}/seen; test -e {shown}/once || \
                            {{ touch {shown}/once; exit 1; }}"
        );
        line.parse::<Hook>().unwrap().tell(news()).await;
        let seen = std::fs::read_to_string(seen).unwrap();
        let told: Vec<serde_json::Value> = seen
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(told.len(), 2);
        assert_eq!(told[0], told[1]);
        assert_eq!(told[0]["reason"], "disk-full");
        assert_eq!(told[0]["since"], "1970-01-01T00:00:00.000Z");
    }

    #[tokio::test]
    async fn a_web_address_is_told_until_it_says_yes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let mut requests = Vec::new();
            for status in ["503 Busy", "204 No Content"] {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 4096];
                let mut len = 0;
                while !request[..len].ends_with(b"}") {
                    len += stream.read(&mut request[len..]).await.unwrap();
                }
                requests.push(String::from_utf8_lossy(&request[..len]).into_owned());
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            requests
        });
        let hook: Hook = format!("http://{address}/pause?vm=7").parse().unwrap();
        hook.tell(news()).await;
        let requests = server.await.unwrap();
        assert!(
            requests[1].starts_with("POST /pause?vm=7 HTTP/1.1\r\n"),
            "{requests:?}"
        );
        assert!(requests[1].contains("\"disk-full\""), "{requests:?}");
        assert_eq!(requests[0], requests[1]);
    }

    #[tokio::test]
    async fn an_alarm_is_acknowledged_once_and_can_be_cleared() {
        let mut alarm = Alarm::new(Some(Hook::Command("true".to_owned())));
        alarm.raise(news());
        alarm.acknowledged().await;
        assert!(alarm.is_acknowledged());
        alarm.raise(news()); // what is known need not be told
        assert!(alarm.telling.is_none());
        alarm.clear();
        assert!(!alarm.is_acknowledged());
        alarm.raise(news());
        assert!(alarm.telling.is_some());
    }

    #[test]
    fn who_cannot_be_told_is_refused() {
        for (text, named) in [
            ("https://me:secret@host/", "curl"),
            ("http://", "host"),
            (" ", "empty"),
        ] {
            let refused = text.parse::<Hook>().unwrap_err().to_string();
            assert!(refused.contains(named), "{text}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
        assert!(matches!("virsh suspend vm".parse(), Ok(Hook::Command(_))));
        assert!(matches!("https://host/pause".parse(), Ok(Hook::Web(_))));
    }
}
