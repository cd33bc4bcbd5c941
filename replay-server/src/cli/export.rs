//! `playhead export`: a part of a session, as a video file.

use std::{
    fs::Permissions,
    io::{IsTerminal, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, anyhow};
use capture::{MediaTime, SessionId};
use clap::Args;
use index::At;

use super::{Failure, Outcome, say, session};
use crate::{
    archive::Archive,
    clip::{Clip, ClipSpan},
};

#[derive(Args, Debug)]
pub(super) struct Export {
    /// The session's id
    session: SessionId,
    /// Where to begin: seconds (12.5), a clock (1:02:03.250) or UTC [default: the first picture]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    from: Option<At>,
    /// Where to end [default: the session's end]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    to: Option<At>,
    /// Where to write it: a name that ends in .mp4
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

impl Export {
    pub(super) async fn run(self, archive: &Archive) -> Outcome {
        let name = self.output.display();
        let ending = self.output.extension().and_then(|ending| ending.to_str());
        if !ending.is_some_and(|ending| ending.eq_ignore_ascii_case("mp4")) {
            return Err(Failure::usage(anyhow!("{name} must end in .mp4")));
        }
        if !self.force && self.output.exists() {
            let told = anyhow!("{name} is there already; --force writes over it");
            return Err(Failure::usage(told));
        }
        let (_, timeline) = session(archive, self.session).await?;
        let span = ClipSpan::new(&timeline, self.from, self.to)?;
        let clip = Clip::begin(archive, self.session, timeline.clone(), span).await?;
        let written = tokio::select! {
            written = self.write(clip, archive, span) => written,
            _ = tokio::signal::ctrl_c() => Err(anyhow!("interrupted")),
        };
        let bytes = written.with_context(|| format!("cannot write {name}"))?;

        let ClipSpan { from, to } = span;
        let (length, utc) = (to.ms_since(from), timeline.clock.utc_at(from));
        let length = MediaTime::from_ms(length);
        say(format_args!(
            "{name}: {length} from {from} ({utc}), {bytes} bytes"
        ));
        let within = timeline
            .gaps
            .iter()
            .filter(|gap| gap.from < to && from < gap.to);
        for gap in within {
            say(format_args!(
                "there is no picture from {} to {} ({}): a card says so",
                gap.from, gap.to, gap.reason
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Writes `clip` to its file, which appears when it is whole, and tells its size.
    async fn write(
        &self,
        mut clip: Clip,
        archive: &Archive,
        span: ClipSpan,
    ) -> anyhow::Result<u64> {
        let folder = self.output.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        // Half a file is gone with this value.
        let mut file = tempfile::Builder::new()
            .prefix(".playhead-")
            .suffix(".part")
            .permissions(Permissions::from_mode(READ_AS_OTHERS_DO))
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        let mut bytes = 0;
        while let Some(part) = clip.next(archive).await? {
            file.write_all(&part)?;
            bytes += part.len() as u64;
            progress(span, clip.written_to());
        }
        file.as_file().sync_all()?;
        if self.force {
            file.persist(&self.output)?;
        } else {
            file.persist_noclobber(&self.output)?;
        }
        Ok(bytes)
    }
}

/// The mode of a new file; the user's mask takes from it.
const READ_AS_OTHERS_DO: u32 = 0o666;

/// Tells on a terminal how far the clip is.
fn progress(span: ClipSpan, written_to: MediaTime) {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        let ClipSpan { from, to } = span;
        let percent = 100 * written_to.ms_since(from) / to.ms_since(from).max(1);
        let end = if percent < 100 { "" } else { "\n" };
        // A terminal that is gone misses nothing.
        let _ = write!(terminal, "\r{percent:3} % {written_to}{end}");
    }
}
