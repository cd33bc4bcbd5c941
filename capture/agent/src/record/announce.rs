//! What the operator sees: one line when recording starts, a live status line on a terminal, a
//! summary; or, with `--json`, one object a line.

use std::io::{IsTerminal as _, Write};

use capture::{GapReason, MediaTime, SessionId};
use segment::end::EndReason;
use serde_json::{Value, json};

use crate::{metrics::metrics, wire::Status};

/// Where and how announcements are printed.
pub(super) struct Announcer {
    out: Box<dyn Write + Send>,
    json: bool,
    terminal: bool,
    session: SessionId,
    status_shown: bool,
    gaps: u32,
    objects: u64,
    stored_bytes: u64,
}

impl Announcer {
    /// Announces `session`, as JSON lines or for people.
    pub(super) fn new(session: SessionId, json: bool) -> Self {
        let terminal = !json && std::io::stderr().is_terminal();
        Self {
            terminal,
            ..Self::to(Box::new(std::io::stdout()), session, json)
        }
    }

    /// Announces `session` to `out`.
    pub(super) fn to(out: Box<dyn Write + Send>, session: SessionId, json: bool) -> Self {
        Self {
            out,
            json,
            terminal: false,
            session,
            status_shown: false,
            gaps: 0,
            objects: 0,
            stored_bytes: 0,
        }
    }

    /// The first frame is durable.
    pub(super) fn started(&mut self, source: &str, store: &str) {
        if self.json {
            self.object("started", json!({ "source": source, "store": store }));
        } else {
            self.text(&format!(
                "Recording {source} as {} into {store}",
                self.session
            ));
        }
    }

    /// An object is in the store.
    pub(super) fn committed(&mut self, key: &str, bytes: u64, from: MediaTime, to: MediaTime) {
        self.objects += 1;
        self.stored_bytes += bytes;
        if self.json {
            self.object(
                "segment",
                json!({ "key": key, "bytes": bytes, "from": from, "to": to }),
            );
        }
    }

    /// The picture is gone.
    pub(super) fn gap_opened(&mut self, from: MediaTime, reason: GapReason, detail: &str) {
        self.gaps += 1;
        metrics().gap(reason);
        if self.json {
            self.object(
                "gap",
                json!({ "from": from, "reason": reason, "detail": detail }),
            );
        } else {
            self.text(&format!("No picture since {from}: {reason} ({detail})"));
        }
    }

    /// The picture is back.
    pub(super) fn gap_closed(&mut self, to: MediaTime) {
        if self.json {
            self.object("gap", json!({ "to": to }));
        } else {
            self.text(&format!("Picture again at {to}"));
        }
    }

    /// The health of the recorder or of its source changed.
    pub(super) fn health(&mut self, state: &str, detail: &str) {
        metrics().health(state);
        if self.json {
            self.object("health", json!({ "state": state, "detail": detail }));
        } else {
            self.text(&format!("{state}: {detail}"));
        }
    }

    /// How it goes, for a terminal.
    pub(super) fn status(&mut self, status: Status, pending: usize) {
        if self.terminal {
            let mut err = std::io::stderr().lock();
            let _ = write!(
                err,
                "\r\x1b[K{}  {} fps  {}  {} gaps  {pending} in spool",
                status.t,
                status.fps,
                megabytes(status.bytes),
                status.gaps
            );
            let _ = err.flush();
            self.status_shown = true;
        }
    }

    /// The session is closed and all of it is in the store.
    pub(super) fn ended(&mut self, t: MediaTime, reason: EndReason) {
        if self.json {
            let (objects, bytes, gaps) = (self.objects, self.stored_bytes, self.gaps);
            let counts = json!({
                "t": t, "reason": reason, "objects": objects, "bytes": bytes, "gaps": gaps
            });
            self.object("ended", counts);
        } else {
            self.text(&format!(
                "Recorded {t} as {}: {} objects, {}, {} gaps ({})",
                self.session,
                self.objects,
                megabytes(self.stored_bytes),
                self.gaps,
                reason.as_str()
            ));
        }
    }

    /// Who came to drive was not let in, or had gone before there was a picture.
    pub(super) fn not_driven(&mut self, reason: EndReason, detail: &str) {
        if reason == EndReason::DriverRefused {
            self.health(reason.as_str(), detail);
        }
        if self.json {
            self.object("ended", json!({ "reason": reason, "objects": 0 }));
        } else {
            self.text(&format!("Nothing was recorded ({})", reason.as_str()));
        }
    }

    /// Recording was to stop before there was a frame.
    pub(super) fn stopped_early(&mut self) {
        if self.json {
            self.object(
                "ended",
                json!({ "reason": EndReason::Stopped, "objects": 0 }),
            );
        } else {
            self.text("Stopped before the first frame; nothing was recorded");
        }
    }

    fn object(&mut self, event: &str, mut fields: Value) {
        if let Value::Object(fields) = &mut fields {
            fields.insert("event".to_owned(), event.into());
            fields.insert("session".to_owned(), self.session.to_string().into());
        }
        self.line(&fields);
    }

    fn text(&mut self, line: &str) {
        if std::mem::take(&mut self.status_shown) {
            eprint!("\r\x1b[K");
        }
        self.line(&line);
    }

    /// Prints a line; whoever read it may be gone, which is no reason to stop recording.
    fn line(&mut self, text: &dyn std::fmt::Display) {
        let _ = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
