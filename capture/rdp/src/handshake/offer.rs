//! What we ask a server for, in IronRDP's terms.

use std::net::{Ipv4Addr, SocketAddr};

use capture::{Framebuffer, Rect, Size};
use ironrdp_connector::{BitmapConfig, ClientConnector, Config as Offer, Credentials, DesktopSize};
use ironrdp_pdu::{
    gcc::{ClientMonitorData, ConnectionType, KeyboardType, Monitor, MonitorFlags},
    nego::SecurityProtocol,
    rdp::{
        capability_sets::{BitmapCodecs, MajorPlatformType, RailSupportLevel},
        client_info::{CompressionType, PerformanceFlags, TimezoneInfo},
    },
};

use crate::{
    auth, clipboard,
    config::{Config, Security},
    error::Error,
};

/// Network level authentication, with and without a word on whether the user may connect.
pub(crate) const NLA: SecurityProtocol =
    SecurityProtocol::HYBRID.union(SecurityProtocol::HYBRID_EX);

/// A client's build number that servers take for a current one.
const BUILD: u32 = 22_621;

/// A connector that has said nothing yet.
pub(super) fn connector(config: &Config) -> Result<ClientConnector, Error> {
    let (_, name) = auth::account(config.user.as_deref().unwrap_or_default());
    if config.security == Security::Nla {
        if name.is_empty() {
            return Err(Error::UserRequired);
        }
        if config.password.is_none() {
            return Err(Error::PasswordRequired);
        }
    }
    // What servers are told of our address they do not use, and it is none of their business.
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let connector = ClientConnector::new(offer(config)?, address);
    Ok(match config.clipboard {
        true => connector.with_static_channel(clipboard::Joined),
        false => connector,
    })
}

/// What a server is offered and asked for.
pub(crate) fn offer(config: &Config) -> Result<Offer, Error> {
    let (domain, name) = auth::account(config.user.as_deref().unwrap_or_default());
    let password = config
        .password
        .as_ref()
        .map_or("", |password| password.as_str());
    let unusable = Error::DesktopUnusable {
        size: config.size,
        monitors: config.monitors.len(),
    };
    Ok(Offer {
        desktop_size: desktop(config.size).ok_or(unusable.clone())?,
        monitor_layout: match config.monitors.as_slice() {
            [] => None,
            monitors => Some(layout(monitors, config.size).ok_or(unusable)?),
        },
        enable_tls: config.security != Security::Nla,
        enable_credssp: config.security != Security::Tls,
        credentials: Credentials::UsernamePassword {
            username: name.to_owned(),
            password: password.to_owned(),
        },
        domain: domain.map(str::to_owned),
        autologon: config.password.is_some(),
        // No codecs: pictures come as they are, or packed without loss.
        bitmap: Some(BitmapConfig {
            lossy_compression: false,
            color_depth: config.depth.bits(),
            codecs: BitmapCodecs(Vec::new()),
        }),
        compression_type: config.compression.then_some(CompressionType::Rdp61),
        enable_server_pointer: true,
        pointer_software_rendering: false,

        client_build: BUILD,
        client_name: "playhead".into(),
        platform: MajorPlatformType::UNIX,
        keyboard_type: KeyboardType::IBM_ENHANCED,
        keyboard_subtype: 0,
        keyboard_functional_keys_count: 12,
        keyboard_layout: 0,
        // The picture is to be as on the machine's own screen.
        connection_type: ConnectionType::Lan,
        performance_flags: PerformanceFlags::ENABLE_FONT_SMOOTHING
            | PerformanceFlags::ENABLE_DESKTOP_COMPOSITION,
        timezone_info: TimezoneInfo::default(),

        desktop_scale_factor: 0,
        desktop_physical_size: None,
        desktop_orientation: None,
        device_scale_factor: None,
        monitor_extended_layout: None,
        relative_mouse_input: false,
        enable_standard_rdp_security: false,
        ime_file_name: String::new(),
        dig_product_id: String::new(),
        client_dir: String::new(),
        alternate_shell: String::new(),
        work_dir: String::new(),
        remote_application_mode: false,
        rail_support_level: RailSupportLevel::empty(),
        hardware_id: None,
        request_data: None,
        enable_audio_playback: false,
        enable_audio_capture: false,
        license_cache: None,
        multitransport_flags: None,
        support_dyn_vc_gfx_protocol: false,
    })
}

fn desktop(size: Size) -> Option<DesktopSize> {
    let fits = size.area_px() > 0
        && size.area_px() <= Framebuffer::MAX_AREA_PX
        && size.w <= Framebuffer::MAX_SIDE_PX
        && size.h <= Framebuffer::MAX_SIDE_PX;
    let desktop = DesktopSize {
        width: u16::try_from(size.w).ok()?,
        height: u16::try_from(size.h).ok()?,
    };
    fits.then_some(desktop)
}

/// As many monitors as the protocol has room for (section 2.2.1.3.6).
const MONITORS: usize = 16;

/// The monitors, counted from the corner of the first.
fn layout(monitors: &[Rect], size: Size) -> Option<ClientMonitorData> {
    let origin = monitors.first()?;
    let from = |at: u32, origin: u32| Some(i32::try_from(at).ok()? - i32::try_from(origin).ok()?);
    let monitors = monitors.iter().enumerate().map(|(number, part)| {
        let usable = !part.is_empty() && part.fits(size);
        usable.then_some(())?;
        Some(Monitor {
            left: from(part.x, origin.x)?,
            top: from(part.y, origin.y)?,
            right: from(part.right(), origin.x)? - 1,
            bottom: from(part.bottom(), origin.y)? - 1,
            flags: match number {
                0 => MonitorFlags::PRIMARY,
                _ => MonitorFlags::empty(),
            },
        })
    });
    let monitors: Vec<Monitor> = monitors.collect::<Option<_>>()?;
    (monitors.len() <= MONITORS).then_some(ClientMonitorData { monitors })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monitors_are_counted_from_the_primary() {
        let size = Size::new(3840, 1080);
        let parts = [Rect::new(1920, 0, 1920, 1080), Rect::new(0, 0, 1920, 1080)];
        let layout = layout(&parts, size).unwrap();
        let spans: Vec<_> = layout.monitors.iter().map(|m| (m.left, m.right)).collect();
        assert_eq!(spans, [(0, 1919), (-1920, -1)]);
        assert_eq!(layout.monitors[0].flags, MonitorFlags::PRIMARY);
    }

    #[test]
    fn a_monitor_outside_the_desktop_is_refused() {
        let parts = [Rect::new(0, 0, 1920, 1081)];
        assert!(layout(&parts, Size::new(1920, 1080)).is_none());
    }

    #[test]
    fn network_level_authentication_takes_user_and_password() {
        let mut config = Config::default();
        let refusal = |config: &Config| connector(config).err();
        assert_eq!(refusal(&config), Some(Error::UserRequired));
        config.user = Some("ada".into());
        assert_eq!(refusal(&config), Some(Error::PasswordRequired));
        config.security = Security::Tls;
        assert_eq!(refusal(&config), None);
    }
}
