//! `playhead frame`: the picture of a moment, as a file.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, anyhow};
use capture::SessionId;
use clap::Args;
use index::At;

use super::{Failure, Outcome, say, session};
use crate::{archive::Archive, decode::PictureFormat, shot::shot};

#[derive(Args, Debug)]
pub(super) struct Frame {
    /// The session's id
    session: SessionId,
    /// Seconds (12.5), a clock (1:02:03.250) or UTC (2026-11-30T09:14:03.250Z)
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    at: At,
    /// Where to write it: its ending says PNG, JPEG or WebP
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Frame {
    pub(super) async fn run(self, archive: &Archive) -> Outcome {
        let format = PictureFormat::of_file(&self.output).ok_or_else(|| {
            let file = self.output.display();
            Failure::usage(anyhow!("{file} must end in .png, .jpg or .webp"))
        })?;
        let (_, timeline) = session(archive, self.session).await?;
        let shot = shot(&timeline, self.at)?;
        let source = archive.source(self.session, &timeline, &shot).await?;
        let picture = archive.picture(&source, &shot).await?;
        let file = picture.encode(format)?;
        std::fs::write(&self.output, file)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        let error = shot.error_ms.map_or_else(
            || "clock error unknown".to_owned(),
            |ms| format!("clock within {ms} ms"),
        );
        say(format_args!(
            "{}: frame of {} ({}, {error})",
            self.output.display(),
            shot.frame.t,
            shot.utc
        ));
        if let Some(gap) = shot.gap {
            say(format_args!(
                "there is no picture from {} to {} ({}): this is the last one before",
                gap.from, gap.to, gap.reason
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
