//! What a driver says: read, and forwarded where all of it is known.

use capture::input::{Direction, Input as Act};
use ironrdp_core::{Decode as _, ReadCursor, decode};
use ironrdp_pdu::{Action, input::InputEventPdu, mcs::McsMessage, x224::X224};

use super::{Out, Stage, Talk, action, is_licensing, is_packed};
use crate::{
    error::Phase,
    input::Ears,
    proxy::{
        End, RelayConfig, RelayError, abilities,
        channels::{Opened, Way},
        error::DriverError,
        info, settings,
        share::{self, Address, Data, Share, kind},
    },
};

impl Talk {
    /// Takes a whole message.
    pub(super) fn driver_said(
        &mut self,
        config: &RelayConfig,
        message: &[u8],
        out: &mut Out<'_>,
    ) -> Result<(), RelayError> {
        self.owes = End::Server;
        if self.stage == Stage::Settings {
            let broken = DriverError::Handshake(Phase::Settings);
            let asked = settings::asked(message, self.protocols.0).ok_or(broken)?;
            self.channels = Opened::asked(&asked.channels, &config.channels);
            self.ears = Ears::new((config.keymap)(asked.layout));
            out.to_server.extend(asked.told);
            self.stage = Stage::Answer;
            return Ok(());
        }
        if action(message) == Some(Action::FastPath) {
            if !self.shows {
                return Err(DriverError::Message.into());
            }
            let acts = self.ears.fast_path(message).map_err(DriverError::Input)?;
            out.acts.extend(acts);
            out.to_server.extend_from_slice(message);
            return Ok(());
        }
        let read = decode::<X224<McsMessage<'_>>>(message);
        let X224(read) = read.map_err(|_| DriverError::Message)?;
        match (read, self.stage) {
            (
                McsMessage::ErectDomainRequest(_)
                | McsMessage::AttachUserRequest(_)
                | McsMessage::ChannelJoinRequest(_),
                Stage::Channels,
            ) => out.to_server.extend_from_slice(message),
            (McsMessage::SendDataRequest(sent), _) if !is_whole(message, &sent.user_data) => {
                return Err(DriverError::Message.into());
            }
            (McsMessage::SendDataRequest(sent), stage) if sent.channel_id == self.io_channel => {
                match stage {
                    Stage::Channels => {
                        let broken = DriverError::Handshake(Phase::Settings);
                        let (told, compressed) =
                            info::replaced(&sent.user_data, &config.server).ok_or(broken)?;
                        self.compressed = compressed;
                        self.say_to_server(&told, out)?;
                        self.stage = Stage::Licence;
                    }
                    Stage::Licence => {
                        if !is_licensing(&sent.user_data) {
                            return Err(DriverError::Handshake(Phase::Licensing).into());
                        }
                        out.to_server.extend_from_slice(message);
                    }
                    _ => self.driver_said_of_desktops(message, &sent.user_data, out)?,
                }
            }
            (McsMessage::SendDataRequest(sent), _) => {
                let way = self.channels.way(sent.channel_id, End::Driver);
                let way = way.ok_or(DriverError::Message)?;
                if way == Way::Drop {
                    return Ok(());
                }
                if is_packed(&sent.user_data).ok_or(DriverError::Message)? {
                    return Err(DriverError::Compressed.into());
                }
                if way == Way::Clipboard {
                    let heard = self.clipboard.hear(Direction::ToMachine, &sent.user_data);
                    let heard = heard.map_err(DriverError::Clipboard)?;
                    out.acts.extend(heard.map(Act::Clipboard));
                }
                out.to_server.extend_from_slice(message);
            }
            // The machine is not told: it would show nothing more, and who watches may still have
            // to ask whether the last picture stands.
            (McsMessage::DisconnectProviderUltimatum(_), _) if self.shows => self.left = true,
            (McsMessage::DisconnectProviderUltimatum(_), _) => {
                return Err(DriverError::Left.into());
            }
            _ => return Err(DriverError::Message.into()),
        }
        Ok(())
    }

