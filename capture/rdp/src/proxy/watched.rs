//! What a driver and its machine have agreed on, for who watches.

use capture::Size;
use ironrdp_connector::{
    ConnectionResult, DesktopSize, connection_activation::ConnectionActivationFactory,
};
use ironrdp_pdu::rdp::{capability_sets::InputFlags, client_info::CompressionType};

use crate::{config::Config, error::Error, handshake::offer};

/// A desktop as the driver and the machine have agreed on it: what a
/// [`Session`](crate::Session::watching) must know to read on.
#[derive(Clone, Debug)]
pub struct Desktop {
    pub(crate) size: Size,
    pub(crate) user_channel: u16,
    pub(crate) io_channel: u16,
    pub(crate) share: u32,
    pub(crate) compressed: bool,
    pub(crate) input: InputFlags,
}

impl Desktop {
    /// Its size.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// The same as the end of a handshake of ours.
    pub(crate) fn into_result(self, config: &Config) -> Result<ConnectionResult, Error> {
        let side = |px: u32| u16::try_from(px).unwrap_or(u16::MAX);
        let asked = offer::offer(&Config {
            size: self.size,
            monitors: Vec::new(),
            ..config.clone()
        })?;
        let factory = ConnectionActivationFactory::new(asked, self.io_channel, self.user_channel);
        Ok(ConnectionResult {
            io_channel_id: self.io_channel,
            user_channel_id: self.user_channel,
            message_channel_id: None,
            share_id: self.share,
            static_channels: Default::default(),
            desktop_size: DesktopSize {
                width: side(self.size.w),
                height: side(self.size.h),
            },
            input_flags: self.input,
            enable_server_pointer: true,
            pointer_software_rendering: false,
            refresh_rect_support: true,
            suppress_output_support: false,
            window_support_level: None,
            monitor_layout: None,
            activation_factory: factory,
            // Which kind, each message says.
            compression_type: self.compressed.then_some(CompressionType::Rdp61),
        })
    }
}
