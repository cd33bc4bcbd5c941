//! What does the RECORD extension tell? (X Record Extension Protocol, version 1.13.)

use std::io::IoSlice;

use capture::Point;
use x11rb::{
    connection::{Connection as _, ReplyOrError, RequestConnection as _},
    protocol::{
        record::{
            self, CS, ConnectionExt as _, Context, EnableContextReply, ExtRange, Range, Range8,
            Range16,
        },
        xkb,
        xproto::{
            BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, CHANGE_KEYBOARD_MAPPING_REQUEST,
            ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT,
            NO_OPERATION_REQUEST,
        },
    },
};

use super::{ObserverError, error::lost, line::Connection};

/// Something that happened on the display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A key went down or up.
    Key(KeyEvent),
    /// A button went down or up.
    Button {
        /// Its number: 1 is the left one.
        detail: u8,
        /// Down, or up.
        down: bool,
        /// Where the pointer was.
        at: Point,
    },
    /// The pointer moved.
    Motion {
        /// To here.
        at: Point,
    },
    /// A program is about to bind keys.
    Bound {
        /// The first of them.
        first: u8,
        /// What each will mean.
        bindings: Vec<Binding>,
    },
    /// A program is about to change the keyboard's layout.
    Relaid,
    /// We have sent a request that does nothing, to find it again here.
    Fence(u64),
}

/// What the core protocol lets a key mean: three groups, each without and with Shift. 0 is nothing.
pub(super) type Binding = [[u32; 2]; 3];

/// A key, and what the keyboard was like just before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyEvent {
    /// Which key.
    pub(super) code: u8,
    /// Down, or up.
    pub(super) down: bool,
    /// Modifiers in bits 0–7, the group in bits 13 and 14 (XKB protocol, section 2.2.2).
    pub(super) state: u16,
}

/// Where XKB's requests that change a layout are: `SetMap` and `GetKbdByName`.
const XKB_RELAYS: [u16; 2] = [9, 23];

/// Says what is to be told.
pub(super) fn prepare(control: &Connection) -> Result<Context, ObserverError> {
    let extension = control.extension_information(record::X11_EXTENSION_NAME)?;
    extension.ok_or(ObserverError::Extension("RECORD"))?;
    control.record_query_version(1, 13)?.reply()?;
    let xkb = control.extension_information(xkb::X11_EXTENSION_NAME)?;
    let xkb = xkb.ok_or(ObserverError::Extension("XKEYBOARD"))?;
    let input = Range {
        device_events: range(KEY_PRESS_EVENT, MOTION_NOTIFY_EVENT),
        core_requests: range(
            CHANGE_KEYBOARD_MAPPING_REQUEST,
            CHANGE_KEYBOARD_MAPPING_REQUEST,
        ),
        ..Range::default()
    };
    let relays = XKB_RELAYS.map(|minor| Range {
        ext_requests: ExtRange {
            major: range(xkb.major_opcode, xkb.major_opcode),
            minor: Range16 {
                first: minor,
                last: minor,
            },
        },
        ..Range::default()
    });
    let context = control.generate_id().map_err(lost)?;
    let fences = Range {
        core_requests: range(NO_OPERATION_REQUEST, NO_OPERATION_REQUEST),
        ..Range::default()
    };
    let [set_map, by_name] = relays;
    control
        .record_create_context(
            context,
            0,
            &[CS::ALL_CLIENTS.into()],
            &[input, set_map, by_name, fences],
        )?
        .check()?;
    Ok(context)
}

/// Has everything told on `data` from now on, as answers to the request that this names.
pub(super) fn enable(data: &Connection, context: Context) -> Result<u64, ObserverError> {
    let extension = data.extension_information(record::X11_EXTENSION_NAME)?;
    extension.ok_or(ObserverError::Extension("RECORD"))?;
    let cookie = data.record_enable_context(context)?;
    let told_for = cookie.sequence_number();
    std::mem::forget(cookie); // dropped, it would give the answers up
    let told_for = told_for.ok_or_else(|| lost("it tells nothing"))?;
    // The first answer says that it has begun: a fence raised before would never be told.
    match data.wait_for_reply_or_raw_error(told_for)? {
        ReplyOrError::Reply(_) => Ok(told_for),
        ReplyOrError::Error(_) => Err(ObserverError::Refused),
    }
}

/// Which client a connection is, as RECORD names it.
pub(super) fn client(connection: &Connection) -> u32 {
    connection.setup().resource_id_base
}

/// Sends a request that does nothing and carries `id`.
pub(super) fn raise_fence(control: &Connection, id: u64) -> Result<(), ObserverError> {
    let [a, b] = 3_u16.to_ne_bytes(); // the length, in units of four bytes
    let request = [
        [NO_OPERATION_REQUEST, 0, a, b].as_slice(),
        &id.to_ne_bytes(),
    ]
    .concat();
    let sent = control.send_request_without_reply(&[IoSlice::new(&request)], Vec::new());
    sent?.ignore_error();
    control.get_input_focus()?; // an answer, which nobody waits for, hands out what was recorded
    Ok(control.flush()?)
}

const fn range(first: u8, last: u8) -> Range8 {
    Range8 { first, last }
}

