//! The options of `proxy`.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, bail};
use capture::source::Protocol;
use clap::{Args, ValueEnum, builder::FalseyValueParser};

use super::{Record, secret::first_line};
use crate::{
    entrance::{Certificate, Driver, Entrance},
    home,
};

/// The static channel that is forwarded always: it is read.
const CLIPBOARD: &str = "cliprdr";

#[derive(Debug, Args)]
pub(crate) struct Proxy {
    #[command(flatten)]
    pub(crate) record: Record,
    /// Where drivers connect, such as 127.0.0.1:5999
    #[arg(long, env = "PLAYHEAD_LISTEN", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// Serve one driver and end with its session
    #[arg(long)]
    pub(crate) once: bool,
    /// How a VNC server is connected to: shared, twice, the driver's end to end; single, once, and
    /// everybody is served from the recorder's picture; auto asks the machine, which disconnects
    /// others if it allows one connection
    #[arg(long, env = "PLAYHEAD_UPSTREAM", value_enum, default_value_t)]
    pub(crate) upstream: Upstream,
    #[command(flatten)]
    doors: Doors,
}

/// How a proxied machine is to be connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Upstream {
    /// As many times as it allows.
    #[default]
    Auto,
    /// Once by each driver, and once by the recorder.
    Shared,
    /// Once, by the recorder.
    Single,
}

/// How drivers of an RDP machine are let in.
#[derive(Debug, Args)]
#[command(next_help_heading = "Drivers of rdp://")]
struct Doors {
    /// The certificate that drivers are shown, in PEM; without it one is made, once, and kept in
    /// PLAYHEAD_HOME
    #[arg(
        long,
        env = "PLAYHEAD_TLS_CERTIFICATE",
        value_name = "FILE",
        requires = "tls_key"
    )]
    tls_certificate: Option<PathBuf>,
    /// The certificate's key, in PEM
    #[arg(
        long,
        env = "PLAYHEAD_TLS_KEY",
        value_name = "FILE",
        requires = "tls_certificate"
    )]
    tls_key: Option<PathBuf>,
    /// Let in who proves to be this user, by network level authentication
    #[arg(long, env = "PLAYHEAD_DRIVER_USER", value_name = "NAME")]
    driver_user: Option<String>,
    /// File whose first line is that user's password; else PLAYHEAD_DRIVER_PASSWORD is used
    #[arg(
        long,
        env = "PLAYHEAD_DRIVER_PASSWORD_FILE",
        value_name = "FILE",
        requires = "driver_user"
    )]
    driver_password_file: Option<PathBuf>,
    /// Let in whoever reaches an address that is not this machine's own
    #[arg(long, env = "PLAYHEAD_DRIVERS_UNAUTHENTICATED", value_parser = FalseyValueParser::new(),
          conflicts_with = "driver_user")]
    drivers_unauthenticated: bool,
    /// Forward these static channels too, unread, such as rdpsnd; what passes through them is not
    /// recorded
    #[arg(
        long,
        env = "PLAYHEAD_CHANNELS",
        value_name = "NAME,…",
        value_delimiter = ',',
        value_parser = channel
    )]
    channels: Vec<String>,
}

impl Proxy {
    /// How drivers are let in, where it is this program that does so; `None` where the machine does.
    ///
    /// # Errors
    /// When an option does not fit the source, or a file cannot be read.
    pub(crate) fn entrance(&self) -> anyhow::Result<Option<Entrance>> {
        let doors = &self.doors;
        if self.record.source.protocol != Protocol::Rdp {
            if let Some(option) = doors.first_given() {
                bail!("{option} is for rdp://; a VNC server lets drivers in by itself");
            }
            return Ok(None);
        }
        if self.upstream != Upstream::Auto {
            bail!(
                "--upstream is for VNC: a machine behind RDP has one session, which whoever signs \
                 in a second time takes over, so there is one connection, the driver's"
            );
        }
        let driver = doors.driver()?;
        if driver.is_none() && !self.listen.ip().is_loopback() && !doors.drivers_unauthenticated {
            bail!(
                "--listen {}: whoever reaches it could drive the machine; give --driver-user and \
                 --driver-password-file, or --drivers-unauthenticated where a network keeps others \
                 away",
                self.listen
            );
        }
        Ok(Some(Entrance {
            certificate: doors.certificate()?,
            driver,
            channels: std::iter::once(CLIPBOARD.to_owned())
                .chain(doors.channels.clone())
                .collect(),
        }))
    }
}

