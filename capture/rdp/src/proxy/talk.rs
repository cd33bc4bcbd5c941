//! From the settings on (MS-RDPBCGR section 1.3.1.1): each message is read, changed where it would
//! agree on something that is not read here, and goes on.

mod driver;
mod server;

use std::{borrow::Cow, collections::VecDeque};

use capture::input::Input as Act;
use ironrdp_core::decode;
use ironrdp_pdu::{Action, find_size, mcs::McsMessage, nego::SecurityProtocol, x224::X224};

use super::{
    End, RelayConfig, RelayError,
    abilities::Demand,
    channels::Opened,
    error::DriverError,
    share::{self, Share, kind},
    watched::Desktop,
};
use crate::{clipboard::Tap, error::Error, input::Ears, keymap::Keymap, pieces::Pieces};

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
    /// Whether the driver has said goodbye to a desktop.
    left: bool,
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
            left: false,
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
        self.kept_back.is_none() && !self.left && !matches!(self.stage, Stage::Answer)
    }

    /// Whether the driver has said goodbye.
    pub(super) const fn has_left(&self) -> bool {
        self.left
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
    let mut rest = sent.user_data.as_ref();
    while let Some((said, behind)) = share::split(rest) {
        if matches!(share::parse(said), Some(Share::Data(data)) if data.kind == kind::INPUT) {
            return true;
        }
        rest = behind;
    }
    false
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