/// What one of the endless answers tells; we are client `own`.
pub(super) fn parse(told: &EnableContextReply, own: u32) -> Vec<Seen> {
    const FROM_SERVER: u8 = 0;
    const FROM_CLIENT: u8 = 1;
    match told.category {
        FROM_SERVER => told.data.chunks_exact(32).filter_map(event).collect(),
        FROM_CLIENT => request(told, own).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Reads a core event (X11 protocol, appendix B): all five have the same form.
fn event(bytes: &[u8]) -> Option<Seen> {
    let at = |offset: usize| bytes.get(offset).copied();
    let pair = |offset: usize| Some([at(offset)?, at(offset + 1)?]);
    let (detail, state) = (at(1)?, u16::from_ne_bytes(pair(28)?));
    // Outside the screen is where no pixel is.
    let place = |pair| i32::from(i16::from_ne_bytes(pair)).max(0);
    let point = Point {
        x: place(pair(20)?),
        y: place(pair(22)?),
    };
    let key = |down| {
        Seen::Key(KeyEvent {
            code: detail,
            down,
            state,
        })
    };
    let button = |down| Seen::Button {
        detail,
        down,
        at: point,
    };
    Some(match at(0)? & 0x7f {
        KEY_PRESS_EVENT => key(true),
        KEY_RELEASE_EVENT => key(false),
        BUTTON_PRESS_EVENT => button(true),
        BUTTON_RELEASE_EVENT => button(false),
        MOTION_NOTIFY_EVENT => Seen::Motion { at: point },
        _ => return None,
    })
}

/// Reads a program's request: `ChangeKeyboardMapping`, one of XKB's, or our own fence.
fn request(told: &EnableContextReply, own: u32) -> Option<Seen> {
    match *told.data.first()? {
        CHANGE_KEYBOARD_MAPPING_REQUEST => bound(&told.data, told.client_swapped),
        NO_OPERATION_REQUEST => {
            let id = told.data.last_chunk().filter(|_| told.xid_base == own)?;
            Some(Seen::Fence(u64::from_ne_bytes(*id)))
        }
        _ => Some(Seen::Relaid),
    }
}

/// Reads `ChangeKeyboardMapping`.
fn bound(bytes: &[u8], swapped: bool) -> Option<Seen> {
    let (&[_, keys, ..], rest) = bytes.split_first_chunk::<4>()?;
    // A length of zero says that the true one follows, in four bytes (BIG-REQUESTS).
    let big = bytes.get(2..4) == Some(&[0, 0]);
    let (&[first, width, _, _], keysyms) =
        rest.get(if big { 4.. } else { 0.. })?.split_first_chunk()?;
    let keysym = |bytes: &[u8]| {
        let keysym = bytes.try_into().map_or(0, u32::from_ne_bytes);
        if swapped { keysym.swap_bytes() } else { keysym }
    };
    let bindings = keysyms.chunks_exact(4 * usize::from(width.max(1)));
    let binding = |bytes: &[u8]| {
        let mut binding = Binding::default();
        for (to, from) in binding
            .as_flattened_mut()
            .iter_mut()
            .zip(bytes.chunks_exact(4))
        {
            *to = keysym(from);
        }
        binding
    };
    Some(Seen::Bound {
        first,
        bindings: bindings.take(keys.into()).map(binding).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDING: [u32; 6] = [0x61, 0x41, 0, 0, 0x0100_0436, 9];

    fn bytes(keysyms: &[u32], to_bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
        keysyms.iter().copied().flat_map(to_bytes).collect()
    }

    #[track_caller]
    fn check(request: &[u8], swapped: bool, expected: &[Binding]) {
        let bound = Seen::Bound {
            first: 8,
            bindings: expected.to_vec(),
        };
        assert_eq!(super::bound(request, swapped), Some(bound));
    }

    #[test]
    fn bindings_are_read_in_any_byte_order_and_length() {
        let (own, other) = (u32::to_ne_bytes, |keysym: u32| {
            keysym.swap_bytes().to_ne_bytes()
        });
        let expected = [[[0x61, 0x41], [0, 0], [0x0100_0436, 9]]];
        let (head, shape) = ([100, 1, 8, 0], [8, 6, 0, 0]);
        let plain = [&head, &shape, bytes(&BINDING, own).as_slice()].concat();
        check(&plain, false, &expected);
        let swapped = [&head, &shape, bytes(&BINDING, other).as_slice()].concat();
        check(&swapped, true, &expected);
        let big = [
            &[100, 1, 0, 0],
            &[9, 0, 0, 0],
            &shape,
            bytes(&BINDING, own).as_slice(),
        ]
        .concat();
        check(&big, false, &expected);
        let narrow = [
            &[100, 2, 4, 0],
            &[8, 1, 0, 0],
            bytes(&[5, 6], own).as_slice(),
        ]
        .concat();
        let one = |keysym| [[keysym, 0], [0, 0], [0, 0]];
        check(&narrow, false, &[one(5), one(6)]);
    }

    #[test]
    fn requests_that_end_early_bind_what_they_hold() {
        for len in 0..12 {
            let request = bound(&[100, 9, 3, 0, 8, 200, 0, 0, 1, 0, 0, 0][..len], false);
            let empty = request.is_none_or(|seen| match seen {
                Seen::Bound { bindings, .. } => bindings.is_empty(),
                _ => false,
            });
            assert!(empty, "{len} bytes");
        }
    }
}
