//! What is each end told of the other?

use capture_rdp::proxy::End;
use ironrdp_core::{decode, encode_vec};
use ironrdp_pdu::{
    find_size,
    gcc::{ClientEarlyCapabilityFlags as Early, ClientGccBlocks, ServerGccBlocks},
    mcs::{ConnectInitial, ConnectResponse, McsMessage},
    nego::{ConnectionConfirm, ConnectionRequest, NegoRequestData, SecurityProtocol},
    rdp::{
        ClientInfoPdu,
        capability_sets::{CapabilitySet, VirtualChannelFlags},
        client_info::ClientInfoFlags,
        headers::{ShareControlHeader, ShareControlPdu},
    },
    x224::{X224, X224Data},
};

use crate::played::{PASSWORD, Played, USER, dialogue};

/// The messages in `bytes`.
fn messages(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while let Some(found) = find_size(bytes).unwrap() {
        let (message, rest) = bytes.split_at(found.length);
        messages.push(message);
        bytes = rest;
    }
    assert!(bytes.is_empty());
    messages
}

/// What each end said, and what each was told.
struct Told {
    driver_said: Vec<u8>,
    server_said: Vec<u8>,
    driver: Vec<u8>,
    server: Vec<u8>,
}

fn told() -> Told {
    let mut played = Played::open();
    played.play(|_, _, _| false);
    let said = |wanted| {
        let said = dialogue()
            .into_iter()
            .filter(move |(end, _)| *end == wanted);
        said.flat_map(|(_, bytes)| bytes.to_vec()).collect()
    };
    Told {
        driver_said: said(End::Driver),
        server_said: said(End::Server),
        driver: played.to_driver,
        server: played.to_server,
    }
}

fn settings<T>(bytes: &[u8], of: impl Fn(&[u8]) -> Option<T>) -> T {
    let found = messages(bytes).into_iter().find_map(|message| {
        let X224(data) = decode::<X224<X224Data<'_>>>(message).ok()?;
        of(&data.data)
    });
    found.unwrap()
}

fn client_settings(bytes: &[u8]) -> ClientGccBlocks {
    let initial: ConnectInitial = settings(bytes, |data| decode(data).ok());
    initial.conference_create_request.into_gcc_blocks()
}

fn server_settings(bytes: &[u8]) -> ServerGccBlocks {
    let response: ConnectResponse = settings(bytes, |data| decode(data).ok());
    response.conference_create_response.into_gcc_blocks()
}

/// What goes over channels in `bytes`.
fn sent(bytes: &[u8]) -> Vec<Vec<u8>> {
    let sent = |message: &&[u8]| match decode::<X224<McsMessage<'_>>>(message) {
        Ok(X224(McsMessage::SendDataRequest(sent))) => Some(sent.user_data.to_vec()),
        Ok(X224(McsMessage::SendDataIndication(sent))) => Some(sent.user_data.to_vec()),
        _ => None,
    };
    messages(bytes).iter().filter_map(sent).collect()
}

fn info(bytes: &[u8]) -> ClientInfoPdu {
    let sent = sent(bytes);
    sent.iter().find_map(|said| decode(said).ok()).unwrap()
}

/// The sets in each message that tells of a desktop or agrees on one.
fn sets(bytes: &[u8]) -> Vec<Vec<CapabilitySet>> {
    let sets = |said: &Vec<u8>| match decode::<ShareControlHeader>(said).ok()?.share_control_pdu {
        ShareControlPdu::ServerDemandActive(told) => Some(told.pdu.capability_sets),
        ShareControlPdu::ClientConfirmActive(told) => Some(told.pdu.capability_sets),
        _ => None,
    };
    sent(bytes).iter().filter_map(sets).collect()
}

#[test]
fn the_machine_is_asked_for_what_the_relay_speaks() {
    let told = told();
    let X224(request) = decode::<X224<ConnectionRequest>>(messages(&told.server)[0]).unwrap();
    assert_eq!(request.protocol, SecurityProtocol::SSL);
    assert_eq!(
        request.nego_data,
        Some(NegoRequestData::cookie("ada".into()))
    );
    let X224(confirm) = decode::<X224<ConnectionConfirm>>(messages(&told.driver)[0]).unwrap();
    let ConnectionConfirm::Response { protocol, .. } = confirm else {
        panic!("{confirm:?}")
    };
    assert_eq!(protocol, SecurityProtocol::SSL);
}

