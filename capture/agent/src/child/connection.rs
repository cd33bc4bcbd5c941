//! One connection to a source: its transport, its protocol session and the picture it paints.

use std::time::Duration;

use capture::{Framebuffer, GapReason, Size};
use capture_vnc::{Config, ErrorKind, Password, Random, Session, Tls};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::transport::{self, Transport};
use crate::{
    access::{Access, Trust},
    clock,
    clock::BootTime,
    source::Source,
    wire::{Refusal, Upstream},
};

/// What is read from the socket at once; past it the kernel's buffer slows the peer down.
const READ_BYTES: usize = 64 << 10;
/// A peer that takes nothing for this long is stalled.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// A source that cannot be reached, or no longer.
#[derive(Debug)]
pub(super) struct Lost {
    /// The reason that the gap carries.
    pub(super) reason: GapReason,
    /// Whether the source refused who we are.
    pub(super) refused: bool,
    /// What happened, for the operator.
    pub(super) detail: String,
}

impl Lost {
    /// How a first connection that failed like this is reported.
    pub(super) const fn refusal(&self) -> Refusal {
        if self.refused {
            Refusal::Authentication
        } else {
            Refusal::Unreachable
        }
    }

    /// As lost to another client.
    pub(super) fn taken_over(self) -> Self {
        Self {
            reason: GapReason::TakenOver,
            detail: format!("{}, as soon as it was opened again", self.detail),
            ..self
        }
    }

    /// It keeps the connection and does not answer.
    pub(super) fn silent() -> Self {
        Self {
            reason: GapReason::Stalled,
            refused: false,
            detail: "source does not answer".to_owned(),
        }
    }

    fn disconnected(detail: String) -> Self {
        Self {
            reason: GapReason::Disconnected,
            refused: false,
            detail,
        }
    }
}

impl From<capture_vnc::Error> for Lost {
    fn from(error: capture_vnc::Error) -> Self {
        let refused = error.kind() == ErrorKind::Refused;
        Self {
            reason: if refused {
                GapReason::PermissionLost
            } else {
                error.reason()
            },
            refused,
            detail: match advice(&error) {
                Some(advice) => format!("{error}; {advice}"),
                None => error.to_string(),
            },
        }
    }
}

/// Which option would help.
fn advice(error: &capture_vnc::Error) -> Option<&'static str> {
    const VENCRYPT: u8 = 19;
    match error {
        capture_vnc::Error::SecurityUnsupported { offered } if offered.contains(&VENCRYPT) => {
            Some("it encrypts connections: give --tls or --tls-pin")
        }
        capture_vnc::Error::VencryptUnsupported { offered } if !offered.is_empty() => Some(
            "encryption without a certificate (TLSNone, TLSVnc) hides nothing from who stands in \
             between, and is not spoken: let it offer X509Vnc, X509Plain or X509None",
        ),
        _ => None,
    }
}

/// A connected source.
pub(super) struct Connection {
    transport: Transport,
    /// Whom a certificate must name, and which one is believed.
    tls: (String, Trust),
    source: Source,
    buffer: Box<[u8]>,
    /// The protocol's state.
    pub(super) session: Session,
    /// The picture as the source has painted it.
    pub(super) framebuffer: Framebuffer,
}

impl Connection {
    /// Connects to `source`, which is `driven` through this process or only watched.
    pub(super) async fn open(
        source: &Source,
        access: &Access,
        driven: Option<Upstream>,
    ) -> Result<Self, Lost> {
        let transport = transport::connect(source, access).await;
        let transport = transport.map_err(|error| error.lost(source))?;
        let seed = clock::random().map_err(|error| Lost::disconnected(error.to_string()))?;
        let framebuffer = Framebuffer::new(Size::new(1, 1), u64::from_ne_bytes(seed))
            .map_err(|error| Lost::disconnected(error.to_string()))?;
        let random = clock::random().map_err(|error| Lost::disconnected(error.to_string()))?;
        let (host, encrypted) = source.peer();
        let config = Config {
            user: source.user.clone(),
            password: access.password.clone().map(Password::new),
            random: Some(Random::new(random)),
            tls: (access.encrypt && !encrypted).then_some(Tls::Certified),
            // Where the pointer is, is known where all that moves it passes through. Servers that
            // leave it to their clients to draw would else show none.
            cursor: driven.is_some(),
            // A relayed driver's clipboard goes over the driver's own connection.
            extended_clipboard: driven == Some(Upstream::Single),
            ..Config::default()
        };
        Ok(Self {
            transport,
            tls: (host.to_owned(), access.trust),
            source: source.clone(),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            session: Session::new(config, BootTime::now().ms()),
            framebuffer,
        })
    }

    /// Waits for bytes, gives them to the session and says when they arrived. Cancel-safe: bytes
    /// are read only when this completes.
    pub(super) async fn receive(&mut self) -> Result<BootTime, Lost> {
        let read = self.transport.read(&mut self.buffer).await;
        let received = BootTime::now();
        let bytes = match read {
            Ok(0) => return Err(self.session.handle_close().into()),
            Ok(len) => self.buffer.get(..len).unwrap_or_default(),
            Err(error) => return Err(Lost::disconnected(format!("connection broke: {error}"))),
        };
        self.session
            .handle_bytes(received.ms(), bytes, &mut self.framebuffer)?;
        Ok(received)
    }

    /// As [`receive`](Self::receive), but no longer than the session is willing to wait.
    pub(super) async fn receive_or_timeout(&mut self) -> Result<(), Lost> {
        let due = self.session.poll_timeout().unwrap_or(u64::MAX);
        let wait = Duration::from_millis(due.saturating_sub(BootTime::now().ms()));
        match tokio::time::timeout(wait, self.receive()).await {
            Ok(received) => received.map(|_| ()),
            Err(_) => Ok(self.session.handle_timeout(BootTime::now().ms())?),
        }
    }

    /// Sends what the session has to say, and encrypts the connection where both sides agreed to.
    pub(super) async fn send(&mut self) -> Result<(), Lost> {
        loop {
            while let Some(bytes) = self.session.poll_transmit() {
                self.write(&bytes).await?;
            }
            if self.session.poll_upgrade().is_none() {
                return Ok(());
            }
            let plain = std::mem::replace(&mut self.transport, Box::new(tokio::io::empty()));
            let (host, trust) = &self.tls;
            let wrapped = transport::upgrade(plain, host, *trust).await;
            self.transport = wrapped.map_err(|error| error.lost(&self.source))?;
            self.session.handle_upgraded(BootTime::now().ms())?;
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        let written = async {
            self.transport.write_all(bytes).await?;
            self.transport.flush().await
        };
        match tokio::time::timeout(WRITE_TIMEOUT, written).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Lost::disconnected(format!("connection broke: {error}"))),
            Err(_) => Err(Lost {
                reason: GapReason::Stalled,
                refused: false,
                detail: "source takes no bytes".to_owned(),
            }),
        }
    }
}
