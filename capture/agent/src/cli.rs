//! The command line of `playhead-agent`. Every option can also be set by its `PLAYHEAD_*` variable.

use std::{
    ffi::OsStr,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context as _, bail};
use capture::{
    SessionId, Size,
    session::{ActorKind, Document, Os, RunContext},
    trace::Traceparent,
};
use clap::{Args, Parser, Subcommand, ValueEnum, builder::TypedValueParser, error::ErrorKind};
use encoder::Encoder;
use segment::Sha256;
use telemetry::log::LogFormat;

use crate::{
    access::{self, Access, RdpAccess, RdpSecurity, Trust},
    duration, home,
    input::InputSource,
    record::{marks, unrecorded},
    source::{Source, SourceUrlError},
    spool,
};

/// Records desktop sessions and commits what was recorded.
#[derive(Debug, Parser)]
#[command(name = "playhead-agent", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// How the log is written to standard error; PLAYHEAD_LOG=info says more
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "PLAYHEAD_LOG_FORMAT"
    )]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a machine until it is given up, --duration passes, or SIGINT or SIGTERM arrives
    Record(Box<Record>),
    /// Stand between a machine and its drivers, and record what they see and do: one session for
    /// each connection
    Proxy(Box<Proxy>),
    /// Send what earlier, dead recorders left in the spool
    Flush(Places),
    /// Check encoder, store, catalogue, clock and, if given, a source, and say what to fix
    Doctor(Box<Doctor>),
    /// One recorded machine; started by `record`, never by hand
    #[command(hide = true)]
    Child,
}

/// Where things are kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct Places {
    /// Object store, such as file:///var/lib/playhead/store
    #[arg(long, env = "PLAYHEAD_STORE", value_name = "URL", default_value_t = home::store_url())]
    pub(crate) store: String,
    /// Catalogue, such as sqlite:///var/lib/playhead/catalog.db
    #[arg(long, env = "PLAYHEAD_CATALOG", value_name = "URL", default_value_t = home::catalog_url())]
    pub(crate) catalog: String,
    /// Folder for what is not yet in the store
    #[arg(long, env = "PLAYHEAD_SPOOL", value_name = "DIR", default_value_os_t = home::dir().join("spool"))]
    pub(crate) spool: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// A source to try, such as vnc://127.0.0.1:5901
    #[arg(value_parser = SourceParser, env = "PLAYHEAD_SOURCE", hide_env_values = true)]
    pub(crate) url: Option<Source>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) secret: Secret,
}

/// How the source is opened. Secrets come from files or the environment, never from an argument
/// that a process list shows.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The source")]
pub(crate) struct Secret {
    /// File whose first line is the source's password; else PLAYHEAD_PASSWORD is used
    #[arg(long, env = "PLAYHEAD_PASSWORD_FILE", value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// File of `Name: value` lines for the request that opens ws:// or wss://
    #[arg(long, env = "PLAYHEAD_HEADER_FILE", value_name = "FILE")]
    header_file: Option<PathBuf>,
    /// Insist on encryption (VeNCrypt) from a VNC server that is not behind wss://
    #[arg(long, env = "PLAYHEAD_TLS", value_parser = clap::builder::FalseyValueParser::new())]
    tls: bool,
    /// Believe only the certificate with this SHA-256 instead of the system's roots; implies --tls
    #[arg(long, env = "PLAYHEAD_TLS_PIN", value_name = "SHA256", value_parser = access::parse_pin)]
    tls_pin: Option<Sha256>,
    /// How to sign in to rdp://
    #[arg(
        long,
        env = "PLAYHEAD_RDP_SECURITY",
        value_name = "nla|nla-or-tls|tls",
        default_value = "nla",
        hide_possible_values = true
    )]
    rdp_security: RdpSecurity,
    /// Ask an RDP server for a desktop of this size; one that shows a screen has its own
    #[arg(long, env = "PLAYHEAD_RDP_SIZE", value_name = "WxH", default_value = "1920x1080",
          value_parser = access::parse_size)]
    rdp_size: Size,
}

