//! What is recorded beside the picture: input, size, health and marks, one line each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::MediaTime;

/// An event that lasts (typed text, a pointer's path) is recorded when it ends, under the time it
/// began. So it may lie this much, in ms, before the object that holds it: whoever reads the events
/// of a span reads on that far. A typed run lasts 10 s at most, and a pause of 1 s ends it.
pub const LATE_MS: u64 = 12_000;

/// Who says that something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Seen on the wire by the recorder's proxy: evidence.
    Wire,
    /// Told by an agent inside the recorded machine: a claim.
    Guest,
    /// Declared by the driver: an intent.
    Driver,
    /// The recorder's own observation.
    Recorder,
}

/// One recorded event. Kinds are those of the API: `key text_run pointer wheel clipboard cursor
/// size title health mark action`.
///
/// `Debug` shows no data: it may be what someone typed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it happened.
    pub t: MediaTime,
    /// What it is.
    pub kind: String,
    /// Who says so.
    pub origin: Origin,
    /// What else there is to say, by kind.
    #[serde(flatten)]
    pub data: serde_json::Map<String, serde_json::Value>,
}

impl Event {
    /// Something of `kind` that `origin` says happened at `t`, with its data by name.
    #[must_use]
    pub fn new<const N: usize>(
        t: MediaTime,
        kind: &str,
        origin: Origin,
        data: [(&str, serde_json::Value); N],
    ) -> Self {
        let data = data.into_iter();
        Self {
            t,
            kind: kind.to_owned(),
            origin,
            data: data.map(|(name, it)| (name.to_owned(), it)).collect(),
        }
    }

    /// The screen took a new size.
    #[must_use]
    pub fn size(t: MediaTime, size: crate::Size) -> Self {
        let data = [("size", serde_json::json!([size.w, size.h]))];
        Self::new(t, "size", Origin::Recorder, data)
    }

    /// Something about the recording's health changed.
    #[must_use]
    pub fn health(t: MediaTime, state: &str, detail: &str) -> Self {
        let data = [("state", state.into()), ("text", detail.into())];
        Self::new(t, "health", Origin::Recorder, data)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("t", &self.t)
            .field("kind", &self.kind)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
