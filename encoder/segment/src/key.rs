//! Where each object of a session lies in the store. No object is ever modified.

use capture::{SessionId, WallTime};

/// The keys of one session's objects, below `v1/{yyyy/mm/dd}/{session}/`, where the day is the
/// UTC day of the session's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionKeys {
    prefix: String,
}

impl SessionKeys {
    /// The keys of `session`, which began at `start`.
    #[must_use]
    pub fn new(session: SessionId, start: WallTime) -> Self {
        Self {
            prefix: format!("v1/{}/{session}", start.day()),
        }
    }

    /// What all of the session's keys begin with, ending in `/`.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{}/", self.prefix)
    }

    /// The session's head, its first object.
    #[must_use]
    pub fn head(&self) -> String {
        format!("{}/session.json", self.prefix)
    }

    /// Segment `seq` as it was first recorded.
    #[must_use]
    pub fn segment(&self, seq: u64) -> String {
        format!("{}/segment/{seq:08}.mp4", self.prefix)
    }

    /// The idle record that has number `seq` in the same numbering as segments.
    #[must_use]
    pub fn idle(&self, seq: u64) -> String {
        format!("{}/idle/{seq:08}.json.zst", self.prefix)
    }

    /// The sprite sheet of segment `seq`.
    #[must_use]
    pub fn thumb(&self, seq: u64) -> String {
        format!("{}/thumb/{seq:08}.jpg", self.prefix)
    }

    /// Rows that reached the server from `slug`, in one object named by a version 7 UUID.
    #[must_use]
    pub fn log(&self, slug: &str, uuid: &str) -> String {
        format!("{}/log/{slug}/{uuid}.ndjson.zst", self.prefix)
    }

    /// The session's end record.
    #[must_use]
    pub fn end(&self) -> String {
        format!("{}/end.json", self.prefix)
    }

    /// The server's note that the recorder went silent, the `n`th.
    #[must_use]
    pub fn interrupted(&self, n: u64) -> String {
        format!("{}/interrupted/{n}.json", self.prefix)
    }
}

/// What a key names within its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// `session.json`.
    Head,
    /// A segment.
    Segment {
        /// Its number.
        seq: u64,
    },
    /// An idle record.
    Idle {
        /// Its number.
        seq: u64,
    },
    /// A sprite sheet.
    Thumb {
        /// The number of its segment.
        seq: u64,
    },
    /// Rows from one source.
    Log {
        /// The source's slug.
        slug: String,
    },
    /// The end record.
    End,
    /// The server's note of a silent recorder.
    Interrupted {
        /// Its number.
        n: u64,
    },
    /// Something a later version wrote.
    Other,
}

/// The session and kind that `key` names; `None` when it is not a session's object.
#[must_use]
pub fn parse(key: &str) -> Option<(SessionId, ObjectKind)> {
    let mut parts = key.split('/');
    if parts.next() != Some("v1") {
        return None;
    }
    for digits in [4, 2, 2] {
        parts.next().filter(|part| is_digits(part, digits))?;
    }
    let session = parts.next()?.parse().ok()?;
    let rest: Vec<&str> = parts.collect();
    let kind = match *rest.as_slice() {
        ["session.json"] => ObjectKind::Head,
        ["end.json"] => ObjectKind::End,
        ["segment", name] => seq(name, ".mp4").map(|seq| ObjectKind::Segment { seq })?,
        ["idle", name] => seq(name, ".json.zst").map(|seq| ObjectKind::Idle { seq })?,
        ["thumb", name] => seq(name, ".jpg").map(|seq| ObjectKind::Thumb { seq })?,
        ["log", slug, _] => ObjectKind::Log {
            slug: slug.to_owned(),
        },
        ["interrupted", name] => ObjectKind::Interrupted {
            n: name.strip_suffix(".json")?.parse().ok()?,
        },
        _ => ObjectKind::Other,
    };
    Some((session, kind))
}

fn is_digits(part: &str, digits: usize) -> bool {
    part.len() == digits && part.bytes().all(|b| b.is_ascii_digit())
}

fn seq(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    is_digits(digits, 8).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_parses_to_what_it_names() {
        let session = SessionId::new(1_800_000_000_000, [7; 10]);
        let keys = SessionKeys::new(session, WallTime::from_unix_ms(1_800_000_000_000));
        assert!(keys.prefix().starts_with("v1/2027/01/15/"));
        let check = |key: String, kind| assert_eq!(parse(&key), Some((session, kind)), "{key}");
        check(keys.head(), ObjectKind::Head);
        check(keys.segment(3), ObjectKind::Segment { seq: 3 });
        check(keys.idle(4), ObjectKind::Idle { seq: 4 });
        check(keys.thumb(3), ObjectKind::Thumb { seq: 3 });
        check(
            keys.log("egress-1a2b3c4d", "u"),
            ObjectKind::Log {
                slug: "egress-1a2b3c4d".into(),
            },
        );
        check(keys.end(), ObjectKind::End);
        check(keys.interrupted(2), ObjectKind::Interrupted { n: 2 });
    }

    #[test]
    fn foreign_keys_name_nothing() {
        for key in [
            "v1/owner.json",
            "v1/rows/2026/11/30/a/b.ndjson.zst",
            "v2/2026/11/30/x",
            "",
        ] {
            assert_eq!(parse(key), None, "{key}");
        }
    }
}