impl Doors {
    /// The first of these options that was given.
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--tls-certificate", self.tls_certificate.is_some()),
            ("--driver-user", self.driver_user.is_some()),
            ("--drivers-unauthenticated", self.drivers_unauthenticated),
            ("--channels", !self.channels.is_empty()),
        ];
        given
            .into_iter()
            .find_map(|(name, given)| given.then_some(name))
    }

    fn driver(&self) -> anyhow::Result<Option<Driver>> {
        let Some(user) = &self.driver_user else {
            return Ok(None);
        };
        let password = match &self.driver_password_file {
            Some(file) => Some(first_line(file).context("reading --driver-password-file")?),
            None => std::env::var("PLAYHEAD_DRIVER_PASSWORD").ok(),
        };
        let password = password.filter(|password| !password.is_empty());
        let password = password.context("--driver-user needs --driver-password-file")?;
        Ok(Some(Driver {
            user: user.clone(),
            password,
        }))
    }

    fn certificate(&self) -> anyhow::Result<Certificate> {
        match (&self.tls_certificate, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                Certificate::read(certificate, key).context("--tls-certificate, --tls-key")
            }
            _ => Ok(Certificate::own(&home::dir())?),
        }
    }
}

/// A static channel's name, which MS-RDPBCGR 2.2.1.3.4.1 limits.
fn channel(text: &str) -> Result<String, String> {
    if text == "drdynvc" {
        return Err("pictures and input would pass through it unread".to_owned());
    }
    let fits = (1..=7).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| text.to_owned())
        .ok_or_else(|| "a channel's name has 1 to 7 letters, such as rdpsnd".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use clap::Parser as _;

    fn proxy(args: &str) -> Result<Proxy, clap::Error> {
        let args = ["playhead-agent", "proxy"]
            .into_iter()
            .chain(args.split(' '));
        Cli::try_parse_from(args).map(|cli| match cli.command {
            Command::Proxy(proxy) => *proxy,
            _ => unreachable!("the arguments say proxy"),
        })
    }

    #[test]
    fn the_proxy_takes_the_options_of_record() {
        let proxied = proxy("vnc://desk --listen 127.0.0.1:0 --once --run r-1").unwrap();
        assert!(proxied.once);
        assert_eq!(proxied.record.source.to_string(), "vnc://desk:5900");
        let nowhere = proxy("vnc://desk").unwrap_err();
        assert!(nowhere.to_string().contains("--listen"), "{nowhere}");
    }

    #[test]
    fn what_does_not_fit_the_source_is_refused_with_words() {
        let check = |args: &str, expected: &str| {
            let error = proxy(args).unwrap().entrance().unwrap_err().to_string();
            assert!(error.contains(expected), "{args}: {error}");
        };
        let vnc = "vnc://desk --listen 127.0.0.1:0";
        check(&format!("{vnc} --channels rdpsnd"), "--channels is for");
        check(
            &format!("{vnc} --tls-certificate a --tls-key b"),
            "--tls-certificate is for",
        );
        check(&format!("{vnc} --driver-user ada"), "--driver-user is for");
        let rdp = "rdp://desk --listen 127.0.0.1:0";
        check(&format!("{rdp} --upstream single"), "--upstream is for VNC");
        check(
            &format!("{rdp} --driver-user ada"),
            "--driver-password-file",
        );
        check("rdp://desk --listen 0.0.0.0:0", "--driver-user and");
        assert!(proxy(vnc).unwrap().entrance().unwrap().is_none());
    }

    #[test]
    fn options_that_need_or_exclude_each_other_say_so() {
        for (args, named) in [
            ("--tls-key k", "--tls-certificate"),
            ("--tls-certificate c", "--tls-key"),
            ("--driver-password-file f", "--driver-user"),
            (
                "--driver-user a --drivers-unauthenticated",
                "--drivers-unauthenticated",
            ),
            ("--channels rdpsnd,toolongname", "--channels"),
            ("--channels drdynvc", "unread"),
        ] {
            let error = proxy(&format!("rdp://desk --listen 127.0.0.1:0 {args}"));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