impl Record {
    /// Whether the machine, `driven` through the recorder or not, is not to be used while it cannot
    /// be recorded.
    ///
    /// # Errors
    /// When somebody is to be told who never would be.
    pub(crate) fn fails_closed(&self, driven: bool) -> anyhow::Result<bool> {
        use unrecorded::Unrecorded::{FailClosed, FailOpen};
        let told = self.on_unrecorded.is_some();
        match self.unrecorded {
            _ if driven && told => {
                bail!("--on-unrecorded: a proxy cuts its driver off; this is for `record`")
            }
            Some(FailOpen) if told => bail!("--on-unrecorded needs --unrecorded fail-closed"),
            Some(policy) => Ok(policy == FailClosed),
            None => Ok(driven || told),
        }
    }
}

impl Secret {
    /// What the options and their files say.
    pub(crate) fn read(&self) -> anyhow::Result<Access> {
        let password = match &self.password_file {
            None => std::env::var("PLAYHEAD_PASSWORD").ok(),
            Some(file) => {
                let text = std::fs::read_to_string(file).context("reading --password-file")?;
                Some(text.lines().next().unwrap_or_default().to_owned())
            }
        };
        let headers = match &self.header_file {
            None => Vec::new(),
            Some(file) => {
                let text = std::fs::read_to_string(file).context("reading --header-file")?;
                access::parse_headers(&text).context("reading --header-file")?
            }
        };
        Ok(Access {
            password,
            headers,
            encrypt: self.tls || self.tls_pin.is_some(),
            trust: self.tls_pin.map_or(Trust::Roots, Trust::Pin),
            rdp: RdpAccess {
                security: self.rdp_security,
                size: self.rdp_size,
            },
        })
    }
}

/// A source's URL. What is wrong with one is said without repeating it: it may hold a secret.
#[derive(Clone, Copy)]
struct SourceParser;

impl TypedValueParser for SourceParser {
    type Value = Source;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Source, clap::Error> {
        let text = value.to_str().unwrap_or_default();
        text.parse().map_err(|error: SourceUrlError| {
            clap::Error::raw(ErrorKind::ValueValidation, format!("{error}\n")).with_cmd(command)
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The machine: vnc://host, rdp://user@host, mac://user@host, unix:/path, ws://host/path or wss://host/path
    #[arg(value_name = "URL", value_parser = SourceParser, env = "PLAYHEAD_SOURCE",
          hide_env_values = true)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) secret: Secret,
    #[command(flatten)]
    pub(crate) context: Context,
    /// Continue this unfinished session instead of beginning one
    #[arg(long, env = "PLAYHEAD_SESSION", value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// Redaction policy
    #[arg(long, env = "PLAYHEAD_POLICY", value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Record at most this many frames a second
    #[arg(long, env = "PLAYHEAD_FPS_MAX", value_name = "N", default_value_t = 15,
          value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) fps_max: u32,
    /// Stop after this long, such as 90s
    #[arg(long, env = "PLAYHEAD_DURATION", value_name = "SPAN", value_parser = capture::time::parse_span)]
    pub(crate) duration: Option<Duration>,
    /// Wait this long for a lost source: a span such as 10m, 0 or never
    #[arg(
        long,
        env = "PLAYHEAD_GIVE_UP_AFTER",
        value_name = "SPAN",
        default_value = "10m"
    )]
    pub(crate) give_up_after: duration::GiveUp,
    /// Record what is done on this X11 display, beside what the source tells: x11:DISPLAY, such as
    /// x11::0
    ///
    /// It is what programs such as xdotool do inside the machine, and a claim of the machine. What is
    /// put on the display's clipboard is recorded as well, as the policy says; its PRIMARY selection is
    /// not.
    /// XAUTHORITY names the file with the display's cookie. When it cannot be observed from the
    /// start, nothing is recorded: exit code 2 for a name that is none, 3 when the display refuses
    /// access, 4 otherwise. A display that is lost later is tried again.
    #[arg(long, env = "PLAYHEAD_INPUT", value_name = "x11:DISPLAY")]
    pub(crate) input: Option<InputSource>,
    /// Take marks at this TCP address, behind a token, or at unix:PATH
    #[arg(long, env = "PLAYHEAD_MARKS", value_name = "ADDR")]
    pub(crate) marks: Option<marks::Address>,
    /// File whose first line is the token that marks over TCP need; else PLAYHEAD_MARKS_TOKEN is used
    #[arg(long, env = "PLAYHEAD_MARKS_TOKEN_FILE", value_name = "FILE")]
    pub(crate) marks_token_file: Option<PathBuf>,
    /// Take marks from the driver at this Unix socket
    #[arg(long, env = "PLAYHEAD_DRIVER", value_name = "SOCKET")]
    pub(crate) driver: Option<PathBuf>,
    /// What becomes of the machine while it cannot be recorded
    ///
    /// The picture then has a gap, `disk-full`. fail-open: it goes on unrecorded. fail-closed:
    /// `proxy` cuts the driver off, ends the session (exit code 6) and lets nobody in until there
    /// is room; `record`, which can only watch, tells --on-unrecorded.
    /// Without this `proxy` fails closed; `record` does with --on-unrecorded.
    #[arg(long, env = "PLAYHEAD_UNRECORDED", value_enum)]
    pub(crate) unrecorded: Option<unrecorded::Unrecorded>,
    /// Who is to pause or destroy the machine while it cannot be recorded
    ///
    /// A command line for sh, which acknowledges with exit code 0, or a web address, which does
    /// with a 2xx. It is given JSON (session, reason, since), by input or POST, and again, after
    /// waits of up to a minute, until it acknowledges. If it never does, or nobody is named, the
    /// record says `unenforced`.
    #[arg(
        long,
        env = "PLAYHEAD_ON_UNRECORDED",
        value_name = "COMMAND|URL",
        hide_env_values = true
    )]
    pub(crate) on_unrecorded: Option<unrecorded::Hook>,
    /// How much of the spool's disk is kept free: nothing is recorded below it. Such as 2GiB or 5%;
    /// by default 512 MiB, or 2% if that is more
    #[arg(long, env = "PLAYHEAD_SPOOL_RESERVE", value_name = "SIZE")]
    pub(crate) spool_reserve: Option<spool::Reserve>,
    /// H.264 encoder
    #[arg(
        long,
        env = "PLAYHEAD_ENCODER",
        value_name = "auto|x264|openh264|hardware",
        default_value = "auto"
    )]
    pub(crate) encoder: Encoder,
    /// File to create once the first frame is durable
    #[arg(long, env = "PLAYHEAD_READY_FILE", value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,
    /// Tell how it goes at /metrics, for Prometheus, and at /readyz: a port of this machine, or an
    /// address
    #[arg(long, env = "PLAYHEAD_METRICS", value_name = "ADDR")]
    pub(crate) metrics: Option<Listen>,
    /// Print one JSON object a line instead of text for people
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where to listen: on the loopback unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen(pub(crate) SocketAddr);

