//! One message of a driver (RFC 6143 section 7.5, and rfbproto for what the community added).

use capture::{
    Point, Rect,
    input::{Buttons, Clipboard, Direction, Format, Input as Act, Key, Keysym, Pointer},
};

use super::DriverError;
use crate::{
    clipboard::{self, ClipboardError, Content, Extended, FLAGS_BYTES, HEAD_BYTES},
    input::Input,
    limits,
};

/// What a driver said.
pub(crate) enum Message {
    /// How pixels are to come, as it wrote it.
    SetPixelFormat([u8; 16]),
    /// The encodings it takes, the most wanted first.
    SetEncodings(Vec<i32>),
    /// The next picture of `rect` is wanted; only what changed if `incremental`.
    UpdateRequest { incremental: bool, rect: Rect },
    /// A key, the pointer, or a clipboard that is plain text.
    Input(Act),
    /// Part of the talk about an extended clipboard.
    Clipboard(Extended),
    /// It wants the screen to have another size.
    SetDesktopSize,
    /// Nothing that is recorded: flow control, power, sound.
    Other,
}

impl Message {
    /// What was done by it to the recorded machine. A note that there is new text moves none: what
    /// moves is seen when it is provided. Of other forms the note is all that is known to come.
    pub(crate) fn into_input(self) -> Option<Act> {
        let content = match self {
            Self::Input(act) => return Some(act),
            Self::Clipboard(Extended::Provide(content)) => content,
            Self::Clipboard(Extended::Notify(forms)) if !forms.has_text() => Content {
                forms,
                ..Content::default()
            },
            _ => return None,
        };
        Some(Act::Clipboard(content.clipboard(Direction::ToMachine)))
    }
}

/// A message and where it ends.
pub(crate) struct Parsed {
    pub(crate) message: Message,
    /// Bytes of it that were read, still unconsumed.
    pub(crate) len: usize,
    /// Bytes of it that follow and mean nothing more: of a clipboard too long to hold.
    pub(crate) rest: usize,
}

impl Parsed {
    const fn whole(len: usize, message: Message) -> Self {
        Self {
            message,
            len,
            rest: 0,
        }
    }
}

/// Looks at the next message without consuming it; `None` until it is there whole.
///
/// # Errors
/// When it is unknown, of a length that no such message has, or its clipboard is unreadable.
pub(crate) fn parse(input: &mut Input<'_>) -> Result<Option<Parsed>, DriverError> {
    let Some([kind]) = input.peek_array() else {
        return Ok(None);
    };
    match kind {
        0 => Ok(set_pixel_format(input)),
        2 => Ok(set_encodings(input)),
        3 => Ok(update_request(input)),
        4 => Ok(key(input)),
        5 => Ok(pointer(input)),
        clipboard::CLIENT_CUT_TEXT => cut_text(input),
        // `EnableContinuousUpdates`.
        150 => Ok(of(input, 10, Message::Other)),
        248 => fence(input),
        // `xvp`: power.
        250 => Ok(of(input, 4, Message::Other)),
        251 => Ok(set_desktop_size(input)),
        255 => qemu(input),
        kind => Err(DriverError::UnknownMessage { kind }),
    }
}

/// A message of which only the length is looked at.
fn of(input: &mut Input<'_>, len: usize, message: Message) -> Option<Parsed> {
    input.peek(len)?;
    Some(Parsed::whole(len, message))
}

fn set_pixel_format(input: &mut Input<'_>) -> Option<Parsed> {
    let [_, _, _, _, format @ ..] = input.peek_array::<20>()?;
    Some(Parsed::whole(20, Message::SetPixelFormat(format)))
}

fn set_encodings(input: &mut Input<'_>) -> Option<Parsed> {
    let [_, _, n0, n1] = input.peek_array()?;
    let count = usize::from(u16::from_be_bytes([n0, n1]));
    let len = count.saturating_mul(4).saturating_add(4);
    let (_, encodings) = input.peek(len)?.split_first_chunk::<4>()?;
    let (encodings, _) = encodings.as_chunks();
    let encodings = encodings.iter().map(|&bytes| i32::from_be_bytes(bytes));
    let message = Message::SetEncodings(encodings.collect());
    Some(Parsed::whole(len, message))
}

fn update_request(input: &mut Input<'_>) -> Option<Parsed> {
    let [_, incremental, x0, x1, y0, y1, w0, w1, h0, h1] = input.peek_array()?;
    let [x, y, w, h] =
        [[x0, x1], [y0, y1], [w0, w1], [h0, h1]].map(|side| u16::from_be_bytes(side).into());
    let message = Message::UpdateRequest {
        incremental: incremental != 0,
        rect: Rect { x, y, w, h },
    };
    Some(Parsed::whole(10, message))
}

fn key(input: &mut Input<'_>) -> Option<Parsed> {
    let [_, down, _, _, keysym @ ..] = input.peek_array::<8>()?;
    let key = Key {
        keysym: Keysym(u32::from_be_bytes(keysym)),
        down: down != 0,
        scan_code: None,
    };
    Some(Parsed::whole(8, Message::Input(Act::Key(key))))
}

