//! Is this line an event row? Says which field is wrong, and takes nothing it does not know.

use segment::Sha256;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Artifact, EventRow, Kind, Outcome};

/// No row is longer, as a line of JSON.
pub const MAX_ROW_BYTES: usize = 64 * 1024;
/// A stored row spells out defaults and numbers, so it may be longer than it came.
const MAX_STORED_BYTES: usize = 8 * MAX_ROW_BYTES;
/// No name or id in a row is longer.
const MAX_NAME_BYTES: usize = 256;

/// Why a row was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The line, from 1.
    pub line: u64,
    /// The field that is wrong; empty when it is the line as a whole.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// A field and what is wrong with it.
type Wrong = (String, String);

/// The row in `line`, which stands at `number` (from 1).
///
/// # Errors
/// The first field that is wrong. Nothing hostile is repeated but the field's own name.
pub fn parse(line: &[u8], number: u64) -> Result<EventRow, Refusal> {
    parse_within(line, number, MAX_ROW_BYTES)
}

/// The row in a stored line, as it was serialised.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_stored(line: &[u8], number: u64) -> Result<EventRow, Refusal> {
    parse_within(line, number, MAX_STORED_BYTES)
}

fn parse_within(line: &[u8], number: u64, max_bytes: usize) -> Result<EventRow, Refusal> {
    let parsed = if line.len() > max_bytes {
        Err(whole(format!("longer than {max_bytes} bytes")))
    } else {
        parse_line(line)
    };
    parsed.map_err(|(field, message)| Refusal {
        line: number,
        field,
        message,
    })
}

