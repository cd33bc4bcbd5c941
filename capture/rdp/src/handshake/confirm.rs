//! What we say that we can do (MS-RDPBCGR section 2.2.1.13.2), put right.
//!
//! IronRDP's client does not say that it may ask for its picture. The words for that are the
//! server's, by the specification; but FreeRDP's server, and those made of it, answer only who has
//! used them, too.

use std::borrow::Cow;

use ironrdp_core::{decode, encode_vec};
use ironrdp_pdu::{
    mcs::{McsMessage, SendDataRequest},
    rdp::{
        capability_sets::CapabilitySet,
        headers::{ShareControlHeader, ShareControlPdu},
    },
    x224::X224,
};

/// A message of ours, which says that we may ask for the picture if it says what we can do.
pub(crate) fn put_right(message: &[u8]) -> Cow<'_, [u8]> {
    amended(message).map_or(Cow::Borrowed(message), Cow::Owned)
}

fn amended(message: &[u8]) -> Option<Vec<u8>> {
    let message = decode::<X224<McsMessage<'_>>>(message).ok()?;
    let X224(McsMessage::SendDataRequest(request)) = message else {
        return None;
    };
    let mut said = decode::<ShareControlHeader>(&request.user_data).ok()?;
    let ShareControlPdu::ClientConfirmActive(confirm) = &mut said.share_control_pdu else {
        return None;
    };
    for able in &mut confirm.pdu.capability_sets {
        if let CapabilitySet::General(general) = able {
            general.refresh_rect_support = true;
            general.suppress_output_support = true;
        }
    }
    let request = SendDataRequest {
        user_data: Cow::Owned(encode_vec(&said).ok()?),
        ..request
    };
    encode_vec(&X224(request)).ok()
}
