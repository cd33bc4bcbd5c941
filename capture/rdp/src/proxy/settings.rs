//! The exchange of settings (MS-RDPBCGR sections 2.2.1.3 and 2.2.1.4): what each end is told of the
//! other.

use capture::Framebuffer;
use ironrdp_core::{decode, encode_vec};
use ironrdp_pdu::{
    gcc::{
        ChannelDef, ClientEarlyCapabilityFlags as Early, ConferenceCreateRequest,
        ConferenceCreateResponse, EncryptionMethod, ServerEarlyCapabilityFlags,
    },
    mcs::{ConnectInitial, ConnectResponse},
    nego::SecurityProtocol,
    x224::{X224, X224Data},
};

/// What a driver asks for.
#[derive(Debug)]
pub(super) struct Asked {
    /// What the machine is told.
    pub(super) told: Vec<u8>,
    pub(super) channels: Vec<ChannelDef>,
    /// The Windows layout of its keyboard.
    pub(super) layout: u32,
}

/// What is true of the driver and read here. What is left out: graphics through a channel, motion
/// of the pointer, measuring and watching over the connection, a second one beside it.
const READ: Early = Early::SUPPORT_ERR_INFO_PDU
    .union(Early::WANT_32_BPP_SESSION)
    .union(Early::SUPPORT_STATUS_INFO_PDU)
    .union(Early::STRONG_ASYMMETRIC_KEYS)
    .union(Early::VALID_CONNECTION_TYPE)
    .union(Early::SUPPORT_MONITOR_LAYOUT_PDU)
    .union(Early::SUPPORT_DYNAMIC_TIME_ZONE);

/// Reads the driver's settings, for a machine that has chosen `protocol`; nothing when they cannot
/// be read.
pub(super) fn asked(message: &[u8], protocol: SecurityProtocol) -> Option<Asked> {
    let X224(data) = decode::<X224<X224Data<'_>>>(message).ok()?;
    let mut initial: ConnectInitial = decode(&data.data).ok()?;
    let mut blocks = initial.conference_create_request.into_gcc_blocks();
    let core = &mut blocks.core;
    // Without it, and what comes before it, no driver that encrypts is heard of.
    *core.optional_data.server_selected_protocol.as_mut()? = protocol;
    let early = core.optional_data.early_capability_flags.as_mut()?;
    *early &= READ;
    let max_px = u16::try_from(Framebuffer::MAX_SIDE_PX).unwrap_or(u16::MAX);
    let (w, h) = (core.desktop_width, core.desktop_height);
    core.desktop_width = w.min(max_px);
    let area_px = Framebuffer::MAX_AREA_PX.checked_div(core.desktop_width.into());
    let max_h_px = area_px.map_or(max_px, |h| u16::try_from(h).unwrap_or(max_px));
    core.desktop_height = h.min(max_px).min(max_h_px);
    if (w, h) != (core.desktop_width, core.desktop_height) {
        // They would not lie within it.
        blocks.monitor = None;
        blocks.monitor_extended = None;
    }
    let layout = core.keyboard_layout;
    blocks.message_channel = None;
    blocks.multi_transport_channel = None;
    let channels = blocks.channel_names().unwrap_or_default();
    initial.conference_create_request = ConferenceCreateRequest::new(blocks).ok()?;
    Some(Asked {
        told: written(&encode_vec(&initial).ok()?)?,
        channels,
        layout,
    })
}

/// What a machine answers.
#[derive(Debug)]
pub(super) struct Answered {
    /// What the driver is told.
    pub(super) told: Vec<u8>,
    pub(super) io_channel: u16,
    pub(super) channels: Vec<u16>,
}

/// Reads the machine's settings, for a driver that would have encrypted by `protocols`; nothing
/// when they cannot be read.
pub(super) fn answered(message: &[u8], protocols: SecurityProtocol) -> Option<Answered> {
    let X224(data) = decode::<X224<X224Data<'_>>>(message).ok()?;
    let mut response: ConnectResponse = decode(&data.data).ok()?;
    let io_channel = response.conference_create_response.gcc_blocks();
    let io_channel = io_channel.global_channel_id();
    let channels = response.channel_ids();
    let user_id = 0x79f3; // a node's number, which clients do not look at
    let mut blocks = response.conference_create_response.into_gcc_blocks();
    // The connection is encrypted as a whole.
    if blocks.security.encryption_method != EncryptionMethod::empty() {
        return None;
    }
    let told = &mut blocks.core.optional_data;
    told.client_requested_protocols = Some(protocols);
    if let Some(early) = &mut told.early_capability_flags {
        *early -= ServerEarlyCapabilityFlags::SKIP_CHANNELJOIN_SUPPORTED;
    }
    blocks.message_channel = None;
    blocks.multi_transport_channel = None;
    response.conference_create_response = ConferenceCreateResponse::new(user_id, blocks).ok()?;
    Some(Answered {
        told: written(&encode_vec(&response).ok()?)?,
        io_channel,
        channels,
    })
}

fn written(data: &[u8]) -> Option<Vec<u8>> {
    encode_vec(&X224(X224Data { data: data.into() })).ok()
}
