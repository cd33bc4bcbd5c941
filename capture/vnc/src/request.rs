//! What the client says: RFC 6143 section 7.5, and the encodings it offers.

use capture::{Rect, pixels::PixelFormat};

/// `ClientInit` with the shared flag set: others keep their connections.
pub(crate) const CLIENT_INIT: [u8; 1] = [1];

/// Encoding numbers, RFC 6143 section 7.6 and the community's registry (rfbproto).
pub(crate) mod encoding {
    pub(crate) const RAW: i32 = 0;
    pub(crate) const ZRLE: i32 = 16;
    pub(crate) const DESKTOP_SIZE: i32 = -223;
    pub(crate) const LAST_RECT: i32 = -224;
    pub(crate) const CURSOR: i32 = -239;
    pub(crate) const EXTENDED_DESKTOP_SIZE: i32 = -308;

    /// Offered always, the most wanted first. `CopyRect` is not: a widespread server drifts with it.
    pub(super) const OFFERED: [i32; 5] =
        [ZRLE, RAW, LAST_RECT, EXTENDED_DESKTOP_SIZE, DESKTOP_SIZE];
}

/// `SetPixelFormat`.
pub(crate) fn set_pixel_format(format: PixelFormat) -> Vec<u8> {
    let mut message = vec![0, 0, 0, 0];
    message.extend(format.to_bytes());
    message
}

/// `SetEncodings`, with the cursor pseudo-encoding if wanted.
pub(crate) fn set_encodings(cursor: bool) -> Vec<u8> {
    let cursor = cursor.then_some(encoding::CURSOR);
    let encodings: Vec<i32> = encoding::OFFERED.into_iter().chain(cursor).collect();
    let count = u16::try_from(encodings.len()).unwrap_or(u16::MAX);
    let mut message = vec![2, 0];
    message.extend(count.to_be_bytes());
    message.extend(encodings.into_iter().flat_map(i32::to_be_bytes));
    message
}

/// `FramebufferUpdateRequest`.
pub(crate) fn update(incremental: bool, rect: Rect) -> Vec<u8> {
    let mut message = vec![3, u8::from(incremental)];
    for field in [rect.x, rect.y, rect.w, rect.h] {
        // A screen's sides are bounded far below this.
        message.extend(u16::try_from(field).unwrap_or(u16::MAX).to_be_bytes());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_offered_only_when_wanted() {
        assert_eq!(set_encodings(false).len(), 4 + 4 * 5);
        assert!(set_encodings(true).ends_with(&(-239_i32).to_be_bytes()));
    }

    #[test]
    fn an_update_request_names_its_rectangle() {
        let message = update(true, Rect::new(1, 2, 1280, 800));
        assert_eq!(message, [3, 1, 0, 1, 0, 2, 5, 0, 3, 32]);
    }

    #[test]
    fn pixels_are_asked_for_as_bgrx() {
        let message = set_pixel_format(PixelFormat::BGRX);
        assert_eq!(message.len(), 20);
        assert!(message.starts_with(&[0, 0, 0, 0, 32, 24, 0, 1, 0, 255]));
    }
}
