//! Size notices: `DesktopSize` and `ExtendedDesktopSize` (rfbproto), which may stand anywhere
//! in an update, also before pixels.

use capture::Size;

/// Who caused an extended notice (its `x`): this client's own wish, which it never voices.
const REASON_THIS_CLIENT: u32 = 1;
/// The result of a wish (its `y`): granted.
const RESULT_OK: u32 = 0;

/// Bytes of the screen list after an extended notice's head: its count and padding, then 16 for
/// each screen.
pub(crate) fn list_bytes(screens: u8) -> usize {
    LIST_HEAD_BYTES + usize::from(screens) * 16
}

/// Bytes of the screen list's own head.
pub(crate) const LIST_HEAD_BYTES: usize = 4;

/// The size an extended notice tells of; `None` when it only reports a refused wish.
pub(crate) fn announced(reason: u32, result: u32, size: Size) -> Option<Size> {
    (reason != REASON_THIS_CLIENT || result == RESULT_OK).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_wish_changes_no_size() {
        let size = Size::new(640, 480);
        assert_eq!(announced(1, 3, size), None);
        assert_eq!(announced(1, 0, size), Some(size));
        assert_eq!(announced(0, 0, size), Some(size));
        assert_eq!(announced(2, 7, size), Some(size));
    }

    #[test]
    fn each_screen_takes_sixteen_bytes() {
        assert_eq!(list_bytes(0), 4);
        assert_eq!(list_bytes(255), 4 + 255 * 16);
    }
}
