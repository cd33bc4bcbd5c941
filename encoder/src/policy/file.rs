//! The policy file's TOML, and which of its rules this recorder carries out.

use serde::Deserialize;
use toml::Spanned;

use super::{Clipboard, FixedMask, Input, Keys, Length, Policy, PolicyError, Region};

/// The whole file. Every rule of the format is known here, so that only unknown ones are typos.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    mask: Vec<Spanned<MaskRule>>,
    #[serde(default)]
    text: Vec<Spanned<TextRule>>,
    input: Option<InputRules>,
    content: Option<Spanned<ContentRules>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MaskRule {
    name: Spanned<String>,
    rect: Spanned<toml::Value>,
    from_mark: Option<Spanned<String>>,
    to_mark: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "read only to tell a typo from a rule not yet carried out"
)]
struct TextRule {
    name: String,
    pattern: String,
    check: Option<String>,
    class: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputRules {
    keys: Option<Spanned<KeysWord>>,
    suppress_after: Option<Spanned<Vec<String>>>,
    clipboard: Option<Spanned<ClipboardWord>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeysWord {
    None,
    Classes,
    All,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ClipboardWord {
    None,
    Hash,
    Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "read only to tell a typo from a rule not yet carried out"
)]
struct ContentRules {
    hold_back: Option<String>,
    on_overload: Option<String>,
}

/// The masks and input settings of a policy's text.
pub(super) fn read(text: &str) -> Result<(Vec<FixedMask>, Input), PolicyError> {
    let file: File = toml::from_str(text).map_err(|error| PolicyError::Syntax {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    let unsupported = |at: usize, what: &str| {
        Err(PolicyError::Unsupported {
            line: line_of(text, at),
            what: what.to_owned(),
        })
    };
    if let Some(rule) = file.text.first() {
        return unsupported(rule.span().start, "text rules are");
    }
    if let Some(rules) = &file.content {
        return unsupported(rules.span().start, "content settings are");
    }
    let mut input = Input::default();
    if let Some(rules) = file.input {
        if let Some(rule) = &rules.suppress_after {
            return unsupported(rule.span().start, "suppress_after rules are");
        }
        if let Some(keys) = rules.keys {
            input.keys = match keys.get_ref() {
                KeysWord::None => Keys::None,
                KeysWord::Classes => Keys::Classes,
                KeysWord::All => return unsupported(keys.span().start, "keys = \"all\" is"),
            };
        }
        if let Some(clipboard) = rules.clipboard {
            input.clipboard = match clipboard.get_ref() {
                ClipboardWord::None => Clipboard::None,
                ClipboardWord::Hash => Clipboard::Hash,
                ClipboardWord::Text => {
                    return unsupported(clipboard.span().start, "clipboard = \"text\" is");
                }
            };
        }
    }
    if let Some(extra) = file.mask.get(Policy::MAX_MASKS) {
        return Err(PolicyError::Syntax {
            line: line_of(text, extra.span().start),
            message: format!("a policy has at most {} masks", Policy::MAX_MASKS),
        });
    }
    let mut masks = Vec::new();
    for rule in file.mask {
        let rule = rule.into_inner();
        if let Some(mark) = rule.from_mark.or(rule.to_mark) {
            return unsupported(mark.span().start, "masks between marks are");
        }
        masks.push(fixed_mask(text, rule.name, rule.rect)?);
    }
    Ok((masks, input))
}

/// The longest rule name, which every segment's manifest repeats.
const MAX_NAME_CHARS: usize = 64;

fn fixed_mask(
    text: &str,
    name: Spanned<String>,
    rect: Spanned<toml::Value>,
) -> Result<FixedMask, PolicyError> {
    let (name_at, rect_at) = (name.span().start, rect.span().start);
    let name = name.into_inner();
    let wrong = |at: usize, reason: String| PolicyError::Mask {
        line: line_of(text, at),
        name: name.clone(),
        reason,
    };
    let chars = name.chars().count();
    if name.trim().is_empty() || chars > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let reason = format!("needs a printable name of 1 to {MAX_NAME_CHARS} characters");
        return Err(wrong(name_at, reason));
    }
    let region = region(rect.into_inner()).map_err(|reason| wrong(rect_at, reason))?;
    Ok(FixedMask { name, region })
}

fn region(rect: toml::Value) -> Result<Region, String> {
    const FORM: &str = "needs rect = \"full\" or [left, top, width, height]";
    match rect {
        toml::Value::String(word) if word == "full" => Ok(Region::Full),
        toml::Value::Array(sides) => {
            let sides: Vec<Length> = sides.iter().map(length).collect::<Result<_, _>>()?;
            let sides: [Length; 4] = sides.try_into().map_err(|_| FORM.to_owned())?;
            let [.., w, h] = sides;
            if [w, h].iter().any(|side| side.scaled(u32::MAX) == 0) {
                return Err("covers nothing: width and height must be above 0".into());
            }
            Ok(Region::Rect(sides))
        }
        _ => Err(FORM.to_owned()),
    }
}

/// Pixels as an integer or text, or a percentage with at most two decimals.
fn length(value: &toml::Value) -> Result<Length, String> {
    let bad = || {
        format!(
            "has side {value}; sides are pixels or percent up to \"100%\", two decimals at most"
        )
    };
    let px = |digits: &str| digits.parse().map(Length::Px).map_err(|_| bad());
    match value {
        toml::Value::Integer(px) => u32::try_from(*px).map(Length::Px).map_err(|_| bad()),
        toml::Value::String(text) => match text.strip_suffix('%') {
            None => px(text),
            Some(number) => {
                let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
                let digits = format!("{whole}{decimals:0<2}");
                let plain = digits.bytes().all(|b| b.is_ascii_digit());
                digits
                    .parse()
                    .ok()
                    .filter(|&hundredths| plain && decimals.len() <= 2 && hundredths <= 10_000)
                    .map(Length::Percent)
                    .ok_or_else(bad)
            }
        },
        _ => Err(bad()),
    }
}

/// The line, from 1, of the byte at `at`.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}
