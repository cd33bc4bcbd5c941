//! `playhead show`: what is known of a session, or what a segment file says about itself.

use std::{path::Path, process::ExitCode};

use anyhow::Context;
use capture::{MediaTime, SessionId};
use clap::Args;
use index::{Timeline, catalog::SessionSummary};
use segment::{
    Manifest,
    mp4::{part, read_events, read_manifest},
};

use super::{Outcome, open, say, session, sessions::printable};
use crate::home::Places;

/// No segment is larger: it ends at 8 MiB and a sample of at most 16 MiB.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Args, Debug)]
pub(super) struct Show {
    /// A session's id, or a segment's file
    #[arg(value_name = "SESSION|FILE.mp4")]
    what: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) async fn run(self, places: &Places) -> Outcome {
        match self.what.parse() {
            Ok(id) => self.session(places, id).await,
            Err(_) if self.what.ends_with(".mp4") => self.file(),
            Err(error) => Err(super::Failure::usage(
                anyhow::Error::from(error).context("neither a session nor an .mp4 file"),
            )),
        }
    }

    async fn session(self, places: &Places, id: SessionId) -> Outcome {
        let archive = open(places)?;
        let (summary, timeline) = session(&archive, id).await?;
        if self.json {
            let mut json = serde_json::to_value(&summary)?;
            json["gaps"] = serde_json::to_value(&timeline.gaps)?;
            json["mask_spans"] = serde_json::to_value(&timeline.masks)?;
            json["anchors"] = serde_json::to_value(timeline.clock.anchors())?;
            say(serde_json::to_string_pretty(&json)?);
        } else {
            describe(&summary, &timeline);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn file(self) -> Outcome {
        let path = Path::new(&self.what);
        let bytes = std::fs::metadata(path)
            .with_context(|| format!("cannot read {}", path.display()))?
            .len();
        if bytes > MAX_FILE_BYTES {
            return Err(anyhow::anyhow!("{} is too large for a segment", path.display()).into());
        }
        let file = std::fs::read(path)?;
        let manifest =
            read_manifest(&file).with_context(|| format!("{} has no manifest", path.display()))?;
        if self.json {
            let events = read_events(part(&file, manifest.events.byte_range())?, &manifest.events)?;
            let mut json = serde_json::to_value(&manifest)?;
            json["recorded"] = serde_json::to_value(events)?;
            say(serde_json::to_string_pretty(&json)?);
        } else {
            describe_segment(&manifest);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn describe(summary: &SessionSummary, timeline: &Timeline) {
    let [w, h] = summary.size;
    let field = |name: &str, value: &str| {
        if !value.is_empty() {
            say(format_args!("{name:<10} {}", printable(value)));
        }
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    field("session", &summary.id.to_string());
    field("title", &text(&summary.title));
    field("request", &text(&summary.request));
    field("run", &text(&summary.run));
    field("actor", &text(&summary.actor));
    field("for", &text(&summary.on_behalf_of));
    field("source", &summary.source);
    field("screen", &format!("{w}x{h}"));
    field("start", &summary.start.to_string());
    let length = MediaTime::from_ms(summary.duration_ms);
    field("length", &length.to_string());
    let state = summary.state.as_str();
    let reason = text(&summary.end_reason);
    field("state", format!("{state} {reason}").trim_end());
    field("bytes", &summary.bytes.to_string());
    for (outcome, count) in &summary.outcomes {
        field(outcome, &count.to_string());
    }
    for gap in &timeline.gaps {
        field(
            "gap",
            &format!("{} to {}: {}", gap.from, gap.to, gap.reason),
        );
    }
    for mask in &timeline.masks {
        let rect = mask.rect;
        let at = format!("{}x{}+{}+{}", rect.w, rect.h, rect.x, rect.y);
        field(
            "mask",
            &format!("{} to {}: {at} by {}", mask.from, mask.to, mask.rule),
        );
    }
}

fn describe_segment(manifest: &Manifest) {
    let span = &manifest.span;
    let init = &manifest.init;
    say(format_args!(
        "session {} segment {} run {}: {} to {}, {} {}x{}",
        span.session, span.seq, span.run, span.from, span.to, init.codec, init.width, init.height
    ));
    for repeat in &span.repeats {
        say(format_args!(
            "  {} to {}: fragment {} of segment {} again",
            repeat.from, repeat.to, repeat.fragment, repeat.seq
        ));
    }
    for gap in &span.gaps {
        say(format_args!(
            "  {} to {}: no picture, {}",
            gap.from, gap.to, gap.reason
        ));
    }
    for fragment in &manifest.fragments {
        say(format_args!(
            "  {} to {}: {} frames, {} changed, {} bytes",
            fragment.t,
            fragment.end(),
            fragment.samples.len(),
            fragment.changed,
            fragment.len
        ));
    }
    say(format_args!("  {} events", manifest.events.count));
}