impl std::str::FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u16>() {
            Ok(port) => Ok(Self((Ipv4Addr::LOCALHOST, port).into())),
            Err(_) => text.parse().map(Self).map_err(|_| {
                "it is a port, such as 9101, or an address, such as 127.0.0.1:9101".to_owned()
            }),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Proxy {
    #[command(flatten)]
    pub(crate) record: Record,
    /// Where drivers connect, such as 127.0.0.1:5999
    #[arg(long, env = "PLAYHEAD_LISTEN", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// Serve one driver and end with its session
    #[arg(long)]
    pub(crate) once: bool,
    /// How the machine is connected to: shared, twice, the driver's end to end; single, once, and
    /// everybody is served from the recorder's picture; auto asks the machine, which disconnects
    /// others if it allows one connection
    #[arg(long, env = "PLAYHEAD_UPSTREAM", value_enum, default_value_t)]
    pub(crate) upstream: Upstream,
}

/// How a proxied machine is to be connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Upstream {
    /// As many times as it allows.
    #[default]
    Auto,
    /// Once by each driver, and once by the recorder.
    Shared,
    /// Once, by the recorder.
    Single,
}

/// What the owner says about the work.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The run")]
pub(crate) struct Context {
    /// The run (piece of work) the session belongs to
    #[arg(long, env = "PLAYHEAD_RUN", value_name = "ID")]
    run: Option<String>,
    /// What was asked
    #[arg(long, env = "PLAYHEAD_REQUEST", value_name = "TEXT")]
    request: Option<String>,
    /// A title for people
    #[arg(long, env = "PLAYHEAD_TITLE", value_name = "TEXT")]
    title: Option<String>,
    /// The session this one branched or was restored from
    #[arg(long, env = "PLAYHEAD_PARENT", value_name = "SESSION")]
    parent: Option<SessionId>,
    /// The snapshot of the parent it began at
    #[arg(long, env = "PLAYHEAD_PARENT_SNAPSHOT", value_name = "ID")]
    parent_snapshot: Option<String>,
    /// Who operates the machine
    #[arg(long, env = "PLAYHEAD_ACTOR", value_name = "NAME")]
    actor: Option<String>,
    /// agent, person or service
    #[arg(long, env = "PLAYHEAD_ACTOR_KIND", value_name = "KIND")]
    actor_kind: Option<ActorKind>,
    /// On whose behalf
    #[arg(long, env = "PLAYHEAD_ON_BEHALF_OF", value_name = "NAME")]
    on_behalf_of: Option<String>,
    /// A label; may be given many times
    #[arg(long = "label", env = "PLAYHEAD_LABEL", value_name = "K=V", value_parser = label,
          value_delimiter = ',')]
    labels: Vec<(String, String)>,
    /// linux, windows or macos
    #[arg(long, env = "PLAYHEAD_OS", value_name = "OS")]
    os: Option<Os>,
    /// The image the machine was started from
    #[arg(long, env = "PLAYHEAD_IMAGE", value_name = "ID")]
    image: Option<String>,
    /// The image's attestation
    #[arg(long, env = "PLAYHEAD_ATTESTATION", value_name = "TEXT|@FILE", value_parser = text_or_file)]
    attestation: Option<String>,
    /// The deployment it runs in
    #[arg(long, env = "PLAYHEAD_DEPLOYMENT", value_name = "TEXT")]
    deployment: Option<String>,
    /// The region it runs in
    #[arg(long, env = "PLAYHEAD_REGION", value_name = "TEXT")]
    region: Option<String>,
    /// The egress policy applied to the machine
    #[arg(long, env = "PLAYHEAD_EGRESS_POLICY", value_name = "TEXT|@FILE", value_parser = text_or_file)]
    egress_policy: Option<String>,
    /// The trace the session belongs to, as a W3C traceparent
    #[arg(long, env = "PLAYHEAD_TRACEPARENT", value_name = "00-…")]
    traceparent: Option<Traceparent>,
}

