//! What does a driver's line ask for? It is taken apart as a whole before anything of it is done,
//! and what is wrong is said by the name of its field.

use capture::{
    Point,
    input::{Button, Buttons, Key, Keysym},
    mark::{Mark, MarkError},
};
use serde_json::{Map, Value, json};

use crate::wire::Deed;

/// The longest text for the clipboard: a recorder keeps no longer one.
const CLIPBOARD_BYTES_MAX: usize = 1 << 20;
/// The longest line: the longest text for the clipboard fits, with every letter beyond ASCII escaped.
pub(super) const BYTES_MAX: u64 = 3 * (CLIPBOARD_BYTES_MAX as u64) + (64 << 10);
/// The longest text to type: a page. More of it is for the clipboard.
const TEXT_CHARS_MAX: usize = 4_096;
/// The longest chord: as many fingers as there are.
const CHORD_MAX: usize = 10;
/// Clicks that belong together.
const CLICKS_MAX: u64 = 10;
/// Steps of a wheel in one direction.
const STEPS_MAX: u64 = 100;
/// The longest id.
const ID_BYTES_MAX: usize = 64;
/// How much of a field's name is repeated where there is no such field.
const NAME_CHARS_MAX: usize = 32;

/// A line.
pub(super) struct Line {
    /// What its answer repeats.
    pub(super) id: Option<Value>,
    /// What it asks for.
    pub(super) order: Result<Order, Wrong>,
}

