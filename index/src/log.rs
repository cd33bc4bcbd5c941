//! How are event rows stored? As NDJSON in zstd, one object for each session and source.

use std::io::Read as _;

use capture::WallTime;
use segment::Sha256;
use uuid::Uuid;

use crate::row::{EventRow, Refusal, parse_stored};

/// The most one log object unpacks to: a few times what one request may bring.
pub const MAX_LOG_BYTES: u64 = 64 * 1024 * 1024;
/// The most of a source's name that its slug keeps.
const MAX_SLUG_BYTES: usize = 32;
/// The zstd level: log text packs well at any.
const LEVEL: i32 = 3;

/// Why a log object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It does not unpack.
    #[error("not a zstd frame")]
    Unpack(#[source] std::io::Error),
    /// It unpacks to more than [`MAX_LOG_BYTES`].
    #[error("unpacks to more than {MAX_LOG_BYTES} bytes")]
    TooLarge,
    /// A line is no row.
    #[error("line {}, field {:?}: {}", .0.line, .0.field, .0.message)]
    Row(Refusal),
}

/// The bytes of a log object that holds `rows`; equal rows give equal bytes.
///
/// # Errors
/// When the compressor fails.
pub fn pack<'a>(rows: impl IntoIterator<Item = &'a EventRow>) -> std::io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut lines, row)?;
        lines.push(b'\n');
    }
    zstd::bulk::compress(&lines, LEVEL)
}

/// The rows that `packed` holds.
///
/// # Errors
/// When it is damaged or too large.
pub fn unpack(packed: &[u8]) -> Result<Vec<EventRow>, LogError> {
    let mut lines = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(packed).map_err(LogError::Unpack)?;
    let mut bounded = decoder.take(MAX_LOG_BYTES + 1);
    bounded.read_to_end(&mut lines).map_err(LogError::Unpack)?;
    if lines.len() as u64 > MAX_LOG_BYTES {
        return Err(LogError::TooLarge);
    }
    let lines = lines.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    (1..)
        .zip(lines)
        .map(|(number, line)| parse_stored(line, number).map_err(LogError::Row))
        .collect()
}

/// The part of a key that stands for a source: readable, and told apart by four bytes of its
/// digest.
#[must_use]
pub fn slug(source: Option<&str>) -> String {
    let source = source.unwrap_or("unnamed");
    let mut slug = String::new();
    for c in source.chars() {
        if slug.len() >= MAX_SLUG_BYTES {
            break;
        }
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => slug.push(c),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    let readable = match slug.trim_end_matches('-') {
        "" => "x",
        slug => slug,
    };
    let digest = Sha256::of(source.as_bytes()).to_string();
    format!("{readable}-{}", &digest[..8])
}

/// Makes names for log objects: version 7 UUIDs, from a time and randomness the caller brings.
#[derive(Clone, Debug)]
pub struct Names {
    now: WallTime,
    random: [u8; 16],
    made: u64,
}

impl Names {
    /// Names for objects made at `now`. `random` must be fresh each time.
    #[must_use]
    pub const fn new(now: WallTime, random: [u8; 16]) -> Self {
        Self {
            now,
            random,
            made: 0,
        }
    }

    /// When the objects are made.
    #[must_use]
    pub const fn now(&self) -> WallTime {
        self.now
    }

    /// A name that no other object has.
    pub fn next_name(&mut self) -> String {
        self.made += 1;
        let seed = [self.random.as_slice(), &self.made.to_be_bytes()].concat();
        let mut random = [0; 10];
        let digest = Sha256::of(&seed);
        random.copy_from_slice(&digest.as_bytes()[..10]);
        let ms = u64::try_from(self.now.unix_ms()).unwrap_or(0);
        let uuid = uuid::Builder::from_unix_timestamp_millis(ms, &random).into_uuid();
        Uuid::as_hyphenated(&uuid).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{MAX_ROW_BYTES, parse};

    #[test]
    fn slugs_are_readable_and_distinct() {
        for (source, readable) in [
            (Some("egress-proxy"), "egress-proxy-"),
            (Some("Egress Proxy (eu)"), "egress-proxy-eu-"),
            (Some("../../etc"), "etc-"),
            (Some("日本"), "x-"),
            (None, "unnamed-"),
        ] {
            let slug = slug(source);
            let hash = slug.strip_prefix(readable).unwrap_or_default();
            assert!(hash.len() == 8 && !hash.contains('-'), "{slug}");
        }
        assert_ne!(slug(Some("a b")), slug(Some("a-b")));
        assert!(slug(Some(&"a".repeat(500))).len() <= 41);
    }

    #[test]
    fn names_differ_and_sort_by_time() {
        let at = |ms| Names::new(WallTime::from_unix_ms(ms), [7; 16]);
        let mut names = at(1_000);
        let (a, b) = (names.next_name(), names.next_name());
        assert!(a != b && a < at(1_001).next_name() && b < at(1_001).next_name());
    }

    #[test]
    fn packed_rows_unpack_and_damage_is_told() {
        let line = br#"{"time":"2026-11-30T09:14:03.250Z","text":"GET /"}"#;
        let rows = vec![parse(line, 1).unwrap()];
        let packed = pack(&rows).unwrap();
        assert_eq!(unpack(&packed).unwrap(), rows);
        assert!(matches!(unpack(&packed[1..]), Err(LogError::Unpack(_))));
        let bomb = zstd::bulk::compress(&vec![b'\n'; (64 << 20) + 1], 1).unwrap();
        assert!(matches!(unpack(&bomb), Err(LogError::TooLarge)));
        let foreign = zstd::bulk::compress(b"{}\n", 1).unwrap();
        assert!(matches!(unpack(&foreign), Err(LogError::Row(_))));
    }

    #[test]
    fn the_longest_row_is_read_back() {
        let number = "1e15,";
        let many = number.repeat((MAX_ROW_BYTES - 100) / number.len());
        let line = format!(
            r#"{{"time":"2026-11-30T09:14:03Z","text":"x","attributes":{{"a":[{many}1]}}}}"#
        );
        let rows = vec![parse(line.as_bytes(), 1).unwrap()];
        assert_eq!(unpack(&pack(&rows).unwrap()).unwrap(), rows);
    }
}
