//! What may be recorded: the redaction policy, as its TOML file says it, and what it lets through
//! of input.
//!
//! A policy that asks for something this recorder cannot honour is refused, so that a recording
//! never starts unmasked by mistake. A [`Policy`] says where pixels are masked; a [`Keeper`]
//! decides over keys, pointer and clipboard. Nothing here does IO or reads a clock.

mod error;
mod file;
mod keeper;
mod marks;
mod region;

pub use error::PolicyError;
pub use keeper::Keeper;
pub use marks::{Between, Marks};
pub use region::{Length, Region};

use std::fmt::Write as _;

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// A redaction policy. The default one records the picture as it is, of keys their classes and of
/// the clipboard a hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    sha256: Option<String>,
    masks: Vec<Mask>,
    input: Input,
}

impl Policy {
    /// The longest policy text accepted.
    pub const MAX_BYTES: usize = 64 * 1024;
    /// The most masks in one policy.
    pub const MAX_MASKS: usize = 64;

    /// Reads a policy's TOML text.
    ///
    /// # Errors
    /// When the text is too long, is not a policy, or asks for what this recorder does not do.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        if text.len() > Self::MAX_BYTES {
            return Err(PolicyError::TooLong { bytes: text.len() });
        }
        let (masks, input) = file::read(text)?;
        Ok(Self {
            sha256: Some(hex(&Sha256::digest(text.as_bytes()))),
            masks,
            input,
        })
    }

    /// The SHA-256 of the policy's text in lowercase hexadecimal, which names it in records;
    /// `None` for the default.
    #[must_use]
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// The regions that are not recorded, always or between marks.
    #[must_use]
    pub fn masks(&self) -> &[Mask] {
        &self.masks
    }

    /// What is kept of input.
    #[must_use]
    pub const fn input(&self) -> Input {
        self.input
    }
}

/// A region of the screen that is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The rule's name, as the record shows it.
    pub name: String,
    /// Where it lies.
    pub region: Region,
    /// The marks between which it applies; `None` for always.
    pub between: Option<Between>,
}

/// What is kept of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Of keys.
    pub keys: Keys,
    /// Of the clipboard.
    pub clipboard: Clipboard,
}

/// What is kept of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keys {
    /// Nothing.
    None,
    /// Control keys, and that a printable key was pressed.
    #[default]
    Classes,
    /// Every key and what was typed.
    All,
}

/// What is kept of the clipboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clipboard {
    /// Nothing.
    None,
    /// A keyed hash and a rounded size.
    #[default]
    Hash,
    /// Its text.
    Text,
}

