//! Who is at the ends of a connection that a recorder stands in, whatever protocol it speaks.

use std::fmt;

/// One of the two that a relay stands between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Who operates the machine.
    Driver,
    /// The machine, or what shows it: its VNC or RDP server.
    Server,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Driver => "driver",
            Self::Server => "server",
        })
    }
}
