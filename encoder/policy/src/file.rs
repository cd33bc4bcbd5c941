//! The policy file's TOML, and which of its rules this recorder carries out.

use capture::mark::Mark as Told;
use serde::{Deserialize, de::IgnoredAny};
use toml::Spanned;

use crate::{Between, Clipboard, Input, Keys, Length, Mask, Policy, PolicyError, Region};

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
    from_row: Option<Spanned<IgnoredAny>>,
    to_row: Option<Spanned<IgnoredAny>>,
    on_row: Option<Spanned<IgnoredAny>>,
    from_span: Option<Spanned<IgnoredAny>>,
    to_span: Option<Spanned<IgnoredAny>>,
    on_span: Option<Spanned<IgnoredAny>>,
}

impl MaskRule {
    /// The first trigger, if it has one, that no recorder ever hears of.
    fn unheard(&self) -> Option<&Spanned<IgnoredAny>> {
        let (rows, spans) = (
            [&self.from_row, &self.to_row, &self.on_row],
            [&self.from_span, &self.to_span, &self.on_span],
        );
        let all = rows.into_iter().chain(spans).flatten();
        all.min_by_key(|trigger| trigger.span().start)
    }
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
    #[serde(default)]
    keys: Keys,
    suppress_after: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    clipboard: Clipboard,
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
pub(super) fn read(text: &str) -> Result<(Vec<Mask>, Input), PolicyError> {
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
        input.keys = rules.keys;
        input.clipboard = rules.clipboard;
    }
    if let Some(extra) = file.mask.get(Policy::MAX_MASKS) {
        return Err(PolicyError::Syntax {
            line: line_of(text, extra.span().start),
            message: format!("a policy has at most {} masks", Policy::MAX_MASKS),
        });
    }
    let mut masks: Vec<Mask> = Vec::new();
    for rule in file.mask {
        let mask = mask(text, rule.into_inner(), &masks)?;
        masks.push(mask);
    }
    Ok((masks, input))
}

/// The longest rule name, which every segment's manifest repeats.
const MAX_NAME_CHARS: usize = 64;

/// One mask, which agrees with those `before` it.
fn mask(text: &str, rule: MaskRule, before: &[Mask]) -> Result<Mask, PolicyError> {
    let (name_at, name) = (rule.name.span().start, rule.name.get_ref());
    let wrong = |at: usize, reason: String| PolicyError::Mask {
        line: line_of(text, at),
        name: name.clone(),
        reason,
    };
    if let Some(trigger) = rule.unheard() {
        let reason = "is begun by a row or span: those reach only the server, and never a recorder; \
            a mask is begun by a mark (from_mark, to_mark)";
        return Err(wrong(trigger.span().start, reason.to_owned()));
    }
    let chars = name.chars().count();
    if name.trim().is_empty() || chars > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let reason = format!("needs a printable name of 1 to {MAX_NAME_CHARS} characters");
        return Err(wrong(name_at, reason));
    }
    let region =
        region(rule.rect.get_ref()).map_err(|reason| wrong(rule.rect.span().start, reason))?;
    let between = match (&rule.from_mark, &rule.to_mark) {
        (None, None) => None,
        (Some(from), Some(to)) => {
            let between = between(from.get_ref(), to.get_ref(), before);
            Some(between.map_err(|reason| wrong(from.span().start, reason))?)
        }
        (Some(one), None) | (None, Some(one)) => {
            let reason = "needs both from_mark and to_mark".to_owned();
            return Err(wrong(one.span().start, reason));
        }
    };
    Ok(Mask {
        name: name.clone(),
        region,
        between,
    })
}

/// The pair of two marks. One mark has one end everywhere, so that it is known at any time what
/// is still open.
fn between(from: &str, to: &str, before: &[Mask]) -> Result<Between, String> {
    for name in [from, to] {
        if Told::new(name.to_owned(), None).is_err() {
            return Err(format!("names {name:?}, which is no mark's name"));
        }
    }
    if from == to {
        return Err("needs two different marks".to_owned());
    }
    let others = before.iter().filter_map(|mask| mask.between.as_ref());
    let mut ends = others
        .map(|other| (&*other.from_mark, &*other.to_mark))
        .chain([(Told::SECRET_BEGIN, Told::SECRET_END)]);
    if let Some((_, end)) = ends.find(|&(begin, end)| begin == from && end != to) {
        return Err(format!("ends {from:?} with {to:?}, but its end is {end:?}"));
    }
    Ok(Between {
        from_mark: from.to_owned(),
        to_mark: to.to_owned(),
    })
}

fn region(rect: &toml::Value) -> Result<Region, String> {
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
