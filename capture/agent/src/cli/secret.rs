//! Which machine is it, and how is it opened?

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use capture::Size;
use clap::{Args, builder::TypedValueParser, error::ErrorKind};
use segment::Sha256;

use crate::{
    access::{self, Access, RdpAccess, RdpSecurity, Trust},
    source::{Source, SourceUrlError},
};

/// How the source is opened. Secrets come from files or the environment, never from an argument
/// that a process list shows.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The source")]
pub(crate) struct Secret {
    /// File whose first line is the source's password; else PLAYHEAD_PASSWORD is used
    #[arg(long, env = "PLAYHEAD_PASSWORD_FILE", value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// File of `Name: value` lines for the request that opens ws:// or wss://
    #[arg(long, env = "PLAYHEAD_HEADER_FILE", value_name = "FILE")]
    header_file: Option<PathBuf>,
    /// Insist on encryption (VeNCrypt) from a VNC server that is not behind wss://
    #[arg(long, env = "PLAYHEAD_TLS", value_parser = clap::builder::FalseyValueParser::new())]
    tls: bool,
    /// Believe only the certificate with this SHA-256 instead of the system's roots; implies --tls
    #[arg(long, env = "PLAYHEAD_TLS_PIN", value_name = "SHA256", value_parser = access::parse_pin)]
    tls_pin: Option<Sha256>,
    /// How to sign in to rdp://
    #[arg(
        long,
        env = "PLAYHEAD_RDP_SECURITY",
        value_name = "nla|nla-or-tls|tls",
        default_value = "nla",
        hide_possible_values = true
    )]
    rdp_security: RdpSecurity,
    /// Ask an RDP server for a desktop of this size; one that shows a screen has its own
    #[arg(long, env = "PLAYHEAD_RDP_SIZE", value_name = "WxH", default_value = "1920x1080",
          value_parser = access::parse_size)]
    rdp_size: Size,
}

impl Secret {
    /// What the options and their files say.
    pub(crate) fn read(&self) -> anyhow::Result<Access> {
        let password = match &self.password_file {
            None => std::env::var("PLAYHEAD_PASSWORD").ok(),
            Some(file) => Some(first_line(file).context("reading --password-file")?),
        };
        let headers = match &self.header_file {
            None => Vec::new(),
            Some(file) => {
                let text = std::fs::read_to_string(file).context("reading --header-file")?;
                access::parse_headers(&text).context("reading --header-file")?
            }
        };
        Ok(Access {
            password,
            headers,
            encrypt: self.tls || self.tls_pin.is_some(),
            trust: self.tls_pin.map_or(Trust::Roots, Trust::Pin),
            rdp: RdpAccess {
                security: self.rdp_security,
                size: self.rdp_size,
            },
        })
    }
}

/// A secret that a file's first line is.
pub(super) fn first_line(file: &Path) -> std::io::Result<String> {
    let text = std::fs::read_to_string(file)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// A source's URL. What is wrong with one is said without repeating it: it may hold a secret.
#[derive(Clone, Copy)]
pub(super) struct SourceParser;

impl TypedValueParser for SourceParser {
    type Value = Source;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Source, clap::Error> {
        let text = value.to_str().unwrap_or_default();
        text.parse().map_err(|error: SourceUrlError| {
            clap::Error::raw(ErrorKind::ValueValidation, format!("{error}\n")).with_cmd(command)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{record::tests::record, tests::file, *},
        *,
    };
    use clap::Parser as _;

    fn access(args: &[&str]) -> anyhow::Result<Access> {
        record(args).unwrap().secret.read()
    }

    #[test]
    fn the_password_is_a_files_first_line() {
        let file = file("hunter2\nrest\n");
        let path = file.path().to_str().unwrap();
        let access = access(&["--password-file", path]).unwrap();
        assert_eq!(access.password.as_deref(), Some("hunter2"));
    }

    #[test]
    fn headers_are_read_from_a_file() {
        let good = file("Authorization: Bearer t\n");
        let access_of = |file: &tempfile::NamedTempFile| {
            access(&["--header-file", file.path().to_str().unwrap()])
        };
        let expected = [("Authorization".to_owned(), "Bearer t".to_owned())];
        assert_eq!(access_of(&good).unwrap().headers, expected);
        let error = format!("{:#}", access_of(&file("hunter2")).unwrap_err());
        assert!(error.contains("--header-file: line 1"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn encryption_is_insisted_on_when_asked_for_or_pinned() {
        let pin = Sha256::of(b"certificate");
        let pinned = pin.to_string();
        for (args, encrypt, trust) in [
            (&[][..], false, Trust::Roots),
            (&["--tls"], true, Trust::Roots),
            (&["--tls-pin", &pinned], true, Trust::Pin(pin)),
        ] {
            let access = access(args).unwrap();
            assert_eq!((access.encrypt, access.trust), (encrypt, trust));
        }
    }

    #[test]
    fn every_option_of_the_source_has_its_variable() {
        use clap::CommandFactory as _;
        let cli = Cli::command();
        let record = cli.find_subcommand("record").unwrap();
        for (id, variable) in [
            ("source", "PLAYHEAD_SOURCE"),
            ("password_file", "PLAYHEAD_PASSWORD_FILE"),
            ("header_file", "PLAYHEAD_HEADER_FILE"),
            ("tls", "PLAYHEAD_TLS"),
            ("tls_pin", "PLAYHEAD_TLS_PIN"),
        ] {
            let arg = record.get_arguments().find(|arg| arg.get_id() == id);
            assert_eq!(arg.unwrap().get_env().unwrap(), variable);
        }
    }

    #[test]
    fn a_bad_url_is_not_repeated() {
        let args = ["playhead-agent", "record", "wss://u:hunter2@desk"];
        let error = Cli::try_parse_from(args).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let error = error.to_string();
        assert!(error.contains("--password-file"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}
