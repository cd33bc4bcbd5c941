//! Which version of the protocol is spoken (RFC 6143 section 7.1.1).

use crate::{error::Error, input::Input};

/// The versions spoken here. Later ones in the same line are compatible, so they are answered
/// with the latest known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    V3_3,
    V3_7,
    V3_8,
    /// Apple's own name for 3.8.
    Apple,
}

impl Version {
    /// Takes what a peer announces, and gives back which version to speak with it.
    ///
    /// # Errors
    /// When it speaks something else, or a version before those published.
    pub(crate) fn take(input: &mut Input<'_>) -> Result<Option<Self>, Error> {
        let Some(announced) = input.take_array() else {
            // Something else may say less than 12 bytes and wait: its first ones tell.
            let rfb = b"RFB ".starts_with(input.available(4));
            return if rfb { Ok(None) } else { Err(Error::NotRfb) };
        };
        Self::parse(announced).map(Some)
    }

    /// Which version to speak with a peer that announces `announced`.
    ///
    /// 3.4 to 3.6 were never published; what announces them speaks 3.3. Apple's is 3.889, and
    /// what others number above 3.8 or 4.0 speaks 3.8 when told so.
    fn parse(announced: [u8; 12]) -> Result<Self, Error> {
        let Some((major, minor)) = parse_version(announced) else {
            return Err(Error::NotRfb);
        };
        match (major, minor) {
            (3, 3..=6) => Ok(Self::V3_3),
            (3, 7) => Ok(Self::V3_7),
            (3, 889) => Ok(Self::Apple),
            (3, 8..) | (4.., _) => Ok(Self::V3_8),
            _ => Err(Error::VersionUnsupported { major, minor }),
        }
    }

    pub(crate) const fn announcement(self) -> [u8; 12] {
        match self {
            Self::V3_3 => *b"RFB 003.003\n",
            Self::V3_7 => *b"RFB 003.007\n",
            Self::V3_8 => *b"RFB 003.008\n",
            Self::Apple => *b"RFB 003.889\n",
        }
    }
}

fn parse_version(announced: [u8; 12]) -> Option<(u16, u16)> {
    let number = |digits: [u8; 3]| -> Option<u16> {
        digits.iter().try_fold(0_u16, |number, digit| {
            let digit = char::from(*digit).to_digit(10)?;
            number
                .checked_mul(10)?
                .checked_add(u16::try_from(digit).ok()?)
        })
    };
    let [b'R', b'F', b'B', b' ', a, b, c, b'.', d, e, f, b'\n'] = announced else {
        return None;
    };
    Some((number([a, b, c])?, number([d, e, f])?))
}
