//! What is recorded of something put on a clipboard.

use capture::{
    MediaTime,
    event::{Event, Origin},
    input::{Clipboard, Format},
};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use crate::{Clipboard as Rule, hex};

/// A longer text is recorded by its size and hash alone.
const TEXT_BYTES: usize = 1 << 20;
/// A hashed text's size is rounded up to this: a password's exact length helps to guess it.
const SIZE_STEP_BYTES: u64 = 64;

/// The event for `offer`, of which `rule` says what is kept.
pub(super) fn event(
    t: MediaTime,
    origin: Origin,
    offer: &Clipboard,
    rule: Rule,
    session_key: &[u8; 32],
) -> Event {
    const FORMATS: [Format; 5] = [
        Format::Text,
        Format::Rtf,
        Format::Html,
        Format::Image,
        Format::Files,
    ];
    let offered = FORMATS.iter().filter(|it| offer.formats.contains(it));
    let types: Vec<&str> = offered.map(|format| format.as_str()).collect();
    let exact = rule == Rule::Text;
    let bytes = match offer.len_bytes.checked_next_multiple_of(SIZE_STEP_BYTES) {
        Some(rounded) if !exact => rounded,
        _ => offer.len_bytes,
    };
    let mut event = Event::new(
        t,
        "clipboard",
        origin,
        [
            ("direction", offer.direction.as_str().into()),
            ("types", types.into()),
            ("bytes", bytes.into()),
        ],
    );
    let mut say = |name: &str, value: &str| event.data.insert(name.to_owned(), value.into());
    if let Some(text) = &offer.text {
        if exact {
            say("sha256", &hex(&Sha256::digest(text.as_bytes())));
            if text.len() <= TEXT_BYTES {
                say("text", text);
            }
        } else if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(session_key) {
            mac.update(text.as_bytes());
            say("hmac", &hex(&mac.finalize().into_bytes()));
        }
    }
    event
}
