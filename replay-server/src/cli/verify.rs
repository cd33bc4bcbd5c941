//! `playhead verify`: is what is stored what was recorded? Exits 0 when it is, 1 when it is not,
//! and 2 when that cannot be checked.

use std::{path::Path, process::ExitCode, sync::Arc};

use anyhow::{Context, anyhow};
use capture::SessionId;
use clap::Args;
use index::{
    locate::{self, Listing},
    verify::{Known, Report, verify},
};
use segment::key::{ObjectKind, SessionKeys};
use serde_json::json;
use store::Store;

use super::{FAILED, Failure, Outcome, open, say};
use crate::{archive::Archive, home::Places};

/// No segment is larger: it ends at 8 MiB and a sample of at most 16 MiB.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Args, Debug)]
pub(super) struct Verify {
    /// A session's id, a segment's file, or the folder of a store or of one of its sessions
    #[arg(value_name = "SESSION|FILE.mp4|DIR")]
    what: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) async fn run(self, places: &Places) -> Outcome {
        let verified = self.check(places).await;
        // Whatever keeps it from being checked is no proof of a fault.
        verified.map_err(|failure| Failure::usage(failure.error))
    }

    async fn check(&self, places: &Places) -> Outcome {
        if let Ok(session) = self.what.parse() {
            return self.session(&open(places)?, session).await;
        }
        let path = Path::new(&self.what);
        if path.is_dir() {
            self.folder(path).await
        } else if path.is_file() {
            self.file(path)
        } else {
            let what = &self.what;
            Err(anyhow!("{what:?} is neither a session's id nor a file or folder").into())
        }
    }

    async fn session(&self, archive: &Archive, session: SessionId) -> Outcome {
        let store = &*archive.store;
        let summary = archive.session(session).await?;
        let keys = match &summary {
            Some(summary) => Some(SessionKeys::new(session, summary.start)),
            None => locate::find(store, session).await?,
        };
        let keys = keys.with_context(|| format!("there is no session {session}"))?;
        let live = summary.is_some_and(|summary| {
            use index::catalog::State;
            matches!(summary.state, State::Live)
        });
        let known = Known {
            live,
            head: None,
            end: archive.catalog.end(session).await?,
        };
        let report = verify(store, session, &keys, known).await?;
        self.tell(&[report])
    }

    /// Every session of a store, or the one whose folder this is.
    async fn folder(&self, path: &Path) -> Outcome {
        let path = path.canonicalize()?;
        let (root, prefix) =
            root_of(&path).with_context(|| format!("{} holds no recordings", path.display()))?;
        let store: Arc<dyn Store> = store::open_store(&format!("file://{}", root.display()))?;
        let mut listing = Listing::new(prefix);
        let mut sessions: Vec<(SessionId, SessionKeys)> = Vec::new();
        loop {
            let page = listing.next(&*store).await?;
            if page.is_empty() {
                break;
            }
            let found = page
                .iter()
                .filter_map(|object| locate::keys_of(&object.key));
            sessions.extend(found);
            sessions.dedup();
        }
        if sessions.is_empty() {
            return Err(anyhow!("{} holds no recordings", path.display()).into());
        }
        let mut reports = Vec::new();
        for (session, keys) in sessions {
            reports.push(verify(&*store, session, &keys, Known::default()).await?);
        }
        self.tell(&reports)
    }

    fn file(&self, path: &Path) -> Outcome {
        let name = path.display();
        let size = std::fs::metadata(path)?.len();
        if size > MAX_FILE_BYTES {
            return Err(anyhow!("{name} is too large for a segment").into());
        }
        let file = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let checked = segment::mp4::check(&file).map_err(anyhow::Error::from);
        if self.json {
            let fault = checked.as_ref().err().map(|error| format!("{error:#}"));
            say(json!({ "file": self.what, "verified": fault.is_none(), "fault": fault }));
        } else {
            match &checked {
                Ok(manifest) => say(format_args!(
                    "{name}: agrees with its manifest: session {} segment {}",
                    manifest.span.session, manifest.span.seq
                )),
                Err(error) => say(format_args!("{name}: {error:#}")),
            }
        }
        Ok(code(checked.is_ok()))
    }

    fn tell(&self, reports: &[Report]) -> Outcome {
        for report in reports {
            if self.json {
                let mut json = serde_json::to_value(report)?;
                json["verified"] = report.is_sound().into();
                say(json);
            } else {
                describe(report);
            }
        }
        Ok(code(reports.iter().all(Report::is_sound)))
    }
}

fn code(sound: bool) -> ExitCode {
    ExitCode::from(if sound { 0 } else { FAILED })
}

fn describe(report: &Report) {
    let Report {
        session,
        complete,
        objects,
        faults,
    } = report;
    for fault in faults {
        let kind = serde_json::to_value(fault.kind).unwrap_or_default();
        let kind = kind.as_str().unwrap_or_default();
        say(format_args!("{}: {kind}: {}", fault.object, fault.detail));
    }
    let progress = if *complete { "" } else { ", still going on" };
    say(if report.is_sound() {
        format!("{session}: {objects} objects are as recorded{progress} (unsigned)")
    } else {
        format!("{session}: not as recorded: {} faults", faults.len())
    });
}

/// The store that `path` lies in, and what the keys below `path` begin with.
fn root_of(path: &Path) -> Option<(&Path, String)> {
    if path.join("v1").is_dir() {
        return Some((path, "v1/".to_owned()));
    }
    let root = path.ancestors().nth(5)?;
    let prefix = path.strip_prefix(root).ok()?.to_str()?;
    let (_, kind) = segment::key::parse(&format!("{prefix}/session.json"))?;
    (kind == ObjectKind::Head).then(|| (root, format!("{prefix}/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sessions_folder_names_its_store() {
        let id = "01937f0e-7c1a-7b2c-9d3e-0123456789ab";
        let path = format!("/var/store/v1/2026/11/30/{id}");
        let found = root_of(Path::new(&path));
        let prefix = format!("v1/2026/11/30/{id}/");
        assert_eq!(found, Some((Path::new("/var/store"), prefix)));
        assert_eq!(root_of(Path::new("/var/store/other/2026/11/30/x")), None);
        assert_eq!(root_of(Path::new("/")), None);
    }
}
