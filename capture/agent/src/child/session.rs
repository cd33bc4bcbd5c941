//! What a recorder needs of a protocol, whichever a source speaks: bytes and time in, pictures,
//! events and bytes out.

pub(super) mod rdp;
mod vnc;

use capture::{
    Framebuffer,
    input::Input,
    source::{Protocol, SourceEvent},
};

use capture_rdp::proxy::Desktop;

use super::lost::Lost;
use crate::{access::Access, clock::BootTime, source::Source, wire::Upstream};

/// One connection's protocol, without its socket and its clock.
///
/// The caller writes what [`poll_transmit`](Self::poll_transmit) gives, handles what
/// [`poll_event`](Self::poll_event) gives, then waits for bytes to
/// [`handle_bytes`](Self::handle_bytes) or for [`poll_timeout`](Self::poll_timeout) to
/// [`handle_timeout`](Self::handle_timeout). It drains both polls before it reads more, so what is
/// queued is bounded by what one read can say.
pub(super) trait Session {
    /// Takes bytes that were received at `now` and paints `picture`, always the same one, which
    /// the session gives the desktop's size.
    fn handle_bytes(
        &mut self,
        now: BootTime,
        bytes: &[u8],
        picture: &mut Framebuffer,
    ) -> Result<(), Lost>;

    /// Does what has become due by `now`.
    fn handle_timeout(&mut self, now: BootTime) -> Result<(), Lost>;

    /// What it means here that the peer has closed the connection.
    fn handle_close(&mut self) -> Lost;

    /// Whether the connection is to be encrypted now. Until
    /// [`handle_upgraded`](Self::handle_upgraded) what the peer sends belongs to the encryption.
    fn poll_upgrade(&self) -> bool;

    /// Says that the connection is encrypted, to a peer that showed this certificate (DER).
    fn handle_upgraded(&mut self, now: BootTime, certificate: &[u8]) -> Result<(), Lost>;

    /// The next event.
    fn poll_event(&mut self) -> Option<SourceEvent>;

    /// What to write to the peer next.
    fn poll_transmit(&mut self) -> Option<Vec<u8>>;

    /// When to call [`handle_timeout`](Self::handle_timeout), or look at
    /// [`is_stalled`](Self::is_stalled) and [`is_whole`](Self::is_whole), if no bytes come before.
    fn poll_timeout(&self) -> Option<BootTime>;

    /// Whether to read on. Where it is the source that sets the pace, a caller that does not read
    /// while this is false slows it down to the rate at which pictures are consumed.
    fn wants_bytes(&self) -> bool;

    /// Says that the last [`SourceEvent::Update`] is consumed: that is the only way for the next
    /// to come, and sets the frame rate.
    fn request_update(&mut self, now: BootTime);

    /// Asks for proof of the picture at once instead of when it is due.
    fn request_proof(&mut self, now: BootTime);

    /// When the picture was last proven to be the source's own; `None` before the first.
    fn last_proof(&self) -> Option<BootTime>;

    /// Whether the picture is unproven because an answer is overdue that no source may hold back.
    fn is_stalled(&self, now: BootTime) -> bool;

    /// Whether the picture may be taken at `now`: it does not show parts of two.
    fn is_whole(&self, now: BootTime) -> bool;

    /// Operates the machine, where that is done over this connection.
    fn send_input(&mut self, input: &Input);

    /// Which of `inputs`, sent in this order, could not be told to the machine, and why.
    fn refusal(&self, inputs: &[Input]) -> Option<(usize, &'static str)>;
}

/// The session of a connection to `source` that was established just now.
pub(super) fn open(
    source: &Source,
    access: &Access,
    driven: Option<Upstream>,
) -> std::io::Result<Box<dyn Session>> {
    Ok(match source.protocol {
        Protocol::Rdp => Box::new(rdp::Rdp::new(source, access)),
        Protocol::Vnc | Protocol::Screen => Box::new(vnc::Vnc::new(source, access, driven)?),
    })
}

/// The session of a machine that is watched through its driver's connection, on which the two have
/// agreed on `desktop`.
pub(super) fn watch(desktop: Desktop) -> Box<dyn Session> {
    Box::new(rdp::Rdp::watching(desktop))
}