/// What a line asks for.
pub(super) enum Order {
    /// Deeds, each with the field that asks for it.
    Deeds(Vec<(Deed, &'static str)>),
    /// A mark.
    Mark(Mark),
}

/// Why a line is not obeyed.
#[derive(Debug)]
pub(super) struct Wrong {
    error: String,
    field: Option<String>,
}

impl Wrong {
    /// `error`, which is about `field`.
    pub(super) fn with(error: impl ToString, field: Option<&str>) -> Self {
        Self {
            error: error.to_string(),
            field: field.map(str::to_owned),
        }
    }

    /// What is answered.
    pub(super) fn answer(self) -> Value {
        let mut answer = json!({ "ok": false, "error": self.error });
        if let Some(field) = self.field {
            answer["field"] = field.into();
        }
        answer
    }
}

impl Line {
    /// Takes `line` apart. What is wrong is said without repeating what was to be typed.
    pub(super) fn parse(line: &[u8]) -> Self {
        let Ok(fields) = serde_json::from_slice(line) else {
            let order = Err(Wrong::with("a line is a JSON object", None));
            return Self { id: None, order };
        };
        let mut fields = Fields(fields);
        let id = match fields.id() {
            Ok(id) => id,
            Err(wrong) => {
                return Self {
                    id: None,
                    order: Err(wrong),
                };
            }
        };
        let order = fields.order().and_then(|order| {
            fields.end()?;
            Ok(order)
        });
        Self { id, order }
    }
}

/// The fields of a line that nobody has asked for yet.
struct Fields(Map<String, Value>);

impl Fields {
    fn id(&mut self) -> Result<Option<Value>, Wrong> {
        match self.0.remove("id") {
            None => Ok(None),
            Some(id @ Value::Number(_)) => Ok(Some(id)),
            Some(Value::String(id)) if id.len() <= ID_BYTES_MAX => Ok(Some(id.into())),
            Some(_) => Err(wrong(
                "id",
                &format!("a number, or a text of at most {ID_BYTES_MAX} bytes"),
            )),
        }
    }

    /// What the line asks for. Its first field says so; `text` belongs to a mark beside one.
    fn order(&mut self) -> Result<Order, Wrong> {
        if self.0.contains_key("mark") {
            return self.mark().map(Order::Mark);
        }
        let deeds = if self.0.contains_key("key") {
            self.key()
        } else if self.0.contains_key("keys") {
            self.chord()
        } else if self.0.contains_key("text") {
            self.text()
        } else if self.0.contains_key("pointer") {
            self.pointer()
        } else if self.0.contains_key("clipboard") {
            self.clipboard()
        } else {
            let all = "a line has one of key, keys, text, pointer, clipboard and mark";
            Err(Wrong::with(all, None))
        };
        deeds.map(Order::Deeds)
    }

    /// There is nothing else.
    fn end(&self) -> Result<(), Wrong> {
        let Some(name) = self.0.keys().next() else {
            return Ok(());
        };
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        Err(Wrong::with(
            "the line has no place for this field",
            Some(&name),
        ))
    }

    fn string(&mut self, name: &str) -> Result<String, Wrong> {
        match self.0.remove(name) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(wrong(name, "a text")),
        }
    }

    fn mark(&mut self) -> Result<Mark, Wrong> {
        let name = self.string("mark")?;
        let text = self.0.contains_key("text").then(|| self.string("text"));
        Mark::new(name, text.transpose()?).map_err(|error| {
            let field = match error {
                MarkError::Name => "mark",
                MarkError::Text => "text",
            };
            Wrong::with(error, Some(field))
        })
    }

    fn key(&mut self) -> Result<Deeds, Wrong> {
        const NAME: &str = "key";
        let keysym = self.string(NAME)?;
        let keysym = keysym_of(NAME, &keysym)?;
        let press = |down| (key(keysym, down), NAME);
        match self.0.remove("down") {
            None => Ok(vec![press(true), press(false)]),
            Some(Value::Bool(down)) => Ok(vec![press(down)]),
            Some(_) => Err(wrong("down", "true or false")),
        }
    }

    fn chord(&mut self) -> Result<Deeds, Wrong> {
        const NAME: &str = "keys";
        let shape = || {
            wrong(
                NAME,
                &format!("1 to {CHORD_MAX} names of keys, none of them twice"),
            )
        };
        let Some(Value::Array(names)) = self.0.remove(NAME) else {
            return Err(shape());
        };
        let mut chord = Vec::new();
        for name in &names {
            let keysym = keysym_of(NAME, name.as_str().ok_or_else(shape)?)?;
            if chord.contains(&keysym) {
                return Err(shape());
            }
            chord.push(keysym);
        }
        if chord.is_empty() || chord.len() > CHORD_MAX {
            return Err(shape());
        }
        let down = chord.iter().map(|&keysym| (key(keysym, true), NAME));
        let up = chord.iter().rev().map(|&keysym| (key(keysym, false), NAME));
        Ok(down.chain(up).collect())
    }

    fn text(&mut self) -> Result<Deeds, Wrong> {
        const NAME: &str = "text";
        let text = self.string(NAME)?;
        let types = |typed| matches!(typed, '\n' | '\t') || Keysym::of(typed).char() == Some(typed);
        if text.chars().count() > TEXT_CHARS_MAX || !text.chars().all(types) {
            let shape = format!("at most {TEXT_CHARS_MAX} characters that keys could type");
            return Err(wrong(NAME, &shape));
        }
        Ok(vec![(Deed::Text(text), NAME)])
    }

    fn clipboard(&mut self) -> Result<Deeds, Wrong> {
        const NAME: &str = "clipboard";
        let text = self.string(NAME)?;
        if text.len() > CLIPBOARD_BYTES_MAX {
            return Err(wrong(NAME, &format!("at most {CLIPBOARD_BYTES_MAX} bytes")));
        }
        Ok(vec![(Deed::Clipboard(text), NAME)])
    }

    fn pointer(&mut self) -> Result<Deeds, Wrong> {
        const NAME: &str = "pointer";
        let at = self
            .pair(NAME)
            .ok_or_else(|| wrong(NAME, "[x, y] in pixels"))?;
        let side = |at: i64| i32::try_from(at).map_err(|_| wrong(NAME, "[x, y] in pixels"));
        let at = Point {
            x: side(at.0)?,
            y: side(at.1)?,
        };
        let mut deeds = vec![(Deed::Move(at), NAME)];
        let ways = ["click", "down", "up", "wheel"];
        let Some(way) = ways.into_iter().find(|way| self.0.contains_key(*way)) else {
            return Ok(deeds);
        };
        if way == "wheel" {
            deeds.extend(self.wheel()?.into_iter().map(|deed| (deed, way)));
            return Ok(deeds);
        }
        let button = self.string(way)?;
        let named = Button::ALL
            .into_iter()
            .filter(|button| !matches!(button, Button::Wheel { .. }));
        let button = named.into_iter().find(|named| named.as_str() == button);
        let button = button.ok_or_else(|| wrong(way, "left, middle, right, back or forward"))?;
        let button = Buttons::of(button);
        match way {
            "down" => deeds.push((Deed::Press(button), way)),
            "up" => deeds.push((Deed::Release(button), way)),
            _ => {
                for _ in 0..self.count()? {
                    deeds.extend([(Deed::Press(button), way), (Deed::Release(button), way)]);
                }
            }
        }
        Ok(deeds)
    }

    fn count(&mut self) -> Result<u64, Wrong> {
        let count = self
            .0
            .remove("count")
            .map_or(Some(1), |count| count.as_u64());
        let count = count.filter(|count| (1..=CLICKS_MAX).contains(count));
        count.ok_or_else(|| wrong("count", &format!("1 to {CLICKS_MAX}")))
    }

    fn wheel(&mut self) -> Result<Vec<Deed>, Wrong> {
        const NAME: &str = "wheel";
        let shape = || {
            wrong(
                NAME,
                &format!("[right, down], at most {STEPS_MAX} steps each"),
            )
        };
        let (right, down) = self.pair(NAME).ok_or_else(shape)?;
        let mut deeds = Vec::new();
        for (steps, dx, dy) in [(right, 1, 0), (down, 0, 1)] {
            let sign = i8::try_from(steps.signum()).unwrap_or_default();
            let step = Buttons::of(Button::Wheel {
                dx: dx * sign,
                dy: dy * sign,
            });
            if steps.unsigned_abs() > STEPS_MAX {
                return Err(shape());
            }
            for _ in 0..steps.unsigned_abs() {
                deeds.extend([Deed::Press(step), Deed::Release(step)]);
            }
        }
        Ok(deeds)
    }

    fn pair(&mut self, name: &str) -> Option<(i64, i64)> {
        let pair = self.0.remove(name)?;
        match pair.as_array()?.as_slice() {
            [x, y] => Some((x.as_i64()?, y.as_i64()?)),
            _ => None,
        }
    }
}

type Deeds = Vec<(Deed, &'static str)>;

fn keysym_of(field: &str, name: &str) -> Result<Keysym, Wrong> {
    let shape = "X11's name of a key, such as Return or Control_L, or the character it types";
    Keysym::named(name).ok_or_else(|| wrong(field, shape))
}

const fn key(keysym: Keysym, down: bool) -> Deed {
    Deed::Key(Key {
        keysym,
        down,
        scan_code: None,
    })
}

fn wrong(field: &str, shape: &str) -> Wrong {
    Wrong::with(format!("field {field:?} must be {shape}"), Some(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn deeds(line: &str) -> Vec<Deed> {
        match Line::parse(line.as_bytes()).order {
            Ok(Order::Deeds(deeds)) => deeds.into_iter().map(|(deed, _)| deed).collect(),
            Ok(Order::Mark(_)) => panic!("{line} is a mark"),
            Err(wrong) => panic!("{line}: {wrong:?}"),
        }
    }

    fn tap(name: &str) -> [Deed; 2] {
        let keysym = Keysym::named(name).unwrap();
        [true, false].map(|down| key(keysym, down))
    }

    fn click(bit: u16) -> [Deed; 2] {
        let button = Buttons(1 << bit);
        [Deed::Press(button), Deed::Release(button)]
    }

    #[test]
    fn a_line_says_what_is_done() {
        let at = Deed::Move(Point { x: 7, y: 9 });
        let moved = |rest: &[Deed]| [std::slice::from_ref(&at), rest].concat();
        let [c, control] = [tap("c"), tap("Control_L")];
        let chord = [&control[..1], &c, &control[1..]].concat();
        let wheel = [click(6), click(6), click(3)].concat();
        for (line, expected) in [
            (r#"{"key":"Return"}"#, tap("Return").to_vec()),
            (r#"{"key":"ü"}"#, tap("ü").to_vec()),
            (r#"{"key":"a","down":true}"#, tap("a")[..1].to_vec()),
            (r#"{"key":"a","down":false}"#, tap("a")[1..].to_vec()),
            (r#"{"keys":["Control_L","c"]}"#, chord),
            (r#"{"text":"ж\n\t😀"}"#, vec![Deed::Text("ж\n\t😀".into())]),
            (r#"{"pointer":[7,9]}"#, moved(&[])),
            (r#"{"pointer":[7,9],"click":"left"}"#, moved(&click(0))),
            (
                r#"{"pointer":[7,9],"click":"forward","count":2}"#,
                moved(&[click(8), click(8)].concat()),
            ),
            (r#"{"pointer":[7,9],"down":"right"}"#, moved(&click(2)[..1])),
            (r#"{"pointer":[7,9],"up":"back"}"#, moved(&click(7)[1..])),
            (r#"{"pointer":[7,9],"wheel":[2,-1]}"#, moved(&wheel)),
            (r#"{"pointer":[7,9],"wheel":[0,0]}"#, moved(&[])),
            (r#"{"clipboard":""}"#, vec![Deed::Clipboard(String::new())]),
        ] {
            assert!(deeds(line) == expected, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_by_its_field_and_not_repeated() {
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(TEXT_CHARS_MAX + 1));
        let longer = format!(
            r#"{{"clipboard":"{}"}}"#,
            "x".repeat(CLIPBOARD_BYTES_MAX + 1)
        );
        let chord = format!(r#"{{"keys":[{}]}}"#, ["\"a\""; CHORD_MAX + 1].join(","));
        for (line, field) in [
            ("", None),
            ("hunter2", None),
            (r#"["key"]"#, None),
            ("{}", None),
            (r#"{"id":1}"#, None),
            (r#"{"key":"hunter2"}"#, Some("key")),
            (r#"{"key":1}"#, Some("key")),
            (r#"{"key":"a","down":"left"}"#, Some("down")),
            (r#"{"key":"a","up":"left"}"#, Some("up")),
            (r#"{"key":"a","keys":["b"]}"#, Some("keys")),
            (r#"{"keys":[]}"#, Some("keys")),
            (r#"{"keys":["hunter2"]}"#, Some("keys")),
            (r#"{"keys":["a","a"]}"#, Some("keys")),
            (r#"{"keys":["a"],"down":true}"#, Some("down")),
            (&chord, Some("keys")),
            (r#"{"text":7}"#, Some("text")),
            (r#"{"text":"\u0007"}"#, Some("text")),
            (&long, Some("text")),
            (r#"{"pointer":[1]}"#, Some("pointer")),
            (r#"{"pointer":[1,2,3]}"#, Some("pointer")),
            (r#"{"pointer":[1.5,2]}"#, Some("pointer")),
            (r#"{"pointer":[4294967296,2]}"#, Some("pointer")),
            (r#"{"pointer":[1,2],"click":"wheel"}"#, Some("click")),
            (
                r#"{"pointer":[1,2],"click":"left","count":0}"#,
                Some("count"),
            ),
            (
                r#"{"pointer":[1,2],"click":"left","count":11}"#,
                Some("count"),
            ),
            (r#"{"pointer":[1,2],"count":2}"#, Some("count")),
            (r#"{"pointer":[1,2],"down":true}"#, Some("down")),
            (r#"{"pointer":[1,2],"down":"left","up":"left"}"#, Some("up")),
            (r#"{"pointer":[1,2],"wheel":[101,0]}"#, Some("wheel")),
            (
                r#"{"pointer":[1,2],"wheel":[0,-9223372036854775808]}"#,
                Some("wheel"),
            ),
            (r#"{"click":"left"}"#, None),
            (r#"{"clipboard":null}"#, Some("clipboard")),
            (&longer, Some("clipboard")),
            (r#"{"mark":"hunter2!"}"#, Some("mark")),
            (r#"{"mark":"m","text":7}"#, Some("text")),
            (r#"{"mark":"m","key":"a"}"#, Some("key")),
            (r#"{"key":"a","id":{}}"#, Some("id")),
        ] {
            let Err(wrong) = Line::parse(line.as_bytes()).order else {
                panic!("{line} is taken");
            };
            assert_eq!(wrong.field.as_deref(), field, "{line}");
            assert!(!wrong.error.contains("hunter2"), "{}", wrong.error);
        }
    }

    #[test]
    fn a_mark_may_have_a_text() {
        let line = br#"{"mark":"secret.begin","text":"why","id":"x"}"#;
        let Line { id, order } = Line::parse(line);
        let Ok(Order::Mark(mark)) = order else {
            panic!("no mark");
        };
        assert_eq!(id, Some("x".into()));
        assert_eq!(
            (mark.name(), mark.text()),
            (Mark::SECRET_BEGIN, Some("why"))
        );
    }

    #[test]
    fn the_longest_clipboard_fits_a_line_however_it_is_escaped() {
        let text = "ж".repeat(CLIPBOARD_BYTES_MAX / 2);
        let escaped = format!(
            "{{\"clipboard\":\"{}\"}}\n",
            "\\u0436".repeat(CLIPBOARD_BYTES_MAX / 2)
        );
        assert!((escaped.len() as u64) < BYTES_MAX);
        assert!(deeds(&escaped) == [Deed::Clipboard(text)]);
    }
}
