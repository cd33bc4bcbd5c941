//! What a relay needs of a protocol, whichever a machine speaks: bytes and time in, input and bytes
//! out.

use capture::{input::Input, relay::End};
use capture_rdp::proxy::Desktop;

use crate::{child::inbox::Departure, clock::BootTime};

/// A driver's connection and the one to its machine, without sockets and clock.
///
/// The caller writes what [`poll_transmit`](Self::poll_transmit) gives for each end, handles what
/// the other polls give, then waits for bytes to [`handle_bytes`](Self::handle_bytes) or for
/// [`poll_timeout`](Self::poll_timeout) to [`handle_timeout`](Self::handle_timeout). After an error
/// it still writes what there is to transmit.
pub(super) trait Protocol: Send {
    /// Takes bytes that `from` sent and that were received at `now`.
    fn handle_bytes(&mut self, now: BootTime, from: End, bytes: &[u8]) -> Result<(), Departure>;

    /// What it means that an end has closed its connection.
    fn handle_close(&mut self, end: End) -> Departure;

    /// Does what has become due by `now`.
    fn handle_timeout(&mut self, now: BootTime) -> Result<(), Departure>;

    /// When to call [`handle_timeout`](Self::handle_timeout) if no bytes come before.
    fn poll_timeout(&self) -> Option<BootTime>;

    /// The end whose connection is to be encrypted now. What it sends until
    /// [`handle_upgraded`](Self::handle_upgraded) belongs to the encryption.
    fn poll_upgrade(&self) -> Option<End>;

    /// Says that the connection with `end` is encrypted by the key of this certificate (DER): the
    /// machine's, or ours.
    fn handle_upgraded(
        &mut self,
        now: BootTime,
        end: End,
        certificate: &[u8],
    ) -> Result<(), Departure>;

    /// What to write to an end next.
    fn poll_transmit(&mut self, to: End) -> Option<Vec<u8>>;

    /// What the driver did next. It is forwarded, or among what is to be transmitted.
    fn poll_input(&mut self) -> Option<Input>;

    /// Whether more is to be read of an end now.
    fn wants_bytes(&self, from: End) -> bool;

    /// From now on the driver operates the machine. Until then, where the driver is let in by us,
    /// what it does waits.
    fn let_through(&mut self) {}

    /// What driver and machine have agreed on, for a recording that is shown what the machine says.
    fn poll_desktop(&mut self) -> Option<Desktop> {
        None
    }

    /// What the machine said next to be shown to the recording, in whole messages.
    fn poll_shown(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Has the recording ask the machine something, in whole messages.
    fn ask(&mut self, _messages: &[u8]) {}
}