fn pointer(input: &mut Input<'_>) -> Option<Parsed> {
    let [_, buttons, x0, x1, y0, y1] = input.peek_array()?;
    let pointer = Pointer {
        at: Point {
            x: u16::from_be_bytes([x0, x1]).into(),
            y: u16::from_be_bytes([y0, y1]).into(),
        },
        buttons: Buttons(buttons.into()),
    };
    Some(Parsed::whole(6, Message::Input(Act::Pointer(pointer))))
}

fn cut_text(input: &mut Input<'_>) -> Result<Option<Parsed>, DriverError> {
    let Some([_, _, _, _, length @ ..]) = input.peek_array::<HEAD_BYTES>() else {
        return Ok(None);
    };
    // A negative length marks an extended clipboard.
    let length = i32::from_be_bytes(length);
    let len_bytes = length.unsigned_abs();
    if len_bytes > limits::CLIPBOARD_SKIPPED_BYTES {
        return Err(ClipboardError::TooLong { len_bytes }.into());
    }
    if len_bytes > limits::DRIVER_CLIPBOARD_BYTES {
        return Ok(long_cut_text(length, input));
    }
    let len = HEAD_BYTES.saturating_add(len_bytes as usize);
    let Some(body) = input.peek(len).and_then(|bytes| bytes.get(HEAD_BYTES..)) else {
        return Ok(None);
    };
    let message = if length < 0 {
        Message::Clipboard(clipboard::parse(body, limits::DRIVER_CLIPBOARD_BYTES)?)
    } else {
        // Latin-1, whose code points are Unicode's first.
        let text: String = body.iter().map(|&byte| char::from(byte)).collect();
        let formats = (!text.is_empty()).then_some(Format::Text);
        Message::Input(Act::Clipboard(Clipboard {
            direction: Direction::ToMachine,
            formats: formats.into_iter().collect(),
            len_bytes: text.len() as u64,
            text: Some(text),
        }))
    };
    Ok(Some(Parsed::whole(len, message)))
}

/// A clipboard too long to hold: what it is, and how much of it then passes by.
fn long_cut_text(length: i32, input: &mut Input<'_>) -> Option<Parsed> {
    let extended = length < 0;
    let read_bytes = if extended { FLAGS_BYTES } else { 0 };
    let len = HEAD_BYTES.saturating_add(read_bytes);
    let read = input.peek(len)?;
    let formats = match read.last_chunk() {
        Some(&flags) if extended => clipboard::forms(flags).formats(),
        _ => vec![Format::Text],
    };
    let len_bytes = length.unsigned_abs();
    let message = Message::Input(Act::Clipboard(Clipboard {
        direction: Direction::ToMachine,
        formats,
        text: None,
        len_bytes: len_bytes.into(),
    }));
    Some(Parsed {
        message,
        len,
        rest: (len_bytes as usize).saturating_sub(read_bytes),
    })
}

fn fence(input: &mut Input<'_>) -> Result<Option<Parsed>, DriverError> {
    let Some([.., len_bytes]) = input.peek_array::<9>() else {
        return Ok(None);
    };
    if len_bytes > limits::FENCE_BYTES {
        return Err(DriverError::FenceTooLong { len_bytes });
    }
    let len = usize::from(len_bytes).saturating_add(9);
    Ok(of(input, len, Message::Other))
}

fn set_desktop_size(input: &mut Input<'_>) -> Option<Parsed> {
    let [.., screens, _] = input.peek_array::<8>()?;
    let len = usize::from(screens).saturating_mul(16).saturating_add(8);
    of(input, len, Message::SetDesktopSize)
}

fn qemu(input: &mut Input<'_>) -> Result<Option<Parsed>, DriverError> {
    let Some([_, kind]) = input.peek_array() else {
        return Ok(None);
    };
    match kind {
        0 => Ok(qemu_key(input)),
        1 => audio(input),
        kind => Err(DriverError::UnknownQemuMessage { kind }),
    }
}

/// A key with its place on the keyboard.
fn qemu_key(input: &mut Input<'_>) -> Option<Parsed> {
    let [_, _, d0, d1, k0, k1, k2, k3, scan_code @ ..] = input.peek_array::<12>()?;
    let key = Key {
        keysym: Keysym(u32::from_be_bytes([k0, k1, k2, k3])),
        down: [d0, d1] != [0; 2],
        scan_code: Some(u32::from_be_bytes(scan_code)),
    };
    Some(Parsed::whole(12, Message::Input(Act::Key(key))))
}

/// Sound on, off, or in which form.
fn audio(input: &mut Input<'_>) -> Result<Option<Parsed>, DriverError> {
    let Some([_, _, o0, o1]) = input.peek_array() else {
        return Ok(None);
    };
    match u16::from_be_bytes([o0, o1]) {
        0 | 1 => Ok(of(input, 4, Message::Other)),
        2 => Ok(of(input, 10, Message::Other)),
        operation => Err(DriverError::UnknownAudioOperation { operation }),
    }
}
