//! The heads of what is said about a desktop (MS-RDPBCGR section 2.2.8.1.1.1), read by hand: what
//! is behind them goes on as it came, understood here or not.

use std::borrow::Cow;

use ironrdp_core::encode_vec;
use ironrdp_pdu::{
    mcs::{SendDataIndication, SendDataRequest},
    x224::X224,
};

use super::End;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share<'a> {
    /// The server tells of its desktop and what it can do.
    DemandActive(&'a [u8]),
    /// The client agrees.
    ConfirmActive(&'a [u8]),
    /// The desktop is no more.
    DeactivateAll,
    /// The client is sent elsewhere.
    Redirect,
    /// Anything else.
    Data(Data<'a>),
}

/// What is said of a desktop that is agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data<'a> {
    pub(super) kind: u8,
    pub(super) compressed: bool,
    pub(super) body: &'a [u8],
}

const DEMAND_ACTIVE: u16 = 0x11;
const CONFIRM_ACTIVE: u16 = 0x13;
const DEACTIVATE_ALL: u16 = 0x16;
const DATA: u16 = 0x17;
/// The one kind without a version.
const REDIRECT: u16 = 0x0a;

/// Kinds of [`Data`].
pub(super) mod kind {
    pub(in crate::proxy) const CONTROL: u8 = 20;
    pub(in crate::proxy) const INPUT: u8 = 28;
    pub(in crate::proxy) const SYNCHRONIZE: u8 = 31;
    pub(in crate::proxy) const REFRESH_RECT: u8 = 33;
    pub(in crate::proxy) const SUPPRESS_OUTPUT: u8 = 35;
    pub(in crate::proxy) const SHUTDOWN_REQUEST: u8 = 36;
    pub(in crate::proxy) const FONT_LIST: u8 = 39;
    pub(in crate::proxy) const FONT_MAP: u8 = 40;
    pub(in crate::proxy) const KEPT_BITMAPS: u8 = 43;
    pub(in crate::proxy) const FRAME_ACKNOWLEDGE: u8 = 56;
}

/// The message that `said` begins with, by the length in its head, and what is behind it; nothing
/// when there is less.
pub(super) fn split(said: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = u16::from_le_bytes(*said.first_chunk()?);
    (usize::from(len) >= HEAD_BYTES).then(|| said.split_at_checked(len.into()))?
}

/// What there is at least of a message. Less, behind one, is padding.
pub(super) const HEAD_BYTES: usize = 6;

/// What `message` is about; nothing when it cannot be read.
pub(super) fn parse(message: &[u8]) -> Option<Share<'_>> {
    let (head, body) = message.split_first_chunk::<6>()?;
    let [_, _, kind_low, kind_high, ..] = *head;
    match u16::from_le_bytes([kind_low, kind_high]) {
        DEMAND_ACTIVE => Some(Share::DemandActive(body)),
        CONFIRM_ACTIVE => Some(Share::ConfirmActive(body)),
        DEACTIVATE_ALL => Some(Share::DeactivateAll),
        REDIRECT => Some(Share::Redirect),
        DATA => {
            let (head, body) = body.split_first_chunk::<12>()?;
            // Share, padding, stream, length, kind, compression and the length compressed.
            let [_, _, _, _, _, _, _, _, kind, compression, ..] = *head;
            Some(Share::Data(Data {
                kind,
                compressed: compression & COMPRESSED != 0,
                body,
            }))
        }
        _ => None,
    }
}

const COMPRESSED: u8 = 0x20;

/// Where a message of ours goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) to: End,
    pub(super) channel: u16,
    /// The number of who said it.
    pub(super) initiator: u16,
}

/// The whole message that holds `user_data`.
pub(super) fn sent(address: Address, user_data: &[u8]) -> Option<Vec<u8>> {
    let (initiator_id, channel_id) = (address.initiator, address.channel);
    let user_data = Cow::Borrowed(user_data);
    let written = match address.to {
        End::Server => encode_vec(&X224(SendDataRequest {
            initiator_id,
            channel_id,
            user_data,
        })),
        End::Driver => encode_vec(&X224(SendDataIndication {
            initiator_id,
            channel_id,
            user_data,
        })),
    };
    written.ok()
}

/// What tells of a desktop or agrees on one, with a new `body`.
pub(super) fn about_desktop(whose: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let (head, _) = whose.split_first_chunk::<6>()?;
    let [_, _, rest @ ..] = *head;
    let len = u16::try_from(head.len().checked_add(body.len())?).ok()?;
    Some([&len.to_le_bytes()[..], &rest, body].concat())
}

/// What the client with the number `source` says of the desktop `share`.
pub(super) fn data(source: u16, share: u32, kind: u8, body: &[u8]) -> Option<Vec<u8>> {
    const HEADS: usize = 18;
    /// Uncompressed length, which counts from the kind on.
    const COUNTED: usize = 4;
    const LOW_PRIORITY: u8 = 1;
    let len = |from: usize| u16::try_from(body.len().checked_add(from)?).ok();
    let mut message = Vec::with_capacity(HEADS + body.len());
    message.extend(len(HEADS)?.to_le_bytes());
    message.extend(DATA.to_le_bytes());
    message.extend(source.to_le_bytes());
    message.extend(share.to_le_bytes());
    message.extend([0, LOW_PRIORITY]);
    message.extend(len(COUNTED)?.to_le_bytes());
    message.extend([kind, 0, 0, 0]);
    message.extend(body);
    Some(message)
}

#[cfg(test)]
mod tests {
    use ironrdp_core::decode;
    use ironrdp_pdu::rdp::headers::{ShareControlHeader, ShareControlPdu, ShareDataPdu};

    use super::*;

    #[test]
    fn what_is_said_can_be_read() {
        let area = [1, 0, 0, 0, 1, 0, 2, 0, 30, 0, 40, 0];
        let message = data(1007, 0x1_03ea, kind::REFRESH_RECT, &area).unwrap();
        assert_eq!(
            parse(&message),
            Some(Share::Data(Data {
                kind: kind::REFRESH_RECT,
                compressed: false,
                body: &area,
            }))
        );
        let read: ShareControlHeader = decode(&message).unwrap();
        assert_eq!((read.pdu_source, read.share_id), (1007, 0x1_03ea));
        let ShareControlPdu::Data(read) = read.share_control_pdu else {
            panic!("{read:?}")
        };
        let ShareDataPdu::RefreshRectangle(read) = read.share_data_pdu else {
            panic!("{read:?}")
        };
        let area = &read.areas_to_refresh[0];
        assert_eq!((area.left, area.bottom), (1, 40));
    }
}
