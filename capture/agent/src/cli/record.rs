//! The options of `record`, most of which `proxy` takes too.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use anyhow::bail;
use capture::SessionId;
use clap::Args;
use encoder::Encoder;

use super::{Context, Places, Secret, secret::SourceParser};
use crate::{
    duration,
    input::InputSource,
    record::{marks, unrecorded},
    source::Source,
    spool,
};

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
    /// Operate the machine through the recorder: take keys, pointer, clipboard and marks as lines of
    /// JSON at this Unix socket, which only its owner can open
    ///
    /// It is recorded as what the driver intended (`driver`), before the machine is told, and refused
    /// while nothing is recorded. The README says how the lines look.
    #[arg(long, env = "PLAYHEAD_DRIVER", value_name = "SOCKET")]
    pub(crate) driver: Option<PathBuf>,
    /// What becomes of the machine while it cannot be recorded
    ///
    /// The picture then has a gap, `disk-full`. fail-open: it goes on unrecorded. fail-closed:
    /// `proxy` cuts the driver off, ends the session (exit code 6) and lets nobody in until there
    /// is room; `record` refuses what comes by --driver and, as it can only watch others, tells
    /// --on-unrecorded.
    /// Without this `proxy` fails closed; `record` does with --driver or --on-unrecorded.
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
            None => Ok(driven || told || self.driver.is_some()),
        }
    }
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

#[cfg(test)]
pub(super) mod tests {
    use super::{super::*, *};
    use clap::Parser as _;

    pub(in crate::cli) fn record(args: &[&str]) -> Result<Record, clap::Error> {
        let args = ["playhead-agent", "record", "vnc://desk"]
            .iter()
            .chain(args);
        Cli::try_parse_from(args).map(|cli| match cli.command {
            Command::Record(record) => *record,
            _ => unreachable!("the arguments say record"),
        })
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
        check(&["--driver", "socket"], Some(true), Some(true));
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