#[test]
fn the_machine_is_told_the_drivers_settings_but_for_what_is_not_read() {
    let told = told();
    let (mut said, server) = (
        client_settings(&told.driver_said),
        client_settings(&told.server),
    );
    let early = said
        .core
        .optional_data
        .early_capability_flags
        .as_mut()
        .unwrap();
    assert!(early.contains(Early::SUPPORT_HEART_BEAT_PDU), "{early:?}");
    let read = server.core.optional_data.early_capability_flags.unwrap();
    let unread = Early::SUPPORT_DYN_VC_GFX_PROTOCOL
        | Early::SUPPORT_NET_CHAR_AUTODETECT
        | Early::SUPPORT_HEART_BEAT_PDU
        | Early::SUPPORT_SKIP_CHANNELJOIN
        | Early::RELATIVE_MOUSE_INPUT;
    assert!(!read.intersects(unread), "{read:?}");
    assert!(early.contains(read));
    *early = read;
    said.message_channel = None;
    said.multi_transport_channel = None;
    assert_eq!(said, server);
}

#[test]
fn the_driver_is_told_the_machines_settings_and_what_it_asked_for_itself() {
    let told = told();
    let X224(asked) = decode::<X224<ConnectionRequest>>(messages(&told.driver_said)[0]).unwrap();
    assert!(
        asked.protocol.contains(SecurityProtocol::HYBRID),
        "{asked:?}"
    );
    let (mut said, driver) = (
        server_settings(&told.server_said),
        server_settings(&told.driver),
    );
    said.core.optional_data.client_requested_protocols = Some(asked.protocol);
    said.message_channel = None;
    said.multi_transport_channel = None;
    assert_eq!(said, driver);
}

#[test]
fn the_machine_is_told_its_own_credentials_and_never_the_drivers() {
    let told = told();
    let (said, server) = (info(&told.driver_said), info(&told.server));
    let of_driver = &said.client_info.credentials;
    let of_server = &server.client_info.credentials;
    assert_eq!(of_driver.username, "operator");
    let domain = of_server.domain.as_deref().unwrap();
    assert_eq!(format!("{domain}\\{}", of_server.username), USER);
    assert_eq!(of_server.password, PASSWORD);
    assert!(
        server
            .client_info
            .flags
            .contains(ClientInfoFlags::AUTOLOGON)
    );
    let unicode =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let secret = unicode(&of_driver.password);
    assert!(!secret.is_empty());
    let tells = |part: &[u8]| part == secret;
    assert!(told.driver_said.windows(secret.len()).any(tells));
    assert!(!told.server.windows(secret.len()).any(tells));
}

#[test]
fn both_agree_on_bitmaps_alone_each_time() {
    let told = told();
    let (said, server) = (sets(&told.driver_said), sets(&told.server));
    assert_eq!((said.len(), server.len()), (2, 2));
    for sets in said {
        assert!(
            sets.iter()
                .any(|set| matches!(set, CapabilitySet::BitmapCacheRev2(_)))
        );
    }
    for sets in server {
        let mut bitmaps = 0;
        for set in &sets {
            match set {
                CapabilitySet::Order(orders) => {
                    let written = encode_vec(orders).unwrap();
                    assert!(
                        written[32..64].iter().all(|order| *order == 0),
                        "{orders:?}"
                    );
                }
                CapabilitySet::Bitmap(_) => bitmaps += 1,
                CapabilitySet::BitmapCache(kept) => {
                    assert!(kept.caches.iter().all(|cache| cache.entries == 0));
                }
                CapabilitySet::OffscreenBitmapCache(kept) => assert!(!kept.is_supported),
                CapabilitySet::VirtualChannel(channel) => {
                    assert_eq!(channel.flags, VirtualChannelFlags::NO_COMPRESSION);
                }
                CapabilitySet::BitmapCacheRev2(_)
                | CapabilitySet::SurfaceCommands(_)
                | CapabilitySet::BitmapCodecs(_)
                | CapabilitySet::FrameAcknowledge(_)
                | CapabilitySet::DrawNineGridCache(_)
                | CapabilitySet::DrawGdiPlus(_)
                | CapabilitySet::Rail(_)
                | CapabilitySet::WindowList(_) => panic!("{set:?}"),
                _ => {}
            }
        }
        assert_eq!(bitmaps, 1);
    }
    for sets in sets(&told.driver) {
        let packs = sets.iter().any(|set| match set {
            CapabilitySet::VirtualChannel(channel) => {
                channel.flags != VirtualChannelFlags::NO_COMPRESSION
            }
            CapabilitySet::BitmapCodecs(_) | CapabilitySet::SurfaceCommands(_) => true,
            _ => false,
        });
        assert!(!packs, "{sets:?}");
    }
}