fn parse_line(line: &[u8]) -> Result<EventRow, Wrong> {
    let value =
        serde_json::from_slice(line).map_err(|error| whole(format!("not JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return Err(whole("not a JSON object".into()));
    };
    let mut fields = Fields(fields);

    let id = fields.name("id")?;
    let row = EventRow {
        id: String::new(),
        time: fields.parsed("time")?.ok_or_else(|| missing("time"))?,
        session: fields.parsed("session")?,
        run: fields.name("run")?,
        trace_id: fields.parsed("trace_id")?,
        span_id: fields.parsed("span_id")?,
        source: fields.name("source")?,
        kind: fields.word("kind", Kind::ALL, Kind::as_str)?,
        request: fields.name("request")?,
        outcome: fields.word("outcome", Outcome::ALL, Outcome::as_str)?,
        text: fields.text("text")?.ok_or_else(|| missing("text"))?,
        actor: fields.name("actor")?,
        on_behalf_of: fields.name("on_behalf_of")?,
        decided_by: fields.name("decided_by")?,
        artifact: fields.object("artifact")?.map(artifact).transpose()?,
        attributes: fields.object("attributes")?.unwrap_or_default(),
    };
    fields.finish("", "unknown; put it under attributes")?;
    if row.span_id.is_some() && row.trace_id.is_none() {
        return Err(("span_id".into(), "needs a trace_id beside it".into()));
    }
    Ok(match id {
        Some(id) => EventRow { id, ..row },
        None => with_content_id(row),
    })
}

/// Gives `row` the id that rows with the same content have: half its digest, in hexadecimal.
fn with_content_id(row: EventRow) -> EventRow {
    // A row is plain data with text keys, which always serialises.
    let content = serde_json::to_vec(&row).unwrap_or_default();
    let mut id = Sha256::of(&content).to_string();
    id.truncate(32);
    EventRow { id, ..row }
}

fn artifact(fields: Map<String, Value>) -> Result<Artifact, Wrong> {
    let mut fields = Fields(fields);
    let parsed = (|| {
        Ok(Artifact {
            name: fields.name("name")?.ok_or_else(|| missing("name"))?,
            bytes: match fields.take("bytes") {
                None => None,
                Some(value) => Some(value.as_u64().ok_or_else(|| {
                    let message = "must be a whole number of bytes";
                    ("bytes".to_owned(), message.to_owned())
                })?),
            },
            sha256: fields.parsed("sha256")?,
            uri: fields.text("uri")?,
        })
    })();
    let parsed = parsed.map_err(|(field, message)| (format!("artifact.{field}"), message))?;
    fields.finish("artifact.", "unknown")?;
    Ok(parsed)
}

fn whole(message: String) -> Wrong {
    (String::new(), message)
}

fn missing(field: &str) -> Wrong {
    (field.to_owned(), "required".to_owned())
}

/// The fields not yet taken.
struct Fields(Map<String, Value>);

impl Fields {
    /// The field's value; a `null` is the same as nothing.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.0.remove(field).filter(|value| !value.is_null())
    }

    fn text(&mut self, field: &str) -> Result<Option<String>, Wrong> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err((field.to_owned(), "must be a text".to_owned())),
        }
    }

    /// A short text that can stand in a list or a link.
    fn name(&mut self, field: &str) -> Result<Option<String>, Wrong> {
        let wrong = |message: &str| Err((field.to_owned(), message.to_owned()));
        match self.text(field)? {
            Some(name) if name.is_empty() => wrong("must not be empty"),
            Some(name) if name.len() > MAX_NAME_BYTES => wrong("longer than 256 bytes"),
            Some(name) if name.chars().any(char::is_control) => wrong("has a control character"),
            name => Ok(name),
        }
    }

    fn parsed<T>(&mut self, field: &str) -> Result<Option<T>, Wrong>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let wrong = |error: T::Err| (field.to_owned(), error.to_string());
        let text = self.text(field)?;
        text.map(|text| text.parse().map_err(wrong)).transpose()
    }

    fn word<T: Copy + Default>(
        &mut self,
        field: &str,
        all: &[T],
        as_str: fn(T) -> &'static str,
    ) -> Result<T, Wrong> {
        let Some(word) = self.text(field)? else {
            return Ok(T::default());
        };
        let found = all.iter().copied().find(|&value| as_str(value) == word);
        found.ok_or_else(|| {
            let words: Vec<_> = all.iter().map(|&value| as_str(value)).collect();
            (
                field.to_owned(),
                format!("must be one of {}", words.join(", ")),
            )
        })
    }

    fn object(&mut self, field: &str) -> Result<Option<Map<String, Value>>, Wrong> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err((field.to_owned(), "must be a JSON object".to_owned())),
        }
    }

    /// Refuses what is left: a misspelt field that is ignored would be a row that lies.
    fn finish(self, prefix: &str, message: &str) -> Result<(), Wrong> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(field) => {
                let field = field.chars().take(64).collect::<String>();
                Err((format!("{prefix}{field}"), message.to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"time":"2026-11-30T09:14:03.250Z","text":"GET /"}"#;

    fn refused(line: &str, field: &str, message: &str) {
        let refusal = parse(line.as_bytes(), 7).unwrap_err();
        assert_eq!((refusal.line, refusal.field.as_str()), (7, field), "{line}");
        assert!(refusal.message.contains(message), "{line}: {refusal:?}");
    }

    /// `GOOD` with `extra` fields.
    fn with(extra: &str) -> String {
        GOOD.replacen('{', &format!("{{{extra},"), 1)
    }

    #[test]
    fn each_wrong_field_is_named() {
        refused("", "", "not JSON");
        refused("[1]", "", "not a JSON object");
        refused(r#"{"text":"x"}"#, "time", "required");
        refused(r#"{"time":"2026-11-30T09:14:03Z"}"#, "text", "required");
        refused(
            r#"{"time":"2026-11-30T09:14:03","text":"x"}"#,
            "time",
            "RFC 3339",
        );
        refused(r#"{"time":5,"text":"x"}"#, "time", "must be a text");
        for (extra, field, message) in [
            (r#""id":"""#, "id", "empty"),
            (r#""id":"a\u0000b""#, "id", "control"),
            (r#""session":"s-1""#, "session", "UUID"),
            (r#""trace_id":"00""#, "trace_id", "32 hexadecimal"),
            (
                r#""trace_id":"00000000000000000000000000000000""#,
                "trace_id",
                "zero",
            ),
            (r#""span_id":"00f067aa0ba902b7""#, "span_id", "trace_id"),
            (r#""kind":"log line""#, "kind", "one of log, artifact"),
            (
                r#""outcome":"denied""#,
                "outcome",
                "recorded, allowed, blocked, asked",
            ),
            (r#""attributes":[1]"#, "attributes", "object"),
            (r#""artifact":{"bytes":1}"#, "artifact.name", "required"),
            (
                r#""artifact":{"name":"a","bytes":-1}"#,
                "artifact.bytes",
                "whole number",
            ),
            (
                r#""artifact":{"name":"a","sha256":"ff"}"#,
                "artifact.sha256",
                "64 lowercase",
            ),
            (
                r#""artifact":{"name":"a","size":1}"#,
                "artifact.size",
                "unknown",
            ),
            (r#""outcom":"blocked""#, "outcom", "attributes"),
        ] {
            refused(&with(extra), field, message);
        }
    }

    #[test]
    fn a_row_past_64_kib_is_refused_and_one_below_is_not() {
        let row = |len: usize| GOOD.replace("GET /", &"x".repeat(len));
        refused(&row(MAX_ROW_BYTES), "", "longer than 65536 bytes");
        let overhead = GOOD.len() - "GET /".len();
        assert!(parse(row(MAX_ROW_BYTES - overhead).as_bytes(), 1).is_ok());
    }

    #[test]
    fn deeply_nested_attributes_are_an_error_not_a_crash() {
        let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
        refused(
            &with(&format!(r#""attributes":{{"a":{deep}}}"#)),
            "",
            "not JSON",
        );
    }

    #[test]
    fn equal_content_has_equal_ids_and_other_content_another() {
        let id = |line: &str| parse(line.as_bytes(), 1).unwrap().id;
        assert_eq!(id(GOOD).len(), 32);
        assert_eq!(
            id(GOOD),
            id(&with(r#""outcome":"recorded","kind":"log","run":null"#))
        );
        assert_ne!(id(GOOD), id(&with(r#""outcome":"blocked""#)));
        assert_eq!(id(&with(r#""id":"mine""#)), "mine");
    }

    #[test]
    fn what_is_stored_parses_to_the_same_row() {
        let full = with(
            r#""session":"01937f0e-7c1a-7b2c-9d3e-0123456789ab","run":"r","source":"egress",
            "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7",
            "kind":"artifact","request":"q","outcome":"asked","actor":"a","on_behalf_of":"b",
            "decided_by":"c","artifact":{"name":"n","bytes":1,"uri":"u"},"attributes":{"z":1}"#,
        );
        let row = parse(full.as_bytes(), 1).unwrap();
        let stored = serde_json::to_vec(&row).unwrap();
        assert_eq!(parse(&stored, 1).unwrap(), row);
    }
}
