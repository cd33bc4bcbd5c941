//! Does a message say why the server ends the session (MS-RDPBCGR section 2.2.5.1.1)?
//!
//! Looked at before IronRDP does, which keeps a sentence of it and drops the code.

use ironrdp_pdu::{
    mcs,
    rdp::{
        headers::{self, ShareDataPdu},
        server_error_info::{ErrorInfo, ProtocolIndependentCode as Code, ServerSetErrorInfoPdu},
    },
};

use crate::error::{End, Error};

/// Returns why the server ends the session, as an error, if `message` says so.
pub(crate) fn check(message: &[u8]) -> Result<(), Error> {
    /// A message that says so has only its heads and the code. Others are not decoded twice.
    const LONGEST_BYTES: usize = 64;
    if message.len() > LONGEST_BYTES {
        return Ok(());
    }
    let Ok(indication) = mcs::decode_send_data_indication(message) else {
        return Ok(());
    };
    match headers::decode_share_data(indication).map(|context| context.pdu) {
        Ok(ShareDataPdu::ServerSetErrorInfo(ServerSetErrorInfoPdu(info))) => {
            end_of(info).map_or(Ok(()), |end| Err(Error::Ended(end)))
        }
        _ => Ok(()),
    }
}

/// What `info` says; nothing when it says that nothing is wrong.
pub(crate) const fn end_of(info: ErrorInfo) -> Option<End> {
    Some(match info {
        ErrorInfo::ProtocolIndependentCode(code) => match code {
            Code::None => return None,
            Code::DisconnectedByOtherconnection => End::TakenOver,
            Code::RpcInitiatedLogoff | Code::LogoffByUser => End::LoggedOff,
            Code::IdleTimeout => End::Idle,
            Code::LogonTimeout => End::TimeLimit,
            Code::RpcInitiatedDisconnect | Code::RpcInitiatedDisconnectByuser => End::Administrator,
            Code::ServerDeniedConnection
            | Code::ServerInsufficientPrivileges
            | Code::ServerFreshCredentialsRequired => End::Denied,
            Code::ServerShutdown | Code::ServerReboot => End::Shutdown,
            other => End::Other(other as u32),
        },
        ErrorInfo::ProtocolIndependentLicensingCode(_) => End::Licence,
        ErrorInfo::ProtocolIndependentConnectionBrokerCode(code) => End::Other(code as u32),
        ErrorInfo::RdpSpecificCode(code) => End::Other(code as u32),
    })
}
