//! What is an event row? One thing that happened beside a session — a log line, a policy
//! decision, an artifact — told by another system (api.md, "Event rows").

use capture::{
    SessionId, WallTime,
    trace::{SpanId, TraceId},
};
use segment::Sha256;
use serde::{Deserialize, Serialize};

mod parse;

pub(crate) use parse::parse_stored;
pub use parse::{MAX_ROW_BYTES, Refusal, parse};

/// One event row, complete: an id and defaults are filled in.
///
/// Serialises to the one spelling that is stored, so that equal rows are equal bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventRow {
    /// What makes it the same row when it is sent again; made from the content when absent.
    pub id: String,
    /// When it happened.
    pub time: WallTime,
    /// The session it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The span within the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<SpanId>,
    /// The system that tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What kind of thing it is.
    pub kind: Kind,
    /// Ties a question to its answer: an `asked` row and its `allowed` or `blocked` one share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// What happened, for people: hostile text.
    pub text: String,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// On whose behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// Who decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The thing it made or moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Anything else.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub attributes: serde_json::Map<String, serde_json::Value>,
}

/// A thing made or moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident => $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$word_doc])* $variant),+ }

        impl $name {
            /// Every word there is.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in rows and the API.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value that `word` names.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }
    };
}

words! {
    /// What kind of thing a row tells.
    Kind {
        /// A log line.
        #[default]
        Log => "log",
        /// Something was made or moved.
        Artifact => "artifact",
        /// The machine's state was saved.
        Snapshot => "snapshot",
        /// A saved state was restored.
        Restore => "restore",
        /// A policy was applied or changed.
        Policy => "policy",
        /// The sandbox itself began, slept, woke or ended.
        Sandbox => "sandbox",
        /// A moment worth finding.
        Mark => "mark",
    }
}

words! {
    /// What came of it.
    Outcome {
        /// It happened and was noted.
        #[default]
        Recorded => "recorded",
        /// A policy or person allowed it.
        Allowed => "allowed",
        /// A policy or person blocked it.
        Blocked => "blocked",
        /// A person was asked.
        Asked => "asked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_agree_with_what_is_stored() {
        for kind in Kind::ALL {
            let stored = serde_json::to_string(kind).unwrap();
            assert_eq!(stored, format!("{:?}", kind.as_str()));
            assert_eq!(Kind::from_word(kind.as_str()), Some(*kind));
        }
        for outcome in Outcome::ALL {
            let stored = serde_json::to_string(outcome).unwrap();
            assert_eq!(stored, format!("{:?}", outcome.as_str()));
        }
        assert_eq!(Outcome::from_word("denied"), None);
    }
}
