//! How is a recorded event told in one line, and does it contain a text?

use capture::event::Event;
use serde_json::Value;

/// What happened, in words; `None` for an event that has none.
#[must_use]
pub fn words(event: &Event) -> Option<String> {
    match event.kind.as_str() {
        "key" => key(event),
        "pointer" => pointer(event),
        "wheel" => wheel(event),
        "clipboard" => Some(clipboard(event)),
        "mark" => mark(event),
        _ => string(event, "text").map(str::to_owned),
    }
}

/// Whether the words or data of `event` contain `text`, whatever its case.
pub(super) fn say(event: &Event, text: &str) -> bool {
    let text = text.to_lowercase();
    let contains = |said: &str| said.to_lowercase().contains(&text);
    words(event).is_some_and(|words| contains(&words))
        || event
            .data
            .values()
            .any(|value| any_string(value, &contains))
}

fn any_string(value: &Value, holds: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(said) => holds(said),
        Value::Array(values) => values.iter().any(|value| any_string(value, holds)),
        Value::Object(fields) => fields.values().any(|value| any_string(value, holds)),
        _ => false,
    }
}

/// About what `event` takes in an answer.
pub(super) fn size_bytes(event: &Event) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::String(said) => said.len() + 2,
            Value::Array(values) => values.iter().map(|value| of(value) + 1).sum(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, it)| name.len() + 4 + of(it))
                .sum(),
            _ => 6,
        }
    }
    /// Id, times, kind and origin.
    const ROW_BYTES: usize = 120;
    let data = event.data.iter();
    ROW_BYTES
        + data
            .map(|(name, it)| name.len() + 4 + of(it))
            .sum::<usize>()
}

/// `Control+c`, `Return`, `a up`.
fn key(event: &Event) -> Option<String> {
    let name = match string(event, "name")? {
        " " => "Space",
        name => name,
    };
    let mods = array(event, "mods").iter().filter_map(Value::as_str);
    let chord: Vec<&str> = mods.chain([name]).collect();
    let up = event.data.get("down").is_some_and(|down| down == false);
    Some(format!(
        "{}{}",
        chord.join("+"),
        if up { " up" } else { "" }
    ))
}

/// `left down at 120,80`, `move to 10,20`, `path from 10,20 to 120,80, 17 points`.
fn pointer(event: &Event) -> Option<String> {
    let action = string(event, "action")?;
    if action == "path" {
        let path = array(event, "path");
        let end = |point: Option<&Value>| place(point?.as_array()?.get(1..)?);
        let (from, to) = (end(path.first())?, end(path.last())?);
        return Some(match path.len() {
            1 => format!("move to {to}"),
            points => format!("path from {from} to {to}, {points} points"),
        });
    }
    let button = string(event, "button").unwrap_or("button");
    let at = place(array(event, "at"))?;
    Some(format!("{button} {action} at {at}"))
}

/// `wheel up 3 at 120,80`.
fn wheel(event: &Event) -> Option<String> {
    let steps = |name: &str| event.data.get(name).and_then(Value::as_i64).unwrap_or(0);
    let turn = |steps: i64, back: &str, on: &str| match steps {
        0 => String::new(),
        _ => format!(
            " {} {}",
            if steps < 0 { back } else { on },
            steps.unsigned_abs()
        ),
    };
    let turns = turn(steps("dy"), "up", "down") + &turn(steps("dx"), "left", "right");
    Some(format!("wheel{turns} at {}", place(array(event, "at"))?))
}

/// `text, 128 bytes, to machine`. A text that was kept stays in the data: it may be long.
fn clipboard(event: &Event) -> String {
    let types: Vec<&str> = array(event, "types")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let bytes = event.data.get("bytes").and_then(Value::as_u64);
    let way = string(event, "direction");
    let parts = [
        (!types.is_empty()).then(|| types.join(" ")),
        bytes.map(|bytes| format!("{bytes} bytes")),
        way.map(|way| way.replacen('-', " ", 1)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// `step.1: the form is open`.
fn mark(event: &Event) -> Option<String> {
    let said = [string(event, "name"), string(event, "text")];
    let said: Vec<&str> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(": "))
}

fn string<'a>(event: &'a Event, name: &str) -> Option<&'a str> {
    event.data.get(name)?.as_str()
}

fn array<'a>(event: &'a Event, name: &str) -> &'a [Value] {
    let values = event.data.get(name).and_then(Value::as_array);
    values.map_or(&[], Vec::as_slice)
}

fn place(at: &[Value]) -> Option<String> {
    match at {
        [x, y] => Some(format!("{},{}", x.as_i64()?, y.as_i64()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(mut fields: Value) -> Event {
        fields["t"] = 5.into();
        fields["origin"] = "wire".into();
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn each_kind_of_input_is_told_in_words() {
        for (fields, expected) in [
            (
                json!({"kind": "key", "name": "•", "down": true, "mods": ["Control"]}),
                "Control+•",
            ),
            (
                json!({"kind": "key", "name": "Return", "down": true}),
                "Return",
            ),
            (
                json!({"kind": "key", "name": " ", "down": false}),
                "Space up",
            ),
            (
                json!({"kind": "text_run", "text": "hi", "keys": 2, "to": 9}),
                "hi",
            ),
            (
                json!({"kind": "pointer", "action": "down", "button": "left", "at": [120, 80]}),
                "left down at 120,80",
            ),
            (
                json!({"kind": "pointer", "action": "path", "path": [[0, 1, 2], [9, 3, 4]]}),
                "path from 1,2 to 3,4, 2 points",
            ),
            (
                json!({"kind": "wheel", "at": [1, 2], "dx": 0, "dy": -3}),
                "wheel up 3 at 1,2",
            ),
            (
                json!({"kind": "wheel", "at": [1, 2], "dx": 2, "dy": 1}),
                "wheel down 1 right 2 at 1,2",
            ),
            (
                json!({"kind": "clipboard", "direction": "to-machine", "types": ["text"],
                    "bytes": 128, "text": "kept"}),
                "text, 128 bytes, to machine",
            ),
            (
                json!({"kind": "mark", "name": "secret.begin"}),
                "secret.begin",
            ),
            (
                json!({"kind": "mark", "name": "step", "text": "open"}),
                "step: open",
            ),
            (
                json!({"kind": "health", "state": "ok", "text": "fine"}),
                "fine",
            ),
        ] {
            assert_eq!(words(&event(fields)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn input_that_is_not_as_it_should_be_is_told_as_far_as_it_goes() {
        for (fields, expected) in [
            (json!({"kind": "key", "name": 5}), None),
            (
                json!({"kind": "pointer", "action": "path", "path": [[0, 1]]}),
                None,
            ),
            (
                json!({"kind": "pointer", "action": "down", "at": [1, "x"]}),
                None,
            ),
            (json!({"kind": "wheel", "at": [1]}), None),
            (json!({"kind": "clipboard", "types": "text"}), Some("")),
            (json!({"kind": "size", "size": [1, 2]}), None),
        ] {
            assert_eq!(words(&event(fields)).as_deref(), expected);
        }
    }

    #[test]
    fn a_text_is_found_in_words_and_values_but_not_in_names_of_fields() {
        let event = event(json!({"kind": "clipboard", "types": ["text"], "bytes": 3,
            "direction": "to-machine", "text": "Say \"Ü\""}));
        assert!(say(&event, "say \"ü\"") && say(&event, "3 BYTES"));
        assert!(!say(&event, "types"));
    }
}
