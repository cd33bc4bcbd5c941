//! What is recorded beside the picture: input, size, health and marks, one line each.

use serde::{Deserialize, Serialize};

use crate::MediaTime;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The screen took a new size.
    #[must_use]
    pub fn size(t: MediaTime, size: crate::Size) -> Self {
        Self::recorder(t, "size", [("size", serde_json::json!([size.w, size.h]))])
    }

    /// Something about the recording's health changed.
    #[must_use]
    pub fn health(t: MediaTime, state: &str, detail: &str) -> Self {
        Self::recorder(
            t,
            "health",
            [("state", state.into()), ("text", detail.into())],
        )
    }

    fn recorder<const N: usize>(
        t: MediaTime,
        kind: &str,
        data: [(&str, serde_json::Value); N],
    ) -> Self {
        let data = data
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        Self {
            t,
            kind: kind.to_owned(),
            origin: Origin::Recorder,
            data,
        }
    }
}
