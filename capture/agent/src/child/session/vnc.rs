//! RFB: how it is configured here, and what its errors mean for a recording.

use capture::{
    Framebuffer,
    input::{Button, Buttons, Input},
    source::SourceEvent,
};
use capture_vnc::{Config, Error, Password, Random, Tls};

use super::{Lost, Session};
use crate::{access::Access, clock, clock::BootTime, source::Source, wire::Upstream};

/// A connection that speaks RFB.
pub(super) struct Vnc(capture_vnc::Session);

impl Vnc {
    /// The session of a connection that was established just now.
    pub(super) fn new(
        source: &Source,
        access: &Access,
        driven: Option<Upstream>,
    ) -> std::io::Result<Self> {
        let (_, encrypted) = source.peer();
        let config = Config {
            user: source.user.clone(),
            password: access.password.clone().map(Password::new),
            random: Some(Random::new(clock::random()?)),
            tls: (access.encrypt && !encrypted).then_some(Tls::Certified),
            // Where the pointer is, is known where all that moves it passes through. Servers that
            // leave it to their clients to draw would else show none.
            cursor: driven.is_some(),
            // A relayed driver's clipboard goes over the driver's own connection.
            extended_clipboard: driven == Some(Upstream::Single),
            ..Config::default()
        };
        Ok(Self(capture_vnc::Session::new(
            config,
            BootTime::now().ms(),
        )))
    }
}

impl Session for Vnc {
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
        self.0.poll_upgrade().is_some()
    }

    fn handle_upgraded(&mut self, now: BootTime, _: &[u8]) -> Result<(), Lost> {
        Ok(self.0.handle_upgraded(now.ms())?)
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
        true // what comes was asked for
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

    fn is_whole(&self, _: BootTime) -> bool {
        !self.0.is_inside_message()
    }

    fn send_input(&mut self, input: &Input) {
        self.0.send_input(input);
    }

    fn refusal(&self, inputs: &[Input]) -> Option<(usize, &'static str)> {
        let forward = Buttons::of(Button::Forward).0;
        let has_no_word = |input: &Input| match input {
            Input::Pointer(pointer) => pointer.buttons.0 & forward != 0,
            Input::Key(_) | Input::Clipboard(_) => false,
        };
        let place = inputs.iter().position(has_no_word)?;
        Some((place, "VNC has no such button"))
    }
}

impl From<Error> for Lost {
    fn from(error: Error) -> Self {
        Self::failed(error.kind(), error.reason(), &error, advice(&error))
    }
}

/// Which option would help.
fn advice(error: &Error) -> Option<&'static str> {
    const VENCRYPT: u8 = 19;
    match error {
        Error::SecurityUnsupported { offered } if offered.contains(&VENCRYPT) => {
            Some("it encrypts connections: give --tls or --tls-pin")
        }
        Error::VencryptUnsupported { offered } if !offered.is_empty() => Some(
            "encryption without a certificate (TLSNone, TLSVnc) hides nothing from who stands in \
             between, and is not spoken: let it offer X509Vnc, X509Plain or X509None",
        ),
        _ => None,
    }
}
