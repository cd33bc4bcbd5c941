//! What may be recorded: the redaction policy, as its TOML file says it.
//!
//! A policy that asks for something this recorder cannot honour is refused, so that a recording
//! never starts unmasked by mistake.

mod file;

use capture::{Rect, Size};
use segment::Sha256;

/// A redaction policy. The default one records the picture as it is and no input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    sha256: Option<Sha256>,
    masks: Vec<FixedMask>,
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
            sha256: Some(Sha256::of(text.as_bytes())),
            masks,
            input,
        })
    }

    /// The digest of the policy's text, which names it in records; `None` for the default.
    #[must_use]
    pub const fn sha256(&self) -> Option<Sha256> {
        self.sha256
    }

    /// The regions that are never recorded.
    #[must_use]
    pub fn masks(&self) -> &[FixedMask] {
        &self.masks
    }

    /// What is kept of input.
    #[must_use]
    pub const fn input(&self) -> Input {
        self.input
    }
}

/// A region of the screen that is never recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedMask {
    /// The rule's name, as the record shows it.
    pub name: String,
    /// Where it lies.
    pub region: Region,
}

/// Where a mask lies on a screen of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// The whole screen.
    Full,
    /// A rectangle: left, top, width, height.
    Rect([Length; 4]),
}

impl Region {
    /// The rectangle this is on a `screen`, rounded outward and clipped; empty when outside.
    #[must_use]
    pub fn on(self, screen: Size) -> Rect {
        let Self::Rect([x, y, w, h]) = self else {
            return screen.rect();
        };
        let (x, w) = span(x, w, screen.w);
        let (y, h) = span(y, h, screen.h);
        Rect { x, y, w, h }
    }
}

/// A distance on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// In true screen pixels.
    Px(u32),
    /// In hundredths of a percent of the screen's side.
    Percent(u32),
}

impl Length {
    const WHOLE: u64 = 100 * 100;

    /// The distance along a side of `side_px`, as a fraction over [`Self::WHOLE`].
    fn scaled(self, side_px: u32) -> u64 {
        match self {
            Self::Px(px) => u64::from(px) * Self::WHOLE,
            Self::Percent(hundredths) => u64::from(hundredths) * u64::from(side_px),
        }
    }
}

/// Start and length in pixels of what begins at `start` and is `len` long, rounded outward.
fn span(start: Length, len: Length, side_px: u32) -> (u32, u32) {
    let from = start.scaled(side_px);
    let to = from + len.scaled(side_px);
    let clip = |px: u64| u32::try_from(px).map_or(side_px, |px| px.min(side_px));
    let from_px = clip(from / Length::WHOLE);
    (from_px, clip(to.div_ceil(Length::WHOLE)) - from_px)
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// Nothing.
    None,
    /// Control keys, and that a printable key was pressed.
    #[default]
    Classes,
}

/// What is kept of the clipboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clipboard {
    /// Nothing.
    None,
    /// A keyed hash and a rounded size.
    #[default]
    Hash,
}

/// Why a text is not a policy this recorder can honour.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The text is too long.
    #[error("the policy has {bytes} bytes; at most {} are read", Policy::MAX_BYTES)]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The text is not TOML, or holds a key or value that no policy has.
    #[error("line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A mask that names no region.
    #[error("line {line}: mask {name:?} {reason}")]
    Mask {
        /// The line, from 1.
        line: usize,
        /// The mask's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A valid rule that this recorder does not carry out.
    #[error(
        "line {line}: {what} not supported by this recorder yet, \
         and nothing is recorded under a policy it cannot honour"
    )]
    Unsupported {
        /// The line, from 1.
        line: usize,
        /// The rules, as the sentence's subject.
        what: String,
    },
}

#[cfg(test)]
mod tests {
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
        assert_eq!(policy.sha256(), Some(Sha256::of(text.as_bytes())));
    }

    #[test]
    fn the_safe_input_settings_are_accepted() {
        let policy = Policy::parse("[input]\nkeys = \"none\"\nclipboard = \"none\"\n").unwrap();
        assert_eq!(policy.input().keys, Keys::None);
        assert_eq!(policy.input().clipboard, Clipboard::None);
        assert_eq!(Policy::parse("").unwrap().input(), Input::default());
        assert_eq!(Policy::default().sha256(), None);
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
        check(
            "[[mask]]\nname = \"v\"\nrect = \"full\"\nfrom_mark = \"a\"\nto_mark = \"b\"\n",
            4,
            "masks between marks are",
        );
        check("[content]\nhold_back = \"5s\"\n", 1, "content settings are");
        check("[input]\nkeys = \"all\"\n", 2, "keys = \"all\"");
        check("[input]\nclipboard = \"text\"\n", 2, "clipboard = \"text\"");
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