impl From<Context> for RunContext {
    fn from(context: Context) -> Self {
        let document = |text: String| Document {
            sha256: Sha256::of(text.as_bytes()).into(),
            text,
        };
        Self {
            run: context.run,
            request: context.request,
            title: context.title,
            parent: context.parent,
            parent_snapshot: context.parent_snapshot,
            actor: context.actor,
            actor_kind: context.actor_kind,
            on_behalf_of: context.on_behalf_of,
            os: context.os,
            image: context.image,
            attestation: context.attestation,
            deployment: context.deployment,
            region: context.region,
            egress_policy: context.egress_policy.map(document),
            labels: context.labels.into_iter().collect(),
            traceparent: context.traceparent,
        }
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a label looks like key=value")?;
    if key.is_empty() {
        return Err("a label needs a key before the equals sign".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

fn text_or_file(text: &str) -> Result<String, String> {
    match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}")),
        None => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(args: &[&str]) -> Result<Record, clap::Error> {
        let args = ["playhead-agent", "record", "vnc://desk"]
            .iter()
            .chain(args);
        Cli::try_parse_from(args).map(|cli| match cli.command {
            Command::Record(record) => *record,
            _ => unreachable!("the arguments say record"),
        })
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    /// A file with that text; it lasts as long as what is given back.
    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    fn access(args: &[&str]) -> anyhow::Result<Access> {
        record(args).unwrap().secret.read()
    }

    #[test]
    fn the_password_is_a_files_first_line() {
        let file = file("hunter2\nrest\n");
        let path = file.path().to_str().unwrap();
        let access = access(&["--password-file", path]).unwrap();
        assert_eq!(access.password.as_deref(), Some("hunter2"));
    }

    #[test]
    fn headers_are_read_from_a_file() {
        let good = file("Authorization: Bearer t\n");
        let access_of = |file: &tempfile::NamedTempFile| {
            access(&["--header-file", file.path().to_str().unwrap()])
        };
        let expected = [("Authorization".to_owned(), "Bearer t".to_owned())];
        assert_eq!(access_of(&good).unwrap().headers, expected);
        let error = format!("{:#}", access_of(&file("hunter2")).unwrap_err());
        assert!(error.contains("--header-file: line 1"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn encryption_is_insisted_on_when_asked_for_or_pinned() {
        let pin = Sha256::of(b"certificate");
        let pinned = pin.to_string();
        for (args, encrypt, trust) in [
            (&[][..], false, Trust::Roots),
            (&["--tls"], true, Trust::Roots),
            (&["--tls-pin", &pinned], true, Trust::Pin(pin)),
        ] {
            let access = access(args).unwrap();
            assert_eq!((access.encrypt, access.trust), (encrypt, trust));
        }
    }

    #[test]
    fn every_option_of_the_source_has_its_variable() {
        use clap::CommandFactory as _;
        let cli = Cli::command();
        let record = cli.find_subcommand("record").unwrap();
        for (id, variable) in [
            ("source", "PLAYHEAD_SOURCE"),
            ("password_file", "PLAYHEAD_PASSWORD_FILE"),
            ("header_file", "PLAYHEAD_HEADER_FILE"),
            ("tls", "PLAYHEAD_TLS"),
            ("tls_pin", "PLAYHEAD_TLS_PIN"),
        ] {
            let arg = record.get_arguments().find(|arg| arg.get_id() == id);
            assert_eq!(arg.unwrap().get_env().unwrap(), variable);
        }
    }

    #[test]
    fn a_bad_url_is_not_repeated() {
        let args = ["playhead-agent", "record", "wss://u:hunter2@desk"];
        let error = Cli::try_parse_from(args).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let error = error.to_string();
        assert!(error.contains("--password-file"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn the_runs_context_reaches_the_record() {
        let args = [
            "--run", "r-1", "--label", "team=fin", "--label", "tier=2", "--os", "linux",
        ];
        let context = RunContext::from(record(&args).unwrap().context);
        assert_eq!(context.run.as_deref(), Some("r-1"));
        assert_eq!(context.labels.len(), 2);
        assert_eq!(context.os, Some(Os::Linux));
    }

    #[test]
    fn the_proxy_takes_the_options_of_record() {
        let args = "playhead-agent proxy vnc://desk --listen 127.0.0.1:0 --once --run r-1";
        let cli = Cli::try_parse_from(args.split(' ')).unwrap();
        let Command::Proxy(proxy) = cli.command else {
            unreachable!("the arguments say proxy");
        };
        assert!(proxy.once);
        assert_eq!(proxy.record.source.to_string(), "vnc://desk:5900");
        let nowhere = Cli::try_parse_from(["playhead-agent", "proxy", "vnc://desk"]).unwrap_err();
        assert!(nowhere.to_string().contains("--listen"), "{nowhere}");
    }

    #[test]
    fn a_machine_fails_closed_where_somebody_can_see_to_it() {
        let check = |args: &[&str], watched: Option<bool>, driven: Option<bool>| {
            let record = record(args).unwrap();
            assert_eq!(record.fails_closed(false).ok(), watched, "{args:?}");
            assert_eq!(record.fails_closed(true).ok(), driven, "{args:?}");
        };
        let hook = ["--on-unrecorded", "virsh suspend vm"];
        let (open, closed) = (
            ["--unrecorded", "fail-open"],
            ["--unrecorded", "fail-closed"],
        );
        check(&[], Some(false), Some(true));
        check(&hook, Some(true), None);
        check(&open, Some(false), Some(false));
        check(&closed, Some(true), Some(true));
        check(&[hook, open].concat(), None, None);
        check(&[hook, closed].concat(), Some(true), None);
    }

    #[test]
    fn a_port_alone_is_on_the_loopback() {
        let metrics = |text: &str| record(&["--metrics", text]).unwrap().metrics;
        for (text, address) in [("9101", "127.0.0.1:9101"), ("[::]:1", "[::]:1")] {
            assert_eq!(metrics(text), Some(Listen(address.parse().unwrap())));
        }
    }

    #[test]
    fn bad_values_name_their_option() {
        for (args, named) in [
            (["--fps-max", "0"], "--fps-max"),
            (["--os", "beos"], "linux, windows, macos"),
            (["--label", "novalue"], "key=value"),
            (["--traceparent", "00-1-2-3"], "trace_id"),
            (["--duration", "90"], "--duration"),
            (["--session", "x"], "--session"),
            (["--marks", "desk"], "127.0.0.1:8901"),
            (["--metrics", "desk"], "127.0.0.1:9101"),
            (["--tls-pin", "AB:CD"], "--tls-pin"),
            (["--unrecorded", "never"], "fail-open, fail-closed"),
            (["--on-unrecorded", "https://me@host/"], "--on-unrecorded"),
            (["--spool-reserve", "512"], "--spool-reserve"),
        ] {
            let error = record(&args).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