    /// Takes what may be several messages in one, each by itself: as a server would, that reads on
    /// behind the first.
    fn driver_said_of_desktops(
        &mut self,
        message: &[u8],
        said: &[u8],
        out: &mut Out<'_>,
    ) -> Result<(), RelayError> {
        let (first, mut rest) = share::split(said).ok_or(DriverError::Message)?;
        if rest.is_empty() {
            return self.driver_said_of_desktop(message, said, out);
        }
        let mut said = first;
        loop {
            let message = self.to_server(said)?;
            self.driver_said_of_desktop(&message, said, out)?;
            if rest.len() < share::HEAD_BYTES {
                return Ok(());
            }
            (said, rest) = share::split(rest).ok_or(DriverError::Message)?;
        }
    }

    fn driver_said_of_desktop(
        &mut self,
        message: &[u8],
        said: &[u8],
        out: &mut Out<'_>,
    ) -> Result<(), RelayError> {
        let data = match share::parse(said) {
            Some(Share::ConfirmActive(body)) if self.stage == Stage::Confirm => {
                let broken = DriverError::Handshake(Phase::Capabilities);
                let told = abilities::confirm(body)
                    .and_then(|body| share::about_desktop(said, &body))
                    .ok_or(broken)?;
                self.say_to_server(&told, out)?;
                self.stage = Stage::Ready;
                return Ok(());
            }
            Some(Share::Data(data)) => data,
            _ => return Err(DriverError::Message.into()),
        };
        if data.compressed {
            return Err(DriverError::Compressed.into());
        }
        match data.kind {
            kind::INPUT => {
                let mut body = ReadCursor::new(data.body);
                let read = InputEventPdu::decode(&mut body);
                let InputEventPdu(events) = read.map_err(|_| DriverError::Message)?;
                if !body.is_empty() {
                    return Err(DriverError::Message.into());
                }
                out.acts.extend(self.ears.slow_path(&events));
                out.to_server.extend_from_slice(message);
            }
            kind::SYNCHRONIZE
            | kind::CONTROL
            | kind::FONT_LIST
            | kind::REFRESH_RECT
            | kind::SHUTDOWN_REQUEST => out.to_server.extend_from_slice(message),
            kind::SUPPRESS_OUTPUT => self.suppress(&data, out)?,
            // Of what was not agreed on.
            kind::KEPT_BITMAPS | kind::FRAME_ACKNOWLEDGE => {}
            kind => return Err(DriverError::Unexpected { kind }.into()),
        }
        Ok(())
    }

    /// A driver that has its window out of sight would have the machine draw nothing, which would
    /// end the recording's picture, too: so the machine is not told. When the window comes back,
    /// what it covers is asked for anew, as the machine would have drawn it.
    fn suppress(&self, data: &Data<'_>, out: &mut Out<'_>) -> Result<(), RelayError> {
        const ALLOW: u8 = 1;
        let (Some(&[ALLOW, _, _, _, ref area @ ..]), Some(demand)) =
            (data.body.first_chunk::<12>(), self.demand)
        else {
            return Ok(());
        };
        let body = [&[1, 0, 0, 0][..], area].concat();
        let refresh = share::data(self.user_channel, demand.share, kind::REFRESH_RECT, &body);
        self.say_to_server(&refresh.ok_or(DriverError::Message)?, out)
    }

    fn say_to_server(&self, said: &[u8], out: &mut Out<'_>) -> Result<(), RelayError> {
        out.to_server.extend(self.to_server(said)?);
        Ok(())
    }

    fn to_server(&self, said: &[u8]) -> Result<Vec<u8>, DriverError> {
        let address = Address {
            to: End::Server,
            initiator: self.user_channel,
            channel: self.io_channel,
        };
        share::sent(address, said).ok_or(DriverError::Message)
    }
}

/// Whether a message is that of `user_data` and nothing more, in one piece: what a server may put
/// together from several, or find behind one, is not read here.
fn is_whole(message: &[u8], user_data: &[u8]) -> bool {
    /// Head, kind, initiator and channel, then the pieces, and the length in one or two bytes.
    const PIECES: usize = 12;
    const BEGIN_AND_END: u8 = 0x30;
    let heads = message.len().saturating_sub(user_data.len());
    let pieces = message.get(PIECES).copied().unwrap_or_default();
    (PIECES + 2..=PIECES + 3).contains(&heads) && pieces & BEGIN_AND_END == BEGIN_AND_END
}
