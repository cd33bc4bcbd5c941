//! `playhead resolve`: where is a trace, an event, or a time?

use std::process::ExitCode;

use anyhow::anyhow;
use capture::{
    SessionId,
    trace::{SpanId, TraceId},
};
use clap::Args;
use index::{At, resolve};

use super::{Failure, Outcome, say};
use crate::archive::Archive;

#[derive(Args, Debug)]
pub(super) struct Resolve {
    /// A trace: 32 hexadecimal digits
    #[arg(long, value_name = "ID", conflicts_with_all = ["event", "session", "at"])]
    trace: Option<TraceId>,
    /// A span of the trace: 16 hexadecimal digits
    #[arg(long, value_name = "ID", requires = "trace")]
    span: Option<SpanId>,
    /// An event's id
    #[arg(long, value_name = "ID", conflicts_with_all = ["session", "at"])]
    event: Option<String>,
    /// A session, beside --at
    #[arg(long, value_name = "SESSION", requires = "at")]
    session: Option<SessionId>,
    /// Seconds (12.5), a clock (1:02:03.250) or UTC (2026-11-30T09:14:03.250Z)
    #[arg(
        long,
        value_name = "T",
        requires = "session",
        allow_hyphen_values = true
    )]
    at: Option<At>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Resolve {
    pub(super) async fn run(self, archive: &Archive) -> Outcome {
        let (catalog, now) = (&*archive.catalog, (archive.now)());
        let found = match (self.trace, self.event, self.session, self.at) {
            (Some(trace), ..) => resolve::by_trace(catalog, trace, self.span, now).await?,
            (_, Some(event), ..) => resolve::by_event(catalog, &event, now).await?,
            (_, _, Some(session), Some(at)) => {
                resolve::by_session(catalog, session, at, now).await?
            }
            _ => {
                let error = anyhow!("give --trace, --event, or --session and --at");
                return Err(Failure::usage(error));
            }
        };
        for moment in found {
            if self.json {
                say(serde_json::to_string(&moment)?);
                continue;
            }
            let error = moment.error_ms.map_or_else(
                || "clock error unknown".to_owned(),
                |ms| format!("clock within {ms} ms"),
            );
            let frame = moment.frame_t.map_or_else(
                || "no frame yet".to_owned(),
                |frame| format!("frame of {frame}"),
            );
            let gap = moment
                .gap
                .map(|gap| format!(", no picture then: {}", gap.reason));
            say(format_args!(
                "{}  {}  {}  {error}  {frame}{}  {}",
                moment.session,
                moment.t,
                moment.utc,
                gap.unwrap_or_default(),
                moment.url
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
