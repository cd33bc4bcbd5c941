//! What a driver says of itself (MS-RDPBCGR section 2.2.1.11): with the machine's credentials in
//! place of its own, which are for the relay.

use ironrdp_core::{decode, encode_vec};
use ironrdp_pdu::rdp::{
    ClientInfoPdu,
    client_info::{ClientInfoFlags, Credentials},
};

use crate::{auth, config::Config};

/// What the machine is told in place of `said`, and whether it may compress; nothing when it cannot
/// be read.
pub(super) fn replaced(said: &[u8], config: &Config) -> Option<(Vec<u8>, bool)> {
    let mut told: ClientInfoPdu = decode(said).ok()?;
    let info = &mut told.client_info;
    let (domain, name) = auth::account(config.user.as_deref().unwrap_or_default());
    let password = config.password.as_ref();
    info.credentials = Credentials {
        username: name.to_owned(),
        password: password.map_or_else(String::new, |password| password.as_str().to_owned()),
        domain: domain.map(str::to_owned),
    };
    info.password_cookie = None;
    // Single windows would come as orders, which are not drawn here.
    info.flags -= ClientInfoFlags::PASSWORD_IS_SC_PIN
        | ClientInfoFlags::RAIL
        | ClientInfoFlags::HIDEF_RAIL_SUPPORTED;
    info.flags
        .set(ClientInfoFlags::AUTOLOGON, password.is_some());
    let compressed = info.flags.contains(ClientInfoFlags::COMPRESSION);
    Some((encode_vec(&told).ok()?, compressed))
}
