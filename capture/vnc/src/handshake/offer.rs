//! The ways to sign in that a server offers (RFC 6143 section 7.1.2).

use super::Version;
use crate::{error::Error, input::Input};

/// The security types that a server offers, none when it refuses, and how many bytes said so.
pub(crate) struct Offer {
    pub(crate) kinds: Vec<u8>,
    pub(crate) len: usize,
}

impl Offer {
    /// Looks at a server's offer without consuming it. With 3.3 it offers the one it has chosen.
    ///
    /// # Errors
    /// When what it has chosen is no security type.
    pub(crate) fn peek(version: Version, input: &mut Input<'_>) -> Result<Option<Self>, Error> {
        if version == Version::V3_3 {
            let Some(kind) = input.peek_array().map(u32::from_be_bytes) else {
                return Ok(None);
            };
            let chosen = u8::try_from(kind).map_err(|_| Error::SecurityChoice { kind })?;
            let kinds = (chosen != 0).then_some(chosen).into_iter().collect();
            return Ok(Some(Self { kinds, len: 4 }));
        }
        let Some([count]) = input.peek_array() else {
            return Ok(None);
        };
        let len = usize::from(count).saturating_add(1);
        let kinds = input.peek(len).and_then(|offer| offer.get(1..));
        Ok(kinds.map(|kinds| Self {
            kinds: kinds.to_vec(),
            len,
        }))
    }
}
