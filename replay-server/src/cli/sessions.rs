//! `playhead sessions`: which sessions are there?

use std::process::ExitCode;

use clap::Args;
use index::catalog::{SessionQuery, SessionSummary};

use super::{Outcome, say};
use crate::archive::Archive;

/// Sessions asked for at a time.
const PAGE: usize = 500;

#[derive(Args, Debug)]
pub(super) struct Sessions {
    /// Words that must all occur in title, request, actor, source, labels or ids
    query: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Sessions {
    pub(super) async fn run(self, archive: &Archive) -> Outcome {
        let mut query = SessionQuery {
            q: self.query,
            limit: PAGE,
            ..SessionQuery::default()
        };
        loop {
            let page = archive.catalog.sessions(&query, (archive.now)()).await?;
            for session in &page.sessions {
                if self.json {
                    say(serde_json::to_string(session)?);
                } else {
                    say(line(session));
                }
            }
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(ExitCode::SUCCESS),
            }
        }
    }
}

fn line(session: &SessionSummary) -> String {
    let SessionSummary {
        id,
        start,
        duration_ms,
        state,
        actor,
        title,
        ..
    } = session;
    let length = capture::MediaTime::from_ms(*duration_ms);
    let actor = printable(actor.as_deref().unwrap_or("-"));
    let title = printable(title.as_deref().unwrap_or(&session.source));
    format!(
        "{id}  {start}  {length:>12}  {:<11}  {actor:<16}  {title}",
        state.as_str()
    )
}

/// Text from outside as a terminal may show it.
pub(super) fn printable(text: &str) -> String {
    let safe = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(safe).collect()
}
