//! What a machine says: forwarded, and shown once there is a desktop.

use capture::input::{Direction, Input as Act};
use ironrdp_core::decode;
use ironrdp_pdu::{Action, mcs::McsMessage, x224::X224};

use super::{Out, Stage, Talk, action, is_licensing, is_packed};
use crate::{
    ended,
    error::{End as Reason, Error, Phase},
    proxy::{
        End, RelayError, abilities,
        channels::Way,
        settings,
        share::{self, Address, Share, kind},
        watched::Desktop,
    },
};

impl Talk {
    /// Takes a whole message.
    pub(super) fn server_said(
        &mut self,
        message: &[u8],
        out: &mut Out<'_>,
    ) -> Result<(), RelayError> {
        self.owes = End::Driver;
        if self.stage == Stage::Answer {
            let broken = Error::Handshake(Phase::Settings);
            let answered = settings::answered(message, self.protocols.1).ok_or(broken.clone())?;
            self.io_channel = answered.io_channel;
            if !self
                .channels
                .numbered(&answered.channels, answered.io_channel)
            {
                return Err(broken.into());
            }
            out.to_driver.extend(answered.told);
            self.stage = Stage::Channels;
            return Ok(());
        }
        if action(message) == Some(Action::FastPath) {
            if !self.shows {
                return Err(Error::Handshake(Phase::Capabilities).into());
            }
            self.show(message, out);
            out.to_driver.extend_from_slice(message);
            return Ok(());
        }
        let read = decode::<X224<McsMessage<'_>>>(message);
        let X224(read) = read.map_err(|_| Error::Message)?;
        match (read, self.stage) {
            (McsMessage::AttachUserConfirm(confirm), Stage::Channels) => {
                self.user_channel = confirm.initiator_id;
                out.to_driver.extend_from_slice(message);
            }
            (McsMessage::ChannelJoinConfirm(_), Stage::Channels | Stage::Licence) => {
                out.to_driver.extend_from_slice(message);
            }
            (McsMessage::SendDataIndication(sent), _) if sent.channel_id == self.io_channel => {
                self.server_said_of_desktop(message, &sent.user_data, sent.initiator_id, out)?;
            }
            (McsMessage::SendDataIndication(sent), _) => {
                let way = self.channels.way(sent.channel_id, End::Server);
                let way = way.ok_or(Error::Message)?;
                if way == Way::Drop {
                    return Ok(());
                }
                if is_packed(&sent.user_data).ok_or(Error::Message)? {
                    return Err(Error::Compression.into());
                }
                if way == Way::Clipboard {
                    let heard = self.clipboard.hear(Direction::FromMachine, &sent.user_data);
                    let heard = heard.map_err(Error::from)?;
                    out.acts.extend(heard.map(Act::Clipboard));
                }
                out.to_driver.extend_from_slice(message);
            }
            (McsMessage::DisconnectProviderUltimatum(_), _) => {
                out.to_driver.extend_from_slice(message);
                return Err(Error::Ended(Reason::Goodbye).into());
            }
            _ => return Err(Error::Message.into()),
        }
        Ok(())
    }

    fn server_said_of_desktop(
        &mut self,
        message: &[u8],
        said: &[u8],
        initiator: u16,
        out: &mut Out<'_>,
    ) -> Result<(), RelayError> {
        if self.stage == Stage::Licence && is_licensing(said) {
            out.to_driver.extend_from_slice(message);
            match licensed(said) {
                Some(true) => self.stage = Stage::Demand,
                Some(false) => {}
                None => return Err(Error::LicenceRefused.into()),
            }
            return Ok(());
        }
        let ended = ended::check(message);
        match share::parse(said).ok_or(Error::Message)? {
            Share::DemandActive(body) if self.stage != Stage::Licence => {
                let broken = Error::Handshake(Phase::Capabilities);
                let (demand, body) = abilities::demand(body).ok_or(broken.clone())?;
                let told = share::about_desktop(said, &body)
                    .and_then(|told| {
                        let address = Address {
                            to: End::Driver,
                            initiator,
                            channel: self.io_channel,
                        };
                        share::sent(address, &told)
                    })
                    .ok_or(broken)?;
                self.demand = Some(demand);
                self.stage = Stage::Confirm;
                self.show(message, out);
                out.to_driver.extend(told);
            }
            Share::DeactivateAll => {
                self.stage = Stage::Demand;
                self.show(message, out);
                out.to_driver.extend_from_slice(message);
            }
            Share::Data(data) => {
                self.show(message, out);
                out.to_driver.extend_from_slice(message);
                if data.kind == kind::FONT_MAP && self.stage == Stage::Ready {
                    self.ready(out);
                }
            }
            Share::Redirect => return Err(Error::Redirected.into()),
            Share::DemandActive(_) | Share::ConfirmActive(_) => return Err(Error::Message.into()),
        }
        Ok(ended?)
    }

    /// The desktop is agreed on.
    fn ready(&mut self, out: &mut Out<'_>) {
        self.stage = Stage::Desktop;
        let (Some(demand), false) = (self.demand, self.shows) else {
            return;
        };
        self.shows = true;
        *out.desktop = Some(Desktop {
            size: demand.size,
            user_channel: self.user_channel,
            io_channel: self.io_channel,
            share: demand.share,
            compressed: self.compressed,
            input: demand.input,
        });
    }

    fn show(&self, message: &[u8], out: &mut Out<'_>) {
        if self.shows {
            out.shown.extend_from_slice(message);
        }
    }
}

/// Whether the driver has its licence with what the machine says (section 2.2.1.12 and MS-RDPELE
/// section 2.2.2); nothing when it is refused one.
fn licensed(said: &[u8]) -> Option<bool> {
    const NEW: u8 = 0x03;
    const UPGRADED: u8 = 0x04;
    const ALERT: u8 = 0xff;
    const VALID: u32 = 7;
    match said.get(4..)? {
        [NEW | UPGRADED, ..] => Some(true),
        [ALERT, _, _, _, code @ ..] => {
            (u32::from_le_bytes(*code.first_chunk()?) == VALID).then_some(true)
        }
        _ => Some(false),
    }
}
