//! The encodings of pixels and the notices beside them: which are known, and which to ask for
//! (RFC 6143 section 7.7 and the community's registry, rfbproto).

use crate::config::Config;

pub(crate) const RAW: i32 = 0;
pub(crate) const COPY_RECT: i32 = 1;
pub(crate) const HEXTILE: i32 = 5;
pub(crate) const TIGHT: i32 = 7;
pub(crate) const ZRLE: i32 = 16;
/// JPEG quality 0; nine better ones follow.
const JPEG_QUALITY: i32 = -32;
pub(crate) const DESKTOP_SIZE: i32 = -223;
pub(crate) const LAST_RECT: i32 = -224;
pub(crate) const POINTER_POSITION: i32 = -232;
pub(crate) const CURSOR: i32 = -239;
pub(crate) const X_CURSOR: i32 = -240;
pub(crate) const POINTER_MOTION: i32 = -257;
pub(crate) const GENERAL_INPUT: i32 = -305;
pub(crate) const DESKTOP_NAME: i32 = -307;
pub(crate) const EXTENDED_DESKTOP_SIZE: i32 = -308;
pub(crate) const CURSOR_WITH_ALPHA: i32 = -314;
pub(crate) const EXTENDED_MOUSE_BUTTONS: i32 = -316;
pub(crate) const EXTENDED_CLIPBOARD: i32 = i32::from_be_bytes([0xc0, 0xa1, 0xe5, 0xce]);
/// As [`POINTER_POSITION`], by another number.
pub(crate) const VMWARE_CURSOR_POSITION: i32 = 0x574d_5666;

/// UltraVNC's state, keep-alive, files, sessions and idle time: the high half of each number.
pub(crate) const ULTRA_VNC: std::ops::RangeInclusive<i32> = -32768..=-32764;

/// Notices that are asked for always.
const NOTICES: [i32; 4] = [LAST_RECT, EXTENDED_DESKTOP_SIZE, DESKTOP_SIZE, DESKTOP_NAME];

/// Pointer shapes, the most faithful first, and where the pointer is.
const CURSORS: [i32; 5] = [
    CURSOR_WITH_ALPHA,
    CURSOR,
    X_CURSOR,
    POINTER_POSITION,
    VMWARE_CURSOR_POSITION,
];

/// A way to write the pixels of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Pixel by pixel. Every server may send it, asked or not.
    Raw,
    /// From elsewhere on the screen. A picture made by it can drift: a widespread server copies
    /// from what the client was never sent.
    CopyRect,
    /// Tiles of 16 by 16 in few colours.
    Hextile,
    /// Filters and four zlib streams.
    Tight,
    /// Tiles of 64 by 64 in one zlib stream.
    Zrle,
    /// No encoding by itself: lets Tight use JPEG of a quality from 0 to 9, and so lose detail.
    Jpeg(u8),
}

impl Encoding {
    /// What is asked for by default, the most wanted first; all of it exact.
    pub const EXACT: [Self; 4] = [Self::Zrle, Self::Tight, Self::Hextile, Self::Raw];

    const fn number(self) -> i32 {
        match self {
            Self::Raw => RAW,
            Self::CopyRect => COPY_RECT,
            Self::Hextile => HEXTILE,
            Self::Tight => TIGHT,
            Self::Zrle => ZRLE,
            Self::Jpeg(quality @ 0..=9) => JPEG_QUALITY + quality as i32,
            Self::Jpeg(_) => JPEG_QUALITY + 9,
        }
    }
}

/// The numbers to ask a server for.
pub(crate) fn offer(config: &Config) -> Vec<i32> {
    let pixels = config.encodings.iter().map(|encoding| encoding.number());
    let cursors = CURSORS.into_iter().filter(|_| config.cursor);
    let clipboard = config.extended_clipboard.then_some(EXTENDED_CLIPBOARD);
    pixels
        .chain(NOTICES)
        .chain(cursors)
        .chain(clipboard)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(change: impl FnOnce(&mut Config)) -> Vec<i32> {
        let mut config = Config::default();
        change(&mut config);
        offer(&config)
    }

    #[test]
    fn pixels_are_offered_in_the_order_wanted_then_notices() {
        let offered = offered(|_| {});
        assert_eq!(offered, [16, 7, 5, 0, -224, -308, -223, -307]);
    }

    #[test]
    fn cursors_and_the_extended_clipboard_are_offered_only_when_wanted() {
        let with_cursors = offered(|config| config.cursor = true);
        let cursors = [-314, -239, -240, -232, 0x574d_5666];
        assert!(with_cursors.ends_with(&cursors), "{with_cursors:?}");
        let with_clipboard = offered(|config| config.extended_clipboard = true);
        assert!(with_clipboard.ends_with(&[-307, -1_063_131_698]));
    }

    #[test]
    fn jpeg_is_offered_in_ten_qualities() {
        let qualities = [0, 9, 10].map(Encoding::Jpeg);
        let offered = offered(|config| config.encodings = qualities.into());
        assert!(offered.starts_with(&[-32, -23, -23]));
    }
}
