//! What the client says: RFC 6143 section 7.5.

use capture::{
    Rect,
    input::{Key, Pointer},
    pixels::PixelFormat,
};

/// `ClientInit` with the shared flag set: others keep their connections.
pub(crate) const CLIENT_INIT: [u8; 1] = [1];

/// `SetPixelFormat`.
pub(crate) fn set_pixel_format(format: PixelFormat) -> Vec<u8> {
    let mut message = vec![0, 0, 0, 0];
    message.extend(format.to_bytes());
    message
}

/// `SetEncodings`, the most wanted first.
pub(crate) fn set_encodings(encodings: &[i32]) -> Vec<u8> {
    let count = u16::try_from(encodings.len()).unwrap_or(u16::MAX);
    let encodings = encodings.iter().take(count.into());
    let mut message = vec![2, 0];
    message.extend(count.to_be_bytes());
    message.extend(encodings.flat_map(|encoding| encoding.to_be_bytes()));
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

/// `KeyEvent`.
pub(crate) fn key_event(key: Key) -> Vec<u8> {
    let mut message = vec![4, u8::from(key.down), 0, 0];
    message.extend(key.keysym.0.to_be_bytes());
    message
}

/// `PointerEvent`, which has room for eight buttons and for places on the screen.
pub(crate) fn pointer_event(pointer: Pointer) -> Vec<u8> {
    let [_, buttons] = pointer.buttons.0.to_be_bytes();
    let mut message = vec![5, buttons];
    for at in [pointer.at.x, pointer.at.y] {
        let at = u16::try_from(at.max(0)).unwrap_or(u16::MAX);
        message.extend(at.to_be_bytes());
    }
    message
}

#[cfg(test)]
mod tests {
    use capture::{
        Point,
        input::{Buttons, Keysym},
    };

    use super::*;

    #[test]
    fn input_is_said_as_it_is_read() {
        let key = Key {
            keysym: Keysym(0x0100_0436),
            down: true,
            scan_code: None,
        };
        assert_eq!(key_event(key), [4, 1, 0, 0, 1, 0, 4, 0x36]);
        let pointer = Pointer {
            at: Point { x: 300, y: -1 },
            buttons: Buttons(0b1_0000_0001),
        };
        assert_eq!(pointer_event(pointer), [5, 1, 1, 44, 0, 0]);
    }

    #[test]
    fn encodings_are_counted_and_signed() {
        let message = set_encodings(&[16, -239]);
        assert_eq!(message, [2, 0, 0, 2, 0, 0, 0, 16, 0xff, 0xff, 0xff, 17]);
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