/// `bytes` in lowercase hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use capture::{Rect, Size};

    use super::*;

    fn refusal(text: &str) -> String {
        Policy::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_fixed_mask_has_pixels_or_percents() {
        let text = "[[mask]]\nname = \"a\"\nrect = [1600, 0, 320, 40]\n\
            [[mask]]\nname = \"b\"\nrect = [\"83.5%\", \"0\", \"17%\", \"4%\"]\n\
            [[mask]]\nname = \"c\"\nrect = \"full\"\n";
        let policy = Policy::parse(text).unwrap();
        let on = |size| policy.masks().iter().map(move |mask| mask.region.on(size));
        let full_hd: Vec<Rect> = on(Size::new(1920, 1080)).collect();
        assert_eq!(full_hd[0], Rect::new(1600, 0, 320, 40));
        assert_eq!(full_hd[1], Rect::new(1603, 0, 317, 44));
        assert_eq!(full_hd[2], Rect::new(0, 0, 1920, 1080));
        let small: Vec<Rect> = on(Size::new(101, 33)).collect();
        assert!(small[0].is_empty());
        assert_eq!(small[1], Rect::new(84, 0, 17, 2));
        let digest = policy.sha256().unwrap();
        assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()));
    }

    #[test]
    fn input_is_kept_as_the_policy_says() {
        let check = |text: &str, keys, clipboard| {
            let input = Policy::parse(&format!("[input]\n{text}\n"))
                .unwrap()
                .input();
            assert_eq!(input, Input { keys, clipboard });
        };
        check("", Keys::Classes, Clipboard::Hash);
        check("keys = \"none\"", Keys::None, Clipboard::Hash);
        check("clipboard = \"none\"", Keys::Classes, Clipboard::None);
        check(
            "keys = \"all\"\nclipboard = \"text\"",
            Keys::All,
            Clipboard::Text,
        );
        let safe = Policy::default();
        assert_eq!(Policy::parse("").unwrap().input(), safe.input());
        assert_eq!(safe.input(), Input::default());
        assert_eq!(safe.sha256(), None);
    }

    #[test]
    fn a_mask_may_apply_between_two_marks() {
        let text = "[[mask]]\nname = \"v\"\nrect = \"full\"\n\
            from_mark = \"secret.begin\"\nto_mark = \"secret.end\"\n";
        let policy = Policy::parse(text).unwrap();
        let between = policy.masks()[0].between.as_ref().unwrap();
        assert_eq!(between.from_mark, "secret.begin");
        assert_eq!(between.to_mark, "secret.end");
    }

    #[test]
    fn what_a_mask_gets_wrong_is_said_by_line() {
        let check = |rules: &str, line: usize, what: &str| {
            let said = refusal(&format!("[[mask]]\nname = \"v\"\nrect = \"full\"\n{rules}"));
            let place = format!("line {line}: mask \"v\" ");
            assert!(said.starts_with(&place) && said.contains(what), "{said}");
        };
        check("from_mark = \"a\"", 4, "both from_mark and to_mark");
        check("\nto_mark = \"a\"", 5, "both from_mark and to_mark");
        check("from_mark = \"a\"\nto_mark = \"a\"", 4, "two different");
        check("from_mark = \"a b\"\nto_mark = \"a\"", 4, "no mark's name");
        let end = "but its end is";
        check("from_mark = \"secret.begin\"\nto_mark = \"b\"", 4, end);
        let again = "from_mark = \"a\"\nto_mark = \"b\"\n\
            [[mask]]\nname = \"v\"\nrect = \"full\"\nfrom_mark = \"a\"\nto_mark = \"c\"";
        check(again, 9, end);
        for trigger in [
            "from_row",
            "to_row",
            "on_row",
            "from_span",
            "to_span",
            "on_span",
        ] {
            check(
                &format!("{trigger} = \"login\""),
                4,
                "reach only the server",
            );
        }
        check(
            "from_row = { kind = \"log\" }\nto_row = 1",
            4,
            "reach only the server",
        );
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_line() {
        let check = |text: &str, line: usize, what: &str| {
            let said = refusal(text);
            assert!(
                said.starts_with(&format!("line {line}: ")) && said.contains(what),
                "{said}"
            );
            assert!(said.contains("not supported"), "{said}");
        };
        check(
            "\n[[text]]\nname = \"n\"\npattern = 'x'\n",
            2,
            "text rules are",
        );
        check("[content]\nhold_back = \"5s\"\n", 1, "content settings are");
        check(
            "[input]\nsuppress_after = ['x']\n",
            2,
            "suppress_after rules are",
        );
    }

    #[test]
    fn unknown_keys_and_bad_values_are_errors_by_line() {
        let check = |text: &str, line: usize| {
            let said = refusal(text);
            assert!(said.starts_with(&format!("line {line}: ")), "{said}");
        };
        check("[[mask]]\nname = \"a\"\nrect = \"full\"\ncolour = 1\n", 4);
        check("[[mask]]\nname = \"a\"\nrect = \"half\"\n", 3);
        check("[[mask]]\nname = \"a\"\nrect = [0, 0, 0, 5]\n", 3);
        check("[[mask]]\nname = \"a\"\nrect = [0, 0, -1, 5]\n", 3);
        check("[[mask]]\nname = \"a\"\nrect = [0, 0, \"101%\", 5]\n", 3);
        check("[[mask]]\nname = \"a\"\nrect = [0, 0, 5]\n", 3);
        check("[[mask]]\nname = \" \"\nrect = \"full\"\n", 2);
        check("[[mask]]\nrect = \"full\"\n", 1);
        check("[input]\nkeys = \"some\"\n", 2);
        check("[masks]\n", 1);
        check("x = \n", 1);
    }

    #[test]
    fn a_policy_beyond_the_bounds_is_refused() {
        assert!(refusal(&"#".repeat(Policy::MAX_BYTES + 1)).contains("bytes"));
        let many = "[[mask]]\nname = \"a\"\nrect = \"full\"\n".repeat(Policy::MAX_MASKS + 1);
        assert!(refusal(&many).contains("64"));
    }
}
