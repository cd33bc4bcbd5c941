//! From the settings on (MS-RDPBCGR section 1.3.1.1): each message is read, changed where it would
//! agree on something that is not read here, and goes on.

use std::{borrow::Cow, collections::VecDeque};

use capture::input::{Direction, Input as Act};
use ironrdp_core::{Decode as _, ReadCursor, decode};
use ironrdp_pdu::{
    Action, find_size, input::InputEventPdu, mcs::McsMessage, nego::SecurityProtocol, x224::X224,
};

use super::{
    End, RelayConfig, RelayError,
    abilities::{self, Demand},
    channels::{Opened, Way},
    error::DriverError,
    info, settings,
    share::{self, Address, Data, Share, kind},
    watched::Desktop,
};
use crate::{
    clipboard::Tap,
    ended,
    error::{End as Reason, Error, Phase},
    input::Ears,
    keymap::Keymap,
    pieces::Pieces,
};

/// Where what is heard goes.
pub(super) struct Out<'a> {
    pub(super) to_driver: &'a mut Vec<u8>,
    pub(super) to_server: &'a mut Vec<u8>,
    pub(super) acts: &'a mut VecDeque<Act>,
    pub(super) desktop: &'a mut Option<Desktop>,
    pub(super) shown: &'a mut Vec<u8>,
}

/// How far both have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The driver is to tell its settings.
    Settings,
    /// The machine is to answer them.
    Answer,
    /// Channels are joined, until the driver tells of itself.
    Channels,
    /// The machine gives a licence.
    Licence,
    /// The machine is to tell of its desktop.
    Demand,
    /// The driver is to agree to it.
    Confirm,
    /// The machine is to say that all is ready.
    Ready,
    /// There is a desktop.
    Desktop,
}

/// A driver and a machine that talk.
pub(super) struct Talk {
    stage: Stage,
    /// What the machine chose, and the driver asked for, to be encrypted by.
    protocols: (SecurityProtocol, SecurityProtocol),
    channels: Opened,
    io_channel: u16,
    user_channel: u16,
    compressed: bool,
    demand: Option<Demand>,
    ears: Ears,
    clipboard: Tap,
    /// Whether there was a desktop: from then on the machine's messages are shown.
    shows: bool,
    /// Whether the driver may operate the machine.
    lets_through: bool,
    /// The driver's next message, which would.
    // INVARIANT: nothing is taken from the driver while there is one.
    kept_back: Option<Vec<u8>>,
    /// Who is waited for.
    pub(super) owes: End,
}

impl Talk {
    pub(super) fn new(chosen: SecurityProtocol, asked: SecurityProtocol) -> Self {
        Self {
            stage: Stage::Settings,
            protocols: (chosen, asked),
            channels: Opened::default(),
            io_channel: 0,
            user_channel: 0,
            compressed: false,
            demand: None,
            ears: Ears::new(Keymap::us()),
            clipboard: Tap::default(),
            shows: false,
            lets_through: false,
            kept_back: None,
            owes: End::Driver,
        }
    }

    /// Whether there was a desktop.
    pub(super) const fn is_established(&self) -> bool {
        self.shows
    }

    pub(super) const fn channels(&self) -> &Opened {
        &self.channels
    }

    pub(super) const fn let_through(&mut self) {
        self.lets_through = true;
    }

    /// Whether it is the driver's turn, or it may say something at any time.
    pub(super) const fn hears_driver(&self) -> bool {
        self.kept_back.is_none() && !matches!(self.stage, Stage::Answer)
    }

    /// Sends on what a session that watches has to say. While there is no desktop it is void: it is
    /// of one that is no more.
    pub(super) fn ask(&self, messages: &[u8], to_server: &mut Vec<u8>) {
        if self.stage == Stage::Desktop {
            to_server.extend_from_slice(messages);
        }
    }

    /// Takes the driver's next message, if there is one.
    pub(super) fn hear_driver(
        &mut self,
        config: &RelayConfig,
        driver: &mut Pieces<'_>,
        out: &mut Out<'_>,
    ) -> Result<bool, RelayError> {
        if let Some(message) = self.kept_back.take() {
            if self.lets_through {
                self.driver_said(config, &message, out)?;
                return Ok(true);
            }
            if self.stage == Stage::Desktop {
                self.kept_back = Some(message);
                return Ok(false);
            }
            // It is of a desktop that is no more, and what the driver owes comes behind it.
            return Ok(true);
        }
        if !self.hears_driver() {
            return Ok(false);
        }
        let message = next(driver).map_err(|error| DriverError::of(&error))?;
        let Some(message) = message else {
            return Ok(false);
        };
        if !self.lets_through && operates(&message) {
            self.kept_back = Some(message.into_owned());
            return Ok(true);
        }
        self.driver_said(config, &message, out)?;
        Ok(true)
    }

    fn driver_said(
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
                    _ => self.driver_said_of_desktop(message, &sent.user_data, out)?,
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
            (McsMessage::DisconnectProviderUltimatum(_), _) => {
                out.to_server.extend_from_slice(message);
                return Err(DriverError::Left.into());
            }
            _ => return Err(DriverError::Message.into()),
        }
        Ok(())
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
                let read = InputEventPdu::decode(&mut ReadCursor::new(data.body));
                let InputEventPdu(events) = read.map_err(|_| DriverError::Message)?;
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
        let address = Address {
            to: End::Server,
            initiator: self.user_channel,
            channel: self.io_channel,
        };
        let message = share::sent(address, said).ok_or(DriverError::Message)?;
        out.to_server.extend(message);
        Ok(())
    }

    /// Takes the machine's next message, if there is one.
    pub(super) fn hear_server(
        &mut self,
        server: &mut Pieces<'_>,
        out: &mut Out<'_>,
    ) -> Result<bool, RelayError> {
        if self.stage == Stage::Settings {
            return Ok(false);
        }
        let Some(message) = next(server)? else {
            return Ok(false);
        };
        self.server_said(&message, out)?;
        Ok(true)
    }

    fn server_said(&mut self, message: &[u8], out: &mut Out<'_>) -> Result<(), RelayError> {
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

fn next<'a>(pieces: &mut Pieces<'a>) -> Result<Option<Cow<'a, [u8]>>, Error> {
    pieces.next(|bytes| {
        let found = find_size(bytes).map_err(|_| Error::Message)?;
        Ok(found.map(|found| found.length))
    })
}

fn action(message: &[u8]) -> Option<Action> {
    find_size(message).ok().flatten().map(|found| found.action)
}

/// Whether a message of a driver is input, and so operates the machine.
fn operates(message: &[u8]) -> bool {
    if action(message) == Some(Action::FastPath) {
        return true;
    }
    let Ok(X224(McsMessage::SendDataRequest(sent))) = decode::<X224<McsMessage<'_>>>(message)
    else {
        return false;
    };
    matches!(share::parse(&sent.user_data), Some(Share::Data(data)) if data.kind == kind::INPUT)
}

/// Whether a chunk of a channel is packed (section 2.2.6.1.1); nothing when it lacks its head.
fn is_packed(chunk: &[u8]) -> Option<bool> {
    const PACKED: u32 = 0x0020_0000;
    let [_, _, _, _, flags @ ..] = *chunk.first_chunk::<8>()?;
    Some(u32::from_le_bytes(flags) & PACKED != 0)
}

/// Whether a message is about the licence (section 2.2.8.1.1.2.1).
fn is_licensing(said: &[u8]) -> bool {
    const LICENCE: u8 = 0x80;
    matches!(said, [flags, ..] if flags & LICENCE != 0)
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
