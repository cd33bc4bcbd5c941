//! A session's head: who records what, for whom, under which policy. Written before the first
//! frame as `session.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{SessionId, Size, WallTime, source::Protocol, trace::Traceparent};

/// What kind of actor operates the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// A software agent.
    Agent,
    /// A human.
    Person,
    /// A scheduled or background service.
    Service,
}

/// The operating system of the recorded machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Os {
    /// Any Linux.
    Linux,
    /// Any Windows.
    Windows,
    /// Any macOS.
    Macos,
}

macro_rules! words {
    ($name:ident { $($word:literal => $variant:ident),+ }) => {
        impl $name {
            /// The word used in records and the API.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(format!("{text:?} is none of {}", [$($word),+].join(", "))),
                }
            }
        }
    };
}
words!(ActorKind { "agent" => Agent, "person" => Person, "service" => Service });
words!(Os { "linux" => Linux, "windows" => Windows, "macos" => Macos });

/// The run's context: what the owner says about the work. All of it is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunContext {
    /// The run (piece of work) this session belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The session this one branched or was restored from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The snapshot of the parent it began at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_snapshot: Option<String>,
    /// Who operates the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// What kind of actor that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_kind: Option<ActorKind>,
    /// On whose behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// The recorded machine's operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<Os>,
    /// The image the machine was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The image's attestation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attestation: Option<String>,
    /// The deployment it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    /// The region it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The egress policy applied to the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress_policy: Option<Document>,
    /// Free labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The trace the session belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

/// A text kept with its digest, so that it can be compared without being read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// SHA-256 of the text, 64 hexadecimal digits.
    pub sha256: String,
    /// The text.
    pub text: String,
}

/// `session.json`: a session's first object, a leaf of its log like any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHead {
    /// The format's version: 1.
    pub format: u32,
    /// The session.
    pub id: SessionId,
    /// When media time was zero.
    pub start: WallTime,
    /// How pictures reach the recorder.
    pub protocol: Protocol,
    /// The source's URL without any secret.
    pub source: String,
    /// The name the server gave the desktop: hostile text.
    pub server_name: String,
    /// The screen's size at the start.
    pub size: Size,
    /// At most this many frames a second are recorded.
    pub fps_max: u32,
    /// SHA-256 of the redaction policy in force, or `None` for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The recorder's name and version.
    pub recorder: String,
    /// What the owner says about the work.
    #[serde(flatten)]
    pub context: RunContext,
}

impl SessionHead {
    /// The format this crate writes.
    pub const FORMAT: u32 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_round_trips_and_leaves_out_what_is_unknown() {
        let head = SessionHead {
            format: SessionHead::FORMAT,
            id: SessionId::new(1, [0; 10]),
            start: WallTime::from_unix_ms(1_800_000_000_000),
            protocol: Protocol::Vnc,
            source: "vnc://127.0.0.1:5901".into(),
            server_name: "desk".into(),
            size: Size::new(1280, 800),
            fps_max: 15,
            policy: None,
            recorder: "playhead-agent 0.1.0".into(),
            context: RunContext {
                run: Some("r-1".into()),
                ..RunContext::default()
            },
        };
        let json = serde_json::to_string(&head).unwrap();
        assert!(!json.contains("on_behalf_of"));
        assert_eq!(serde_json::from_str::<SessionHead>(&json).unwrap(), head);
    }
}
