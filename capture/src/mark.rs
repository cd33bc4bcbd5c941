//! Marks: what the driver, or who hands out secrets, tells the recorder while it records.

use serde::{Deserialize, Serialize};

/// Something that was told to happen now.
///
/// Between [`SECRET_BEGIN`](Self::SECRET_BEGIN) and [`SECRET_END`](Self::SECRET_END) no input is
/// kept, whatever the policy says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Told")]
pub struct Mark {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Why something is not a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    /// The name is not one.
    #[error(
        "field \"mark\" must have 1 to {} letters, digits, dots, dashes or underscores",
        Mark::MAX_NAME_BYTES
    )]
    Name,
    /// The text is too long.
    #[error("field \"text\" must have at most {} bytes", Mark::MAX_TEXT_BYTES)]
    Text,
}

impl Mark {
    /// A secret is about to be entered.
    pub const SECRET_BEGIN: &'static str = "secret.begin";
    /// It has been entered.
    pub const SECRET_END: &'static str = "secret.end";
    /// The longest name.
    pub const MAX_NAME_BYTES: usize = 64;
    /// The longest text.
    pub const MAX_TEXT_BYTES: usize = 4096;

    /// A mark called `name`, with a text for people.
    ///
    /// # Errors
    /// When the name is not one, or the text is too long.
    pub fn new(name: String, text: Option<String>) -> Result<Self, MarkError> {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if name.is_empty() || name.len() > Self::MAX_NAME_BYTES || !name.chars().all(word) {
            return Err(MarkError::Name);
        }
        if text
            .as_ref()
            .is_some_and(|text| text.len() > Self::MAX_TEXT_BYTES)
        {
            return Err(MarkError::Text);
        }
        Ok(Self { name, text })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text for people.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

/// A mark as it is told.
#[derive(Deserialize)]
struct Told {
    name: String,
    text: Option<String>,
}

impl TryFrom<Told> for Mark {
    type Error = MarkError;

    fn try_from(told: Told) -> Result<Self, MarkError> {
        Self::new(told.name, told.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word() {
        assert_eq!(Mark::new("step.1".into(), None).unwrap().name(), "step.1");
        for name in ["", "a b", "a\n", "ü", &"x".repeat(65)] {
            assert_eq!(Mark::new(name.into(), None), Err(MarkError::Name));
        }
        assert!(serde_json::from_str::<Mark>(r#"{"name":"a b"}"#).is_err());
    }
}
