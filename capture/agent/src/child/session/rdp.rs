//! RDP: how it is configured here, and what its errors mean for a recording.

use capture::{Framebuffer, input::Input, source::SourceEvent};
use capture_rdp::{Config, Error, Password, Security, proxy::Desktop};

use super::{Lost, Session};
use crate::{
    access::{Access, RdpSecurity},
    clock::BootTime,
    source::Source,
};

/// A connection that speaks RDP.
pub(super) struct Rdp(capture_rdp::Session);

impl Rdp {
    /// The session of a connection that was established just now.
    pub(super) fn new(source: &Source, access: &Access) -> Self {
        let now_ms = BootTime::now().ms();
        Self(capture_rdp::Session::new(config(source, access), now_ms))
    }

    /// The session of a connection on which somebody else has agreed on `desktop`, and answers.
    pub(super) fn watching(desktop: Desktop) -> Self {
        let now_ms = BootTime::now().ms();
        Self(capture_rdp::Session::watching(
            desktop,
            Config::default(),
            now_ms,
        ))
    }
}

/// How `source` is signed in to.
pub(in crate::child) fn config(source: &Source, access: &Access) -> Config {
    let (host, _) = source.peer();
    Config {
        user: source.user.clone(),
        password: access.password.clone().map(Password::new),
        security: match access.rdp.security {
            RdpSecurity::Nla => Security::Nla,
            RdpSecurity::NlaOrTls => Security::NlaOrTls,
            RdpSecurity::Tls => Security::Tls,
        },
        host: host.to_owned(),
        size: access.rdp.size,
        ..Config::default()
    }
}

impl Session for Rdp {
    fn handle_bytes(
        &mut self,
        now: BootTime,
        bytes: &[u8],
        picture: &mut Framebuffer,
    ) -> Result<(), Lost> {
        Ok(self.0.handle_bytes(now.ms(), bytes, picture)?)
    }

    fn handle_timeout(&mut self, now: BootTime) -> Result<(), Lost> {
        Ok(self.0.handle_timeout(now.ms())?)
    }

    fn handle_close(&mut self) -> Lost {
        self.0.handle_close().into()
    }

    fn poll_upgrade(&self) -> bool {
        self.0.poll_upgrade()
    }

    fn handle_upgraded(&mut self, now: BootTime, certificate: &[u8]) -> Result<(), Lost> {
        Ok(self.0.handle_upgraded(now.ms(), certificate)?)
    }

    fn poll_event(&mut self) -> Option<SourceEvent> {
        self.0.poll_event()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.0.poll_transmit()
    }

    fn poll_timeout(&self) -> Option<BootTime> {
        self.0.poll_timeout().map(BootTime::from_ms)
    }

    fn wants_bytes(&self) -> bool {
        self.0.wants_bytes()
    }

    fn request_update(&mut self, now: BootTime) {
        self.0.request_update(now.ms());
    }

    fn request_proof(&mut self, now: BootTime) {
        self.0.request_proof(now.ms());
    }

    fn last_proof(&self) -> Option<BootTime> {
        self.0.last_proof_ms().map(BootTime::from_ms)
    }

    fn is_stalled(&self, now: BootTime) -> bool {
        self.0.is_stalled(now.ms())
    }

    fn is_whole(&self, now: BootTime) -> bool {
        self.0.is_whole(now.ms())
    }

    fn send_input(&mut self, input: &Input) {
        self.0.send_input(input);
    }

    fn refusal(&self, inputs: &[Input]) -> Option<(usize, &'static str)> {
        self.0.refusal(inputs)
    }
}

impl From<Error> for Lost {
    fn from(error: Error) -> Self {
        Self::failed(error.kind(), error.reason(), &error, advice(&error))
    }
}

/// Which option would help.
const fn advice(error: &Error) -> Option<&'static str> {
    match error {
        Error::UserRequired => Some("name the user: rdp://user@host, or rdp://DOMAIN%5Cuser@host"),
        Error::PasswordRequired => Some("give --password-file"),
        Error::NlaMissing => Some("give --rdp-security tls"),
        Error::NlaRequired => Some("give --rdp-security nla"),
        _ => None,
    }
}
